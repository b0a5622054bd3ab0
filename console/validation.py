"""Turns plain data into a pydantic model: every error at once, each placed in its file and said in the user's words."""

from __future__ import annotations

import datetime
import difflib
import math
import re
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, Union

from pydantic import BaseModel, ValidationError

from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic_core import ErrorDetails

Path_ = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)

BOOL_TRAP = "YAML reads no, off, yes and on as true or false"
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_POSITION = re.compile(r"(.*):(\d+):(\d+)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: `where` is "file:line:column", or the option that brought the value."""

    path: Path_
    where: str
    message: str
    nearest: str = ""

    def __str__(self) -> str:
        near = f" (nearest: {self.nearest})" if self.nearest else ""
        return f"{self.where}: {self.message}{near}"


class Invalid(UsageError):
    """A file does not have the agreed form; `problems` holds every error that was found."""

    def __init__(self, subject: str, problems: Iterable[Problem], hint: str = "") -> None:
        self.problems = tuple(sorted(problems, key=_position))
        lines = [str(problem) for problem in self.problems]
        if len(lines) == 1:
            super().__init__(lines[0], hint)
        else:
            super().__init__(f"{subject}: {len(lines)} errors", hint, "\n".join(lines))


def _position(problem: Problem) -> tuple[str, int, int]:
    match = _POSITION.fullmatch(problem.where)
    return (match.group(1), int(match.group(2)), int(match.group(3))) if match else (problem.where, 0, 0)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word closest to `word`, or "" when none is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else ""


def check(
    model: type[Model], data: Any, where: Callable[[Path_], str], prefix: Path_ = ()
) -> tuple[Model | None, list[Problem]]:
    """Validate `data`; return the model, or None and every problem. `prefix` is the path of `data` in its file."""
    problems = [Problem((*prefix, *p), where((*prefix, *p)), text) for p, text in _unplain(data, ())]
    try:
        result = model.model_validate(data)
    except ValidationError as error:
        seen = {problem.path for problem in problems}
        found = [_problem(model, data, detail, where, prefix) for detail in error.errors(include_url=False)]
        problems += {problem.path: problem for problem in found if problem.path not in seen}.values()
        return None, problems
    return (None if problems else result), problems


def env_name(name: str) -> str:
    """Return `name` if it can name an environment variable. Raises ValueError otherwise."""
    if not _ENV_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name of an environment variable")
    return name


def unknown_key(model: type[BaseModel], path: Path_, where: str) -> Problem | None:
    """Return what is wrong with a dotted key that `model` has no place for; None where it has, or any may stand."""
    for length in range(1, len(path) + 1):
        known = known_keys(model, path[: length - 1])
        if known and str(path[length - 1]) not in known:
            return _unknown(model, path[:length], path[:length], where)
    return None


def known_keys(model: type[BaseModel], path: Path_) -> tuple[str, ...]:
    """Return the keys that `model` knows at `path`; empty where any key may stand."""
    annotation: Any = model
    for part in path:
        annotation = _step(annotation, part)
    found = form_in(annotation)
    return tuple(found.model_fields) if found else ()


def dotted(path: Path_) -> str:
    """Write a path as `speculative.num_steps`."""
    return ".".join(str(part) for part in path)


def _step(annotation: Any, part: str | int) -> Any:
    found = form_in(annotation)
    if found is not None:
        field = found.model_fields.get(str(part))
        return field.annotation if field else None
    arguments = typing.get_args(annotation)
    return arguments[-1] if arguments else None


def form_in(annotation: Any) -> type[BaseModel] | None:
    """Return the form that a field holds, or None where it holds plain values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (Union, types.UnionType, typing.Annotated):
        return next((m for arg in typing.get_args(annotation) if (m := form_in(arg))), None)
    return None


def _unplain(value: Any, path: Path_) -> Iterator[tuple[Path_, str]]:
    """Yield what no file may hold anywhere: YAML's own types, NaN, control characters."""
    if isinstance(value, dict):
        for key, item in value.items():
            if _CONTROL.search(key):
                yield path, f"the key {key!r} holds a control character"
            yield from _unplain(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unplain(item, (*path, index))
    else:
        problem = _unplain_scalar(value)
        if problem:
            yield path, f"{dotted(path)}: {problem}"


def _unplain_scalar(value: Any) -> str:
    if isinstance(value, (datetime.date, datetime.datetime)):
        return f"YAML reads {value} as a date: put it in quotes"
    if isinstance(value, float) and not math.isfinite(value):
        return "not a finite number"
    if isinstance(value, str) and _CONTROL.search(value):
        return "holds a control character"
    if isinstance(value, int) and abs(value) >= 2**63:
        return "too large a number"
    if value is not None and not isinstance(value, (str, int, float, bool)):
        return f"a YAML {type(value).__name__} cannot stand here"
    return ""


def _problem(
    model: type[BaseModel], data: Any, detail: ErrorDetails, where: Callable[[Path_], str], prefix: Path_
) -> Problem:
    kind = detail["type"]
    path = detail["loc"] if kind == "missing" else _present(data, detail["loc"])
    full = (*prefix, *path)
    if kind == "extra_forbidden":
        return _unknown(model, path, full, where(full))
    if kind == "missing":
        return Problem(full, where(full), f"the key {path[-1]!r} is missing{_inside(path)}")
    near = nearest(str(detail["input"]), _expected(detail)) if kind == "literal_error" else ""
    subject = f"{dotted(path)}: " if path else ""
    return Problem(full, where(full), subject + _message(detail), near)


def _unknown(model: type[BaseModel], path: Path_, full: Path_, where: str) -> Problem:
    near = nearest(str(path[-1]), known_keys(model, path[:-1]))
    return Problem(full, where, f"unknown key {path[-1]!r}{_inside(path)}", near)


def _inside(path: Path_) -> str:
    return f" in {dotted(path[:-1])}" if len(path) > 1 else ""


def _present(data: Any, loc: Path_) -> Path_:
    """Cut pydantic's location where it stops naming keys of the data ("[key]", a union's member)."""
    path: list[str | int] = []
    for part in loc:
        if isinstance(data, dict) and part in data:
            data = data[str(part)]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            break
        path.append(part)
    return tuple(path)


def _expected(detail: ErrorDetails) -> list[str]:
    context: Mapping[str, Any] = detail.get("ctx", {})
    return re.findall(r"'([^']*)'", str(context.get("expected", "")))


def _message(detail: ErrorDetails) -> str:
    kind, value = detail["type"], detail["input"]
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    if kind == "literal_error":
        return f"must be {detail['ctx']['expected']}"
    if kind in _BOUNDS:
        return f"must be {_BOUNDS[kind]} {next(iter(detail['ctx'].values()))}"
    if kind in _WANTED:
        return f"wants {_WANTED[kind]}{_trap(kind, value)}"
    return detail["msg"][:1].lower() + detail["msg"][1:]


_BOUNDS = {
    "greater_than": "more than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
}

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "tuple_type": "a list, such as [a, b]",
    "list_type": "a list, such as [a, b]",
}


def _trap(kind: str, value: Any) -> str:
    """Name the YAML 1.1 rule that probably turned the value into another type."""
    if isinstance(value, bool):
        return f"; {BOOL_TRAP}" + (": put the text in quotes" if kind == "string_type" else "")
    if isinstance(value, (int, float)) and kind == "string_type":
        return f"; YAML reads this as the number {value}: put it in quotes, as it should stand"
    if isinstance(value, str) and kind in ("int_type", "float_type"):
        return f"; YAML reads {value[:40]!r} as text{_as_number(value)}"
    return ""


def _as_number(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    plain = int(number) if number.is_integer() and abs(number) < 10**15 else number
    return f": write {plain}"
