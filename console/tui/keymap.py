"""The user's keymap: `keys.yaml`, action id → key or list of keys; read, and judged against the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from console.errors import UsageError
from console.tui.key_names import EATEN, MOVES, PREFIXES, known, label, name_of
from console.tui.keys import SCREENS, KeyTable
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Given = dict[str, tuple[str, ...]]
LOOKING_CAPITALS = ("log.previous",)
"""Actions that only look and have a capital all the same: N, as in every pager."""
_HOW = "Each line is an action and its key: `reread: f5`, or `reread: [f5, r]`. `keys list` has the actions."


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """One thing that is wrong with a keymap. An error keeps the whole map from being used; a warning does not."""

    where: str
    """"file:line:column", or the file."""
    severity: Literal["error", "warn"]
    message: str
    nearest: str = ""

    def __str__(self) -> str:
        near = f" (nearest: {self.nearest})" if self.nearest else ""
        return f"{self.where}: {self.message}{near}"

    def to_json(self) -> dict[str, str]:
        return {"where": self.where, "severity": self.severity, "message": self.message, "nearest": self.nearest}


def load(path: Path, table: KeyTable) -> tuple[KeyTable, tuple[KeyProblem, ...]]:
    """Read a keymap over `table`; a missing file changes nothing. With an error in it the table stays as it was.

    Raises:
        UsageError: not readable, not YAML, or not a mapping.
    """
    if not path.exists():
        return table, ()
    from console import yaml_file

    located = yaml_file.load_file(path)
    data = {} if located.data is None else located.data
    if not isinstance(data, dict):
        raise UsageError(f"{located.where(())}: a keymap is a mapping of actions to keys", _HOW)
    given: Given = {}
    problems = list(_read(data, table, located.where, given))
    changed = table.with_keys(given)
    problems += judge(changed, given, lambda name: located.where((name,)))
    return (table if any(each.severity == "error" for each in problems) else changed), tuple(problems)


def judge(table: KeyTable, given: Given, where: Callable[[str], str]) -> Iterator[KeyProblem]:
    """Yield what is wrong with the keys that were `given`, in a table that has them already."""
    for name, keys in given.items():
        for key in keys:
            for severity, message in _wrong(table, name, key):
                yield KeyProblem(where(name), severity, message)
        if table[name].group == "change" and not keys:
            yield KeyProblem(where(name), "error", f"{name} needs a key: it is what confirms the plan")
    yield from _conflicts(table, given, where)


def _read(data: dict[str, Any], table: KeyTable, where: Callable[..., str], given: Given) -> Iterator[KeyProblem]:
    """Fill `given` with what can be understood; yield the rest."""
    ids = [each.id for each in table.keys]
    for name, value in data.items():
        if name not in table:
            yield KeyProblem(where((name,)), "error", f"no action is called {name!r}", nearest(name, ids))
            continue
        keys: list[str] = []
        for at, written in enumerate(value if isinstance(value, list) else [value]):
            place = where((name, at) if isinstance(value, list) else (name,))
            key, problem = _key(written)
            keys += [key] if key and key not in keys else []
            if problem:
                near = nearest(written.lower(), known()) if isinstance(written, str) else ""
                yield KeyProblem(place, "error", f"{name}: {problem}", near)
        given[name] = tuple(keys)


def _key(written: object) -> tuple[str, str]:
    """Return Textual's name of a key, or why there is none."""
    if written is None:
        return "", "no key; one that YAML reads as nothing stands in quotes ('~', '#'), and [] is no key at all"
    if isinstance(written, bool) or not isinstance(written, (str, int)):
        return "", f"{written!r} is not a key: put it in quotes, as it is typed"
    name = name_of(str(written))
    return name, "" if name else f"{written!r} is not a key that a terminal sends"


def _wrong(table: KeyTable, name: str, key: str) -> Iterator[tuple[Literal["error", "warn"], str]]:
    """Yield what speaks against this key for this action, whatever other actions have."""
    shown, is_change, is_capital = label(key), table[name].group == "change", len(key) == 1 and key.isupper()
    if key in MOVES:
        yield "error", f"{shown} moves in tables and logs: {name} would never have it"
    elif is_change and not is_capital:
        yield "error", f"{name} changes the node: only a capital letter may do that, not {shown}"
    elif is_capital and not is_change and name not in LOOKING_CAPITALS:
        yield "error", f"{name} changes nothing: {shown} is a capital, and those change the node"
    if key in EATEN:
        yield "error", f"{name} would not have {shown}: {EATEN[key]}"
    if key in PREFIXES:
        yield "warn", f"{name} has {shown}: {PREFIXES[key]}"


def _conflicts(table: KeyTable, given: Given, where: Callable[[str], str]) -> Iterator[KeyProblem]:
    """Yield each pair of actions that have a key in common on a screen, once."""
    told: set[frozenset[str]] = set()
    for screen in SCREENS:
        holder: dict[str, str] = {}
        for each in table.on_screen(screen):
            for key in each.keys:
                other = holder.setdefault(key, each.id)
                if other == each.id or frozenset((other, each.id)) in told:
                    continue
                told.add(frozenset((other, each.id)))
                name, theirs = (each.id, other) if each.id in given else (other, each.id)
                message = f"{label(key)} is {name} and {theirs} on screen {screen}"
                yield KeyProblem(where(name), "error", message)
