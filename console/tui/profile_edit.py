"""A profile in the user's editor, with the console put aside meanwhile: it goes on reading, and draws nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from console import paths
from console.actions import edit_profile
from console.actions.editor import edit, find_editor, waiting_for_it
from console.errors import UsageError
from console.tui.modals.draft import DraftModal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from textual.app import App

    from console.actions.edit_profile import Draft
    from console.tui.text import Line


async def edit_in_console(app: App[Any], name: str) -> str:
    """Edit a profile until it is saved, kept or discarded; return what became of it.

    Raises:
        UsageError: there is no editor, or no such profile; the terminal cannot be given to an editor.
        Refused: the file was changed meanwhile, or cannot be written. The draft is kept.
    """
    here, words = paths.locate(), find_editor()
    draft = edit_profile.begin(name, here)
    for note in draft.notes:
        app.notify(note, markup=False)
    while True:
        went_well = await _in_editor(app, words, draft.path)
        if not draft.is_changed:
            edit_profile.discard(draft)
            return f"{draft.name} is unchanged"
        if not went_well:
            return f"{words[0]} failed; kept as a draft: {draft.path}"
        try:
            edit_profile.check(draft, here)
        except UsageError as error:
            choice = await app.push_screen_wait(DraftModal(f"{draft.name} is not valid", _told(error, draft)))
            if choice is None:
                return f"kept as a draft: {draft.path}; the next edit takes it up"
            if choice == "discard":
                edit_profile.discard(draft)
                return f"discarded; {draft.target} is as it was"
        else:
            edit_profile.save(draft)
            return f"saved {draft.target}"


async def _in_editor(app: App[Any], words: tuple[str, ...], path: Path) -> bool:
    # The link's heartbeat must go on, so the editor is waited for in a thread; a batch keeps the screen from being
    # drawn over it. Ctrl-C is taken care of for as long as the terminal is not ours: before and after the editor, too.
    try:
        with waiting_for_it(), app.batch_update(), app.suspend():
            return await asyncio.to_thread(edit, words, path)
    except SuspendNotSupported:
        raise UsageError(
            "this terminal cannot be given to an editor", f"In a shell: spec-console profiles edit {path.stem}"
        ) from None


def _told(error: UsageError, draft: Draft) -> Iterator[Line | str]:
    yield (error.message, "error")
    for line in error.detail.splitlines():
        yield line.replace(f"{draft.path}:", "line ")
    if error.hint:
        yield (error.hint, "dim")
