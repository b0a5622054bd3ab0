"""profiles list|show|keys|edit|duplicate|diff|validate|schema|import: launch profiles, without a node."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, emit, say, shared_options
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from console.errors import UsageError
    from console.launch.loader import Inputs, ResolvedProfile

_ANOTHER_NAME = "Give another --name."


@click.group("profiles")
def COMMAND() -> None:
    """List, show, edit, compare, check and import launch profiles."""


@COMMAND.command("list")
@shared_options
def _list(options: Options) -> int:
    """List the profiles that are found, and where."""
    from console import paths
    from console.launch.library import Library

    found = Library(paths.locate().profiles).names()
    if options.as_json:
        emit(options, True, None, {"profiles": {name: str(path) for name, path in sorted(found.items())}})
    else:
        for name, path in sorted(found.items()):
            click.echo(plain(f"{name}  {path}"))
    return 0


@COMMAND.command("show")
@click.argument("profile")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE")
@click.option("--shell", is_flag=True, help="The launch line as one would type it.")
@click.option("--node", "variables_of", metavar="NODE", help="Fill in this node's variables; it is not connected to.")
@shared_options
def _show(options: Options, profile: str, sets: tuple[str, ...], shell: bool, variables_of: str | None) -> int:
    """Show a profile as it resolves. Without --node its variables stay as they are written."""
    from console import yaml_file
    from console.cli._nodes_offline import of_node
    from console.launch.command import render, shell_line
    from console.launch.loader import NAME_VARIABLE
    from console.launch.record import profile_record

    variables, env, own = of_node(variables_of)
    resolved = _resolve(profile, _inputs((*own, *sets), variables))
    filled = {NAME_VARIABLE: resolved.profile.name} if variables is None else None
    line = shell_line(render(resolved, env), wrap=True, filled=filled)
    if options.as_json:
        values = {"profile": profile_record(resolved.profile), "sha256": resolved.sha256, "shell": line}
        emit(options, True, None, {**values, "sources": list(resolved.sources)})
        return 0
    click.echo(plain(line if shell else yaml_file.dump(profile_record(resolved.profile)), lines=True))
    if shell and (open_names := dict.fromkeys(re.findall(r"\$\{(\w+):\?\}", line))):
        say(f"set {', '.join(open_names)} in the shell first, or --node NODE fills them in")
    return 0


@COMMAND.command("edit")
@click.argument("profile", metavar="NAME|FILE")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Write this into the file, without an editor.")
@shared_options
def _edit(options: Options, profile: str, sets: tuple[str, ...]) -> int:
    """Edit a profile in $VISUAL or $EDITOR, checked before saving. One that ships is copied first."""
    from console.cli._profile_edit import edit, write

    return write(options, profile, sets) if sets else edit(options, profile)


@COMMAND.command("duplicate")
@click.argument("profile", metavar="NAME|FILE")
@click.argument("new", metavar="NEW")
@shared_options
def _duplicate(options: Options, profile: str, new: str) -> int:
    """Copy a profile under a new name into your own folder. Nothing is written over."""
    from console.cli._profile_edit import duplicate

    return duplicate(options, profile, new)


@COMMAND.command("diff")
@click.argument("a", metavar="NAME|FILE")
@click.argument("b", metavar="NAME|FILE")
@shared_options
def _diff(options: Options, a: str, b: str) -> int:
    """Say which fields of two profiles differ, and where they stand. What they extend counts."""
    from console.launch.differences import differences

    inputs = _inputs()
    found = differences(_resolve(a, inputs), _resolve(b, inputs))
    if options.as_json:
        emit(options, True, None, {"differs": [each.to_json() for each in found]})
        return 0
    for each in found:
        click.echo(plain(f"{each.key}: {_side(each.a, each.a_from)} | {_side(each.b, each.b_from)}"))
    if not found:
        click.echo(plain(f"{a} and {b} run the same"))
    return 0


@COMMAND.command("keys")
@click.argument("key", required=False)
@shared_options
def _keys(options: Options, key: str | None) -> int:
    """Say what the keys of a profile mean. All of them, or KEY and what is below it; with flag and releases."""
    from console.errors import UsageError
    from console.launch.key_notes import key_notes
    from console.validation import nearest

    notes = key_notes()
    found = [each for each in notes if key is None or each.key == key or each.key.startswith(f"{key}.")]
    if not found:
        near = nearest(str(key), [each.key for each in notes])
        raise UsageError(f"a profile has no key {key!r}", f"Nearest: {near}." if near else "`profiles keys` has all.")
    if options.as_json:
        emit(options, True, None, {"keys": [each.to_json() for each in found]})
    else:
        for each in found:
            click.echo(plain("\n  ".join(each.lines()), lines=True))
    return 0


@COMMAND.command("validate")
@click.argument("profiles", nargs=-1, metavar="[NAME|FILE]…")
@shared_options
def _validate(options: Options, profiles: tuple[str, ...]) -> int:
    """Check profiles, or all that are found. Every error has its file, line and column."""
    from console import paths
    from console.errors import UsageError
    from console.launch.library import Library

    inputs = _inputs()
    told: list[dict[str, Any]] = []
    for each in profiles or tuple(Library(paths.locate().profiles).names()):
        try:
            resolved = _resolve(each, inputs)
        except UsageError as error:
            told.append({"profile": each, "valid": False, "sources": [], "errors": _errors(error)})
        else:
            sources = list(resolved.sources)
            told.append({"profile": resolved.profile.name, "valid": True, "sources": sources, "errors": []})
    ok = all(each["valid"] for each in told)
    if options.as_json:
        emit(options, ok, None, {"profiles": told})
    else:
        for checked in told:
            if checked["valid"]:
                click.echo(plain(f"{checked['profile']} is valid ({', '.join(checked['sources'])})"))
            for wrong in checked["errors"]:
                where = f"{wrong['where']}: " if wrong["where"] else ""
                near = f" (nearest: {wrong['nearest']})" if wrong["nearest"] else ""
                say(f"{where}{wrong['message']}{near}")
    return 0 if ok else UsageError.exit_code


@COMMAND.command("schema")
@shared_options
def _schema(options: Options) -> int:
    """Print the JSON Schema of profiles, for editors."""
    from console.launch.schema import json_schema

    if options.as_json:
        emit(options, True, None, {"json_schema": json_schema()})
    else:
        click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=True))
    return 0


@COMMAND.command("import")
@click.argument("file", metavar="FILE|-")
@click.option("--name", help="The profile's name; else the file's.")
@click.option("--sglang-version", "version", metavar="V", help="Read flags as this release does.")
@click.option("--write", is_flag=True, help="Write it among the user's profiles; over nothing.")
@shared_options
def _import(options: Options, file: str, name: str | None, version: str | None, write: bool) -> int:
    """Make a profile of a shell launch line. Nothing is run, no secret is kept."""
    from pathlib import Path

    from console import new_file, yaml_file
    from console.launch.import_command import import_command

    text, source = _text(file)
    stem = name or ("imported" if file == "-" else Path(file).stem)
    imported = import_command(text, source, stem, version)
    body = yaml_file.dump(imported.data)
    path, written, refusal = _own(f"{stem}.yaml"), None, None
    if write and options.dry_run:
        refusal = new_file.in_the_way(path, _ANOTHER_NAME)
    elif write:
        new_file.write_own(path, body, _ANOTHER_NAME)
        written = str(path)
    values = {"profile": imported.data, "yaml": body, "notes": list(imported.notes), "written": written}
    if not options.as_json:
        for note in imported.notes:
            say(f"note: {note}")
        click.echo(plain(f"wrote {written}" if written else body.rstrip(), lines=True))
    elif refusal is None:
        emit(options, True, None, values)
    if refusal is not None:
        refusal.plan = values
        raise refusal
    return 0


def _side(value: Any, place: str) -> str:
    shown = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return f"{shown} ({place})" if place else shown


def _inputs(sets: tuple[str, ...] = (), variables: Mapping[str, str] | None = None) -> Inputs:
    from console import paths
    from console.launch.loader import Inputs
    from console.patches import folders

    return Inputs(variables, sets=sets, patch_options=folders.read(paths.locate().patches).options())


def _resolve(profile: str, inputs: Inputs) -> ResolvedProfile:
    from console import paths
    from console.launch.library import Library
    from console.launch.loader import resolve

    return resolve(profile, Library(paths.locate().profiles), inputs)


def _errors(error: UsageError) -> list[dict[str, str]]:
    from console.launch.library import NoSuchProfile
    from console.validation import Invalid

    if not isinstance(error, Invalid):
        near = error.nearest if isinstance(error, NoSuchProfile) else ""
        return [{"where": "", "message": error.message, "nearest": near, "hint": error.hint}]
    return [{"where": p.where, "message": p.message, "nearest": p.nearest, "hint": error.hint} for p in error.problems]


def _text(file: str) -> tuple[str, str]:
    """The text of FILE, or of stdin, and what to call it."""
    import sys
    from pathlib import Path

    from console.errors import UsageError
    from console.launch.shell_words import MAX_CHARACTERS

    try:
        if file == "-":
            return sys.stdin.buffer.read(4 * MAX_CHARACTERS + 1).decode("utf-8"), "stdin"
        with Path(file).open("rb") as opened:
            return opened.read(4 * MAX_CHARACTERS + 1).decode("utf-8"), file
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None


def _own(name: str) -> Path:
    from console import paths

    return paths.locate().config / "profiles" / name
