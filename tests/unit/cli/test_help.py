"""Every verb's --help shows an example, and every example is a command line that the verb takes."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
import pytest

from console.cli import main
from console.cli._examples import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = [(path, line) for path, lines in EXAMPLES.items() for line in lines]


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found
        yield from leaves(found, (*path, name))


VERBS = {" ".join(path): command for path, command in leaves(main) if not command.hidden}


def test_every_verb_has_an_example_and_no_other_has() -> None:
    assert sorted(EXAMPLES) == sorted(VERBS)


def groups(command: click.Command) -> Iterator[click.Group]:
    if isinstance(command, click.Group):
        yield command
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found
            yield from groups(found)


def test_no_summary_is_cut_on_80_columns() -> None:
    cut = []
    for group in groups(main):
        shown = group.get_help(click.Context(group, info_name=group.name, terminal_width=78))
        cut += [line.strip() for line in shown.partition("Commands:")[2].splitlines() if line.endswith("...")]
    assert cut == []


@pytest.mark.parametrize("path", sorted(VERBS))
def test_help_shows_it(path: str) -> None:
    command = VERBS[path]
    shown = command.get_help(click.Context(command, info_name=path))
    for line in EXAMPLES[path]:
        assert f"  spec-console {line}\n" in f"{shown}\n"


@pytest.mark.parametrize(("path", "line"), LINES, ids=[line for _, line in LINES])
def test_an_example_is_a_command_line_that_is_taken(
    path: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.diff").touch()
    (tmp_path / "session.jsonl").touch()
    words = shlex.split(line)
    verb = path.split(" ")
    if verb != words[: len(verb)]:
        assert verb == ["runs", "list"]
    with VERBS[path].make_context(path, words[len(verb) :]) as context:
        assert not context.args, "words that nobody takes"
