"""Node variables: `${name}` in a profile's text becomes the node's value; `$${` stands for a plain `${`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from console.launch.flags import SECRET_KEYS
from console.validation import Path_, Problem, dotted, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_USE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_MAX_DEPTH = 8
_MAX_TEXT = 100_000


class _Failed(Exception):
    def __init__(self, message: str, near: str = "") -> None:
        super().__init__(message)
        self.near = near


def substitute(data: Any, variables: Mapping[str, str], where: Callable[[Path_], str]) -> tuple[Any, list[Problem]]:
    """Fill in the variables in every text of a profile but its secrets; also return every problem."""
    problems: list[Problem] = []
    return _walk(data, (), variables, where, problems), problems


def is_secret_path(path: Path_) -> bool:
    """Tell whether the value at `path` of a profile is a reference to a secret."""
    return bool(path) and path[0] in (*SECRET_KEYS, "secret_env")


def _walk(
    value: Any, path: Path_, variables: Mapping[str, str], where: Callable[[Path_], str], problems: list[Problem]
) -> Any:
    if is_secret_path(path):
        return value
    if isinstance(value, dict):
        return {key: _walk(item, (*path, key), variables, where, problems) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, (*path, index), variables, where, problems) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    try:
        return _expand(value, variables, ())
    except _Failed as failed:
        problems.append(Problem(path, where(path), f"{dotted(path)}: {failed}", failed.near))
        return value


def _expand(text: str, variables: Mapping[str, str], seen: tuple[str, ...]) -> str:
    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "${"
        if name not in variables:
            raise _unknown(name, variables)
        if name in seen or len(seen) >= _MAX_DEPTH:
            raise _Failed(f"the variable ${{{name}}} needs itself: {' → '.join((*seen, name))}")
        return _expand(variables[name], variables, (*seen, name))

    result = _USE.sub(fill, text)
    if len(result) > _MAX_TEXT:
        raise _Failed(f"grows over {_MAX_TEXT} characters")
    return result


def _unknown(name: str, variables: Mapping[str, str]) -> _Failed:
    known, near = ", ".join(sorted(variables)) or "none", nearest(name, variables)
    entry = f"`variables: {{{name}: …}}` under its name in nodes.yaml"
    give = "" if near else f"; give it {entry} (`spec-console config locate` says where that is)"
    return _Failed(f"unknown variable ${{{name}}}; this node has: {known}{give}", near)
