"""keys list|check: the actions of the console with their keys, and what is wrong with the user's keymap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, emit, shared_options
from console.units import plain

if TYPE_CHECKING:
    from console.tui.keys import Key


@click.group("keys")
def COMMAND() -> None:
    """List the console's keys, and check keys.yaml."""


@COMMAND.command("list")
@shared_options
def _list(options: Options) -> int:
    """List every action: id, keys, what it does, on which screens."""
    from console import paths
    from console.tui.keymap import load
    from console.tui.keys import KeyTable

    here = paths.locate()
    table, problems = load(here.keys_file, KeyTable())
    if options.as_json:
        actions = [_json(each) for each in table.keys]
        emit(options, True, None, {"file": str(here.keys_file), "actions": actions})
        return 0
    rows = [(each.id, _keys(each), each.title, _where(each)) for each in table.keys]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    if any(each.severity == "error" for each in problems):
        click.echo(plain(f"{here.keys_file} is not used: `spec-console keys check` says why"), err=True)
    return 0


@COMMAND.command("check")
@shared_options
def _check(options: Options) -> int:
    """Check keys.yaml. Known actions and keys, one meaning a key, and what a terminal keeps for itself."""
    from console import paths
    from console.tui.keymap import load
    from console.tui.keys import KeyTable

    here = paths.locate()
    _table, problems = load(here.keys_file, KeyTable())
    if options.as_json:
        told = {"file": str(here.keys_file), "is_there": here.keys_file.exists()}
        emit(options, not problems, None, {**told, "problems": [each.to_json() for each in problems]})
    else:
        for each in problems:
            click.echo(plain(f"{each.severity}: {each}"))
        if not problems:
            found = "in order" if here.keys_file.exists() else "not there: the keys are as they come"
            click.echo(plain(f"{here.keys_file}: {found}"))
    return 1 if problems else 0


def _keys(key: Key) -> str:
    from console.tui.key_names import label

    return " ".join(map(label, key.keys)) or key.label


def _where(key: Key) -> str:
    from console.tui.keys import SCREENS

    return "" if key.screens == SCREENS else f"screen {', '.join(key.screens)}"


def _json(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "keys": list(key.keys),
        "title": key.title,
        "group": key.group,
        "screens": list(key.screens),
    }
