"""Anchors: places in a Python file, by syntax tree and never by line number or text.

An anchor names a class, a method, a kind of statement and the statement's expression, however that is laid out.
It must match exactly once. No match in a file none of whose methods of that name knows the identifier in `needs`
means that this version has no such feature there; no match otherwise, or two, is a conflict that lists the places.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from console.patches.refusals import Conflict, NotApplicable
from console.patches.source import same

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Path: TypeAlias = tuple[tuple["Sequence[ast.stmt]", int], ...]
"""Block and index of each statement from a method's body down to the statement itself."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CANDIDATES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class ClassRule:
    """Which classes are meant: the one of that name, those that define a method of that name, or (empty) any."""

    name: str = ""
    defines: str = ""

    def matches(self, node: ast.ClassDef) -> bool:
        """Say whether `node` is meant."""
        if self.name and node.name != self.name:
            return False
        return not self.defines or any(isinstance(m, Function) and m.name == self.defines for m in node.body)

    def __str__(self) -> str:
        if self.name:
            return self.name
        return f"a class with {self.defines}()" if self.defines else "any class"


@dataclass(frozen=True, slots=True)
class Anchor:
    """One place that a patch needs."""

    id: str
    kind: type[ast.If] | type[ast.Assign]
    forms: tuple[str, ...]
    """Accepted expressions: the test of an `If`, the whole of an `Assign`."""
    needs: str
    """The identifier that every form of the feature uses, in a method of this name."""
    absent: str
    """What its absence means, one clause for the user."""
    cls: ClassRule = ClassRule()
    method: str = ""
    """Empty: any method of the class."""
    top_level: bool = False
    """Only a statement of the method's own body, none nested in another."""

    def __str__(self) -> str:
        method = f"{self.method}()" if self.method else "any method"
        what = f"if {self.forms[0]}:" if self.kind is ast.If else self.forms[0]
        return f"{self.id} `{what}` in {method} of {self.cls}"


@dataclass(frozen=True, slots=True)
class Place:
    """A statement that an anchor found."""

    cls: str
    function: Function
    path: Path

    @property
    def statement(self) -> ast.stmt:
        """The anchored statement."""
        block, index = self.path[-1]
        return block[index]

    def __str__(self) -> str:
        return f"{self.cls}.{self.function.name}:{self.statement.lineno}"


def find(anchor: Anchor, tree: ast.Module) -> Place:
    """Return the one place of `anchor`; raise NotApplicable or Conflict as the module says."""
    methods = [(c, f) for c in _classes(tree) for f in _functions(c) if anchor.method in ("", f.name)]
    meant = [
        Place(cls.name, function, path)
        for cls, function in methods
        if anchor.cls.matches(cls)
        for path in statements(function.body)
        if _matches(anchor, path)
    ]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise Conflict(f"{anchor} is there {len(meant)} times: {_listed([str(place) for place in meant])}")
    mentions = [f"{cls.name}.{f.name}:{line}" for cls, f in methods for line in _mentions(anchor.needs, f)]
    if mentions:
        raise Conflict(f"{anchor} is not there, but {anchor.needs} is, at {_listed(mentions)}")
    raise NotApplicable(f"{anchor.absent} ({anchor.needs} is not in {anchor.method or 'any method'}() here)")


def statements(body: Sequence[ast.stmt]) -> Iterator[Path]:
    """Yield the path of every statement in `body` and the blocks inside it, but not inside nested definitions."""
    stack: list[Path] = [((body, index),) for index in reversed(range(len(body)))]
    while stack:
        path = stack.pop()
        yield path
        block, index = path[-1]
        for inner in _blocks(block[index]):
            stack += [(*path, (inner, i)) for i in reversed(range(len(inner)))]


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, _DEFINITIONS):
        return
    for field in ("body", "orelse", "finalbody"):
        yield getattr(statement, field, [])
    for holder in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield holder.body


def _classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        for path in statements([pending.pop(0)]):
            block, index = path[-1]
            node = block[index]
            if isinstance(node, ast.ClassDef):
                yield node
                pending = [*node.body, *pending]


def _functions(cls: ast.ClassDef) -> Iterator[Function]:
    for path in statements(cls.body):
        block, index = path[-1]
        node = block[index]
        if isinstance(node, Function):
            yield node


def _matches(anchor: Anchor, path: Path) -> bool:
    if anchor.top_level and len(path) > 1:
        return False
    block, index = path[-1]
    node = block[index]
    if not isinstance(node, anchor.kind):
        return False
    found = node.test if isinstance(node, ast.If) else node
    return any(same(found, _expected(form)) for form in anchor.forms)


@functools.lru_cache(maxsize=256)
def _expected(form: str) -> ast.AST:
    statement = ast.parse(form).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


def _mentions(identifier: str, function: Function) -> list[int]:
    lines = {
        node.lineno
        for node in ast.walk(function)
        if (isinstance(node, ast.Attribute) and node.attr == identifier)
        or (isinstance(node, ast.Name) and node.id == identifier)
    }
    return sorted(lines)


def _listed(places: Sequence[str]) -> str:
    shown = ", ".join(places[:_CANDIDATES_SHOWN])
    return shown if len(places) <= _CANDIDATES_SHOWN else f"{shown} and {len(places) - _CANDIDATES_SHOWN} more"
