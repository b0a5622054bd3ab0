"""How `profiles edit` talks: the editor, what is wrong with file and line, and what becomes of the draft."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, emit, error_json, say, tell_error
from console.errors import UsageError
from console.units import plain

if TYPE_CHECKING:
    from console.actions.edit_profile import Draft

STDERR = 2


def edit(options: Options, name: str) -> int:
    """Edit a profile until it is valid, kept as a draft, or discarded."""
    from console import paths
    from console.actions import edit_profile, editor

    here, words = paths.locate(), editor.find_editor(on_terminal=sys.stdin.isatty())
    draft = edit_profile.begin(name, here)
    for note in draft.notes:
        say(note)
    while True:
        with editor.waiting_for_it():
            went_well = editor.edit(words, draft.path, stdout=STDERR if options.as_json else None)
        if not draft.is_changed:
            say("an editor that returns at once wants a flag to wait, such as EDITOR='code --wait'")
            return _unchanged(options, draft)
        if not went_well:
            return _kept(options, draft, UsageError(f"{words[0]} failed"))
        try:
            edit_profile.check(draft, here)
        except UsageError as error:
            tell_error(error)
            if (choice := _ask(draft)) != "e":
                return _discarded(options, draft) if choice == "d" else _kept(options, draft, error)
        else:
            return _saved(options, draft)


def write(options: Options, name: str, sets: tuple[str, ...]) -> int:
    """Write KEY=VALUE into a profile's file, without an editor."""
    from console import paths
    from console.actions import edit_profile

    draft = edit_profile.set_values(name, sets, paths.locate())
    for note in draft.notes:
        say(note)
    code = _saved(options, draft) if draft.is_changed else _unchanged(options, draft)
    edit_profile.discard(draft)
    return code


def _saved(options: Options, draft: Draft) -> int:
    from console.actions import edit_profile

    if options.dry_run:
        changed = draft.text or ""
        lines = difflib.unified_diff(draft.base.splitlines(), changed.splitlines(), draft.name, "new", lineterm="")
        return _told(options, draft, "valid", "\n".join(lines))
    edit_profile.save(draft)
    return _told(options, draft, "saved", f"saved {draft.target}")


def _unchanged(options: Options, draft: Draft) -> int:
    from console.actions import edit_profile

    edit_profile.discard(draft)
    return _told(options, draft, "unchanged", f"{draft.name} is unchanged")


def _discarded(options: Options, draft: Draft) -> int:
    from console.actions import edit_profile

    edit_profile.discard(draft)
    return _told(options, draft, "discarded", f"discarded; {draft.target} is as it was")


def _ask(draft: Draft) -> str:
    """What to do with a draft that is not valid: edit again, keep, discard. Kept where nobody is there to ask."""
    if not sys.stdin.isatty():
        return "k"
    shown = "(e)dit again, (k)eep as a draft, (d)iscard"
    choice = click.prompt(shown, type=click.Choice(["e", "k", "d"]), default="e", show_choices=False, err=True)
    if choice == "d" and not click.confirm(f"Throw away what was written in {draft.path}?", default=False, err=True):
        return "k"
    return str(choice)


def _kept(options: Options, draft: Draft, why: UsageError) -> int:
    say(f"kept as a draft: {draft.path}; `profiles edit {draft.name}` takes it up")
    if options.as_json:
        emit(options, False, None, {**_values(draft, "kept"), "draft": str(draft.path), "error": error_json(why)})
    return UsageError.exit_code


def _told(options: Options, draft: Draft, state: str, text: str) -> int:
    if options.as_json:
        emit(options, True, None, _values(draft, state))
    else:
        click.echo(plain(text, lines=True))
    return 0


def _values(draft: Draft, state: str) -> dict[str, Any]:
    return {"profile": draft.name, "state": state, "path": str(draft.target)}


def duplicate(options: Options, name: str, new: str) -> int:
    """Copy a profile under a new name."""
    from console import new_file, paths
    from console.actions.edit_profile import copy_of

    path, text = copy_of(name, new, paths.locate())
    if not options.dry_run:
        new_file.write_own(path, text)
    if options.as_json:
        emit(options, True, None, {"profile": new, "path": str(path), "of": name})
    else:
        click.echo(plain(f"{'would write' if options.dry_run else 'wrote'} {path}"))
    return 0
