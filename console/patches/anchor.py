"""Anchors: places in a Python file, by syntax tree and never by line number or text.

An anchor names a class, a method, a kind of statement and the statement's expression, however that is laid out; or a
statement by a call in it; or a function by its name. It must match exactly once. No match in a file none of whose
methods of that name knows the identifier in `needs` means that this version has no such feature there; no match
otherwise, or two, is a conflict that lists the places.
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
_CALLERS = (ast.Assign, ast.AnnAssign, ast.Expr)
"""Statements of one call that a line may follow: after a `return` none would run."""
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
    kind: type[ast.If] | type[ast.Assign] | type[ast.Call] | type[ast.FunctionDef]
    forms: tuple[str, ...]
    """Accepted expressions: the test of an `If`, the whole of an `Assign`, what a `Call` calls; names of functions."""
    needs: str
    """The identifier that every form of the feature uses, in a method of this name."""
    absent: str
    """What its absence means, one clause for the user."""
    cls: ClassRule | None = ClassRule()
    """None: functions of the module itself, outside classes."""
    method: str = ""
    """Empty: any method of the class."""
    top_level: bool = False
    """Only a statement of the method's own body, none nested in another."""
    keywords: frozenset[str] = frozenset()
    """Of a `Call`: it passes at least one argument by one of these names."""

    def __str__(self) -> str:
        if self.kind is ast.FunctionDef:
            return f"{self.id} `def {self.forms[0]}` of {self.cls or 'the module'}"
        method = f"{self.method}()" if self.method else "any method"
        shown = {ast.If: f"if {self.forms[0]}:", ast.Call: f"{self.forms[0]}(…)"}
        return f"{self.id} `{shown.get(self.kind, self.forms[0])}` in {method} of {self.cls or 'the module'}"


@dataclass(frozen=True, slots=True)
class Place:
    """A statement that an anchor found."""

    cls: str
    """Empty: a function of the module."""
    function: Function
    """Around the statement; where a function was looked for, itself the statement."""
    path: Path

    @property
    def statement(self) -> ast.stmt:
        """The anchored statement."""
        block, index = self.path[-1]
        return block[index]

    @property
    def owner(self) -> str:
        """The function, as "<class>.<method>"."""
        return _name(self.cls, self.function)

    def __str__(self) -> str:
        return f"{self.owner}:{self.statement.lineno}"


def find(anchor: Anchor, tree: ast.Module) -> Place:
    """Return the one place of `anchor`; raise NotApplicable or Conflict as the module says."""
    methods = [each for each in _functions(anchor, tree) if anchor.method in ("", each[1].function.name)]
    meant = [found for is_meant, place in methods if is_meant for found in _inside(anchor, place)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise Conflict(f"{anchor} is there {len(meant)} times: {_listed([str(place) for place in meant])}")
    mentions = [
        f"{_name(place.cls, place.function)}:{line}"
        for _, place in methods
        for line in _mentions(anchor.needs, place.function)
    ]
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
        for inner in reversed(list(_blocks(block[index]))):
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


def _functions(anchor: Anchor, tree: ast.Module) -> Iterator[tuple[bool, Place]]:
    """Yield each function of every class (or of the module) by its own place, and whether its class is meant."""
    owners: list[tuple[bool, str, list[ast.stmt]]] = [(True, "", tree.body)]
    if anchor.cls is not None:
        owners = [(anchor.cls.matches(cls), cls.name, cls.body) for cls in _classes(tree)]
    for is_meant, owner, body in owners:
        for path in statements(body):
            block, index = path[-1]
            node = block[index]
            if isinstance(node, Function):
                yield is_meant, Place(owner, node, path)


def _inside(anchor: Anchor, place: Place) -> Iterator[Place]:
    if anchor.kind is ast.FunctionDef:
        if place.function.name in anchor.forms:
            yield place
        return
    for path in statements(place.function.body):
        if _matches(anchor, path):
            yield Place(place.cls, place.function, path)


def _matches(anchor: Anchor, path: Path) -> bool:
    if anchor.top_level and len(path) > 1:
        return False
    block, index = path[-1]
    node = block[index]
    if anchor.kind is ast.Call:
        return isinstance(node, _CALLERS) and any(_is_call(anchor, one) for one in ast.walk(node))
    if not isinstance(node, anchor.kind):
        return False
    return _has_form(anchor, node.test if isinstance(node, ast.If) else node)


def _is_call(anchor: Anchor, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not _has_form(anchor, node.func):
        return False
    return not anchor.keywords or any(keyword.arg in anchor.keywords for keyword in node.keywords)


def _has_form(anchor: Anchor, found: ast.AST) -> bool:
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


def _name(cls: str, function: Function) -> str:
    return f"{cls}.{function.name}" if cls else function.name


def _listed(places: Sequence[str]) -> str:
    shown = ", ".join(places[:_CANDIDATES_SHOWN])
    return shown if len(places) <= _CANDIDATES_SHOWN else f"{shown} and {len(places) - _CANDIDATES_SHOWN} more"
