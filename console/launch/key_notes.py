"""What each key of a profile means: its note in the form, its flag, and which SGLang releases have that."""

from __future__ import annotations

import ast
import inspect
import itertools
import typing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from console.launch import flag_table
from console.launch.flags import SECRET_KEYS, TYPED_FLAGS, flag_of
from console.launch.profile import Profile
from console.launch.releases import READ
from console.validation import form_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

_FLAGS = {key: flag for flag, key in TYPED_FLAGS.items()} | {key: flag_of(key) for key in SECRET_KEYS}
_WANTS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    dict: "a mapping",
    tuple: "a list",
}


@dataclass(frozen=True, slots=True)
class KeyNote:
    """One key of a profile."""

    key: str
    """Dotted."""
    wants: str
    note: str
    flag: str = ""
    """Its flag with dashes; empty for a key that is the console's own."""
    releases: str = ""
    """Which of the releases read declare the flag, and what SGLang says where it is deprecated."""

    def lines(self) -> Iterator[str]:
        yield f"{self.key}: {self.wants}"
        yield self.note
        if self.flag:
            yield f"{self.flag}: {self.releases}"

    def to_json(self) -> dict[str, str]:
        return {
            "key": self.key,
            "wants": self.wants,
            "note": self.note,
            "flag": self.flag,
            "releases": self.releases,
        }


def key_notes() -> tuple[KeyNote, ...]:
    """Return every key in the order of the form, those of its parts behind them."""
    return tuple(_notes(Profile, ""))


def field_notes(form: type[BaseModel]) -> dict[str, str]:
    """Return the texts below the fields of a form in its source, on one line each."""
    return dict(_sources(inspect.getmodule(form))[form.__name__])


def releases_of(flag: str) -> str:
    """Say which releases declare a flag (without dashes): "SGLang 0.4.6.post1 to 0.5.23", and how it is deprecated."""
    found = flag_table.releases_of(flag)
    if not found:
        return "declared by no release that was read"
    first, last = READ.index(found[0]), READ.index(found[-1])
    gaps = "" if len(found) == last - first + 1 else ", not by all between"
    told = flag_table.rows(flag)[-1].told
    return f"SGLang {found[0]} to {found[-1]}{gaps}" + (f"; deprecated: {told}" if told else "")


def _notes(form: type[BaseModel], prefix: str) -> Iterator[KeyNote]:
    notes = field_notes(form)
    for name, field in form.model_fields.items():
        key = prefix + name
        inner = form_in(field.annotation)
        flag = _FLAGS.get(key, "")
        said = (f"--{flag}", releases_of(flag)) if flag else ("", "")
        yield KeyNote(key, "a mapping" if inner else wanted(field.annotation), notes.get(name, ""), *said)
        if inner is not None:
            yield from _notes(inner, f"{key}.")


def wanted(annotation: Any) -> str:
    """Say in words what a field takes."""
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return " or ".join(map(str, typing.get_args(annotation)))
    if (origin or annotation) in _WANTS:
        return _WANTS[origin or annotation]
    kinds = [wanted(each) for each in typing.get_args(annotation) if each is not type(None)]
    return next((kind for kind in kinds if kind), "")


@cache
def _sources(module: Any) -> dict[str, dict[str, str]]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: dict(_texts(node.body)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _texts(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            if isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
                yield field.target.id, " ".join(below.value.value.split())
