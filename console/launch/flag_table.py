"""What each SGLang release takes on its command line: a table made from 28 wheels, and how argparse reads a word by it.

argparse takes any unambiguous beginning of a flag, so a word that works today breaks when a release adds a flag beside
it: `--speculative-draft` was one flag up to 0.5.1 and is an error from 0.5.2 on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Literal

from console.launch.releases import READ, around, is_within

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal["switch", "value", "optional", "list", "retired"]
"""How many words follow: none, one, one or none, any; retired: declared, and stops the launch when it is given."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One flag as some releases declare it."""

    name: str
    """Without dashes."""
    kind: Kind
    dest: str
    """Where argparse puts its value: the same for a flag and its aliases."""
    releases: tuple[str, ...]
    told: str
    """What SGLang says where it is deprecated: the flag to use instead, or its error. Empty: it is not."""


@dataclass(frozen=True, slots=True)
class Parser:
    """The flags of one SGLang."""

    names: frozenset[str]
    """Full names without dashes, aliases included."""
    source: str
    """Where they were read."""

    def completions(self, word: str) -> tuple[str, ...]:
        """The flags that argparse would take `word` (without dashes) for; one of them: it is that one."""
        return (word,) if word in self.names else tuple(sorted(name for name in self.names if name.startswith(word)))


def parsers(version: str | None, installed: Iterable[str] | None = None) -> tuple[Parser, ...]:
    """What is known of a version's flags: one parser; two for a release between two that differ; none when nothing is.

    `installed` is what its own `--help` declares, and is believed before the table.
    """
    if installed is not None:
        return (Parser(frozenset(installed) | {"help"}, "the installed SGLang's --help"),)
    between = around(version)
    if not between and is_within(version, READ[-1]):
        return (Parser(_names(READ[-1]), f"SGLang {READ[-1]}, the newest that was read"),)
    found = {_names(each): each for each in between}
    return tuple(Parser(names, f"SGLang {each}") for names, each in found.items())


def rows(name: str) -> tuple[Declared, ...]:
    """Every form in which releases declare `name`, oldest first; empty for a name that none has."""
    return _table().get(name, ())


def row_at(name: str, version: str | None) -> Declared | None:
    """How the version (or the nearest release that was read) declares `name`."""
    at = around(version) or ((READ[-1],) if is_within(version, READ[-1]) else ())
    return next((row for row in rows(name) if any(each in row.releases for each in at)), None)


def kind_of(name: str, version: str | None = None) -> Kind | None:
    """How many words follow `name` in this version, else in the newest release that has it; None: none has it."""
    row = row_at(name, version) or (rows(name) or (None,))[-1]
    return row.kind if row else None


def releases_of(name: str) -> tuple[str, ...]:
    """The releases read that declare `name`, oldest first."""
    there = {each for row in rows(name) for each in row.releases}
    return tuple(each for each in READ if each in there)


def dest_of(name: str) -> str:
    """What a flag sets, the same for aliases and renamed forms: the newest release's word for it."""
    found = rows(name)
    return found[-1].dest if found else name.replace("-", "_")


@cache
def all_names() -> frozenset[str]:
    """Every flag of every release that was read."""
    return frozenset(_table()) | {"help"}


@cache
def _names(version: str) -> frozenset[str]:
    return frozenset(n for n, found in _table().items() if any(version in row.releases for row in found)) | {"help"}


@cache
def _table() -> dict[str, tuple[Declared, ...]]:
    text = resources.files("console.launch").joinpath("flags_by_release.txt").read_text(encoding="utf-8")
    listed, *lines = [line for line in text.splitlines() if not line.startswith("#")]
    if tuple(listed.split()) != READ:
        raise ValueError("flags_by_release.txt is of other releases than console.launch.releases")
    found: dict[str, list[Declared]] = {}
    for line in lines:
        name, kind, dest, spans, *told = line.split(" ", 4)
        row = Declared(name, kind, dest, _releases(spans), " ".join(told))  # type: ignore[arg-type]
        found.setdefault(name, []).append(row)
    return {name: tuple(sorted(each, key=lambda row: READ.index(row.releases[-1]))) for name, each in found.items()}


def _releases(spans: str) -> tuple[str, ...]:
    if spans == "*":
        return READ
    found: list[str] = []
    for span in spans.split(","):
        first, dots, last = span.partition("..")
        end = READ.index(last) if last else len(READ) - 1 if dots else READ.index(first)
        found += READ[READ.index(first) : end + 1]
    return tuple(found)
