"""A profile's data as layers, base first: what it extends, the file itself, --set and --env. Knows who said what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console import yaml_file
from console.errors import UsageError
from console.validation import Path_, dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.yaml_file import Located

OWN_KEYS = ("name", "description", "extends")
"""Keys that belong to one file and are not inherited."""


@dataclass(frozen=True, slots=True)
class Override:
    """One --set or --env of the command line."""

    option: str
    path: Path_
    value: Any = field(repr=False)

    def where(self) -> str:
        """Name the option, without its value, which may be a secret."""
        return f"{self.option} {dotted(self.path if self.option == '--set' else self.path[1:])}"


def parse_set(text: str) -> Override:
    """Read `a.b=value`; the value follows YAML's rules, so `2` is a number and `[0, 1]` a list; empty removes the key.

    Raises:
        UsageError: no "=", an empty key, a key that is not for --set, or not YAML.
    """
    key, equals, value = text.partition("=")
    path = tuple(key.strip().split("."))
    if not equals or not all(path):
        raise UsageError(f"--set {key}: not of the form key=value", "For instance --set speculative.num_steps=2")
    if path[0] in OWN_KEYS:
        raise UsageError(f"--set {key}: {path[0]!r} belongs to the file", "Write a profile that extends this one.")
    read = yaml_file.load(value, f"--set {key}")
    for trap in read.traps.values():
        raise UsageError(f"--set {key}: {trap}")
    return Override("--set", path, read.data)


def parse_env(text: str) -> Override:
    """Read `NAME=value`; the value is text as it stands. Raises UsageError when there is no "="."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--env {name}: not of the form NAME=value")
    return Override("--env", ("env", name), value)


def merge(files: Sequence[Located], overrides: Sequence[Override]) -> dict[str, Any]:
    """Lay the files (base first) and the overrides over each other: mappings merge, all else is replaced, null removes.

    Raises:
        UsageError: an override goes through a value that has no keys.
    """
    data: dict[str, Any] = {}
    for located in files:
        for key in OWN_KEYS:
            data.pop(key, None)
        data = _deep(data, located.data)
    for override in overrides:
        data = _deep(data, _nested(data, override))
    pruned = _pruned(data)
    return pruned if isinstance(pruned, dict) else {}


def where(path: Path_, files: Sequence[Located], overrides: Sequence[Override]) -> str:
    """Return who gave the value at `path`: the last option or file that names it, else its nearest parent."""
    for length in range(len(path), 0, -1):
        part = path[:length]
        for override in reversed(overrides):
            if part[: len(override.path)] == override.path:
                return override.where()
        for located in reversed(files):
            if part in located.marks:
                return located.where(part)
        for override in reversed(overrides):
            if override.path[:length] == part:
                return override.where()
    return files[-1].where(())


def _deep(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _deep(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _nested(data: dict[str, Any], override: Override) -> dict[str, Any]:
    node: Any = data
    for part in override.path[:-1]:
        node = node.get(part) if isinstance(node, dict) else node
        if node is not None and not isinstance(node, dict):
            raise UsageError(f"{override.where()}: {part!r} has no keys in this profile")
    value = override.value
    for part in reversed(override.path):
        value = {part: value}
    return dict(value)


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pruned(item) for key, item in value.items() if item is not None}
    return value
