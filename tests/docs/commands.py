"""The commands of a page: lines of its `sh` blocks that begin with `spec-console`, and the exit code that is said."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from console.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"#.*\bexit (\d+)\b")
NAME = "spec-console"


@dataclass(frozen=True, slots=True)
class Command:
    """One line as it is typed."""

    line: str
    words: tuple[str, ...]
    """Behind the program's name."""
    code: int
    """From a comment `# exit N`; else 0."""


def written(page: Path) -> Iterator[Command]:
    """Yield the commands of a page; several of a line one by one."""
    for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            said = _EXIT.search(line)
            for part in _parts(line):
                if part[:1] == [NAME]:
                    yield Command(line, tuple(part[1:]), int(said[1]) if said else 0)


def parse(command: Command) -> None:
    """Let click read the words. Raises click.ClickException where the verb does not take them."""
    found: click.Command = main
    words = list(command.words)
    while isinstance(found, click.Group):
        context = click.Context(found)
        sub = found.get_command(context, words[0]) if words and not words[0].startswith("-") else None
        if sub is None:
            assert found.name == "runs", f"no such verb: {command.line}"
            sub = found.get_command(context, "list")
            words.insert(0, "list")
        assert sub
        found, words = sub, words[1:]
    with found.make_context(command.words[0], words):
        pass


def _parts(line: str) -> Iterator[list[str]]:
    words = shlex.split(line, comments=True)
    part: list[str] = []
    for word in words:
        if word in ("&&", "|", ";", ">"):
            yield part
            part = []
        else:
            part.append(word)
    yield part
