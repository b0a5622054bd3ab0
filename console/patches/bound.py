"""Which names surely have a value at a place, so that an inserted call can never raise UnboundLocalError.

Conservative: a name counts only if every way to the place sets it. Loops may run no time, an exception handler may
start anywhere in its `try`; only a `with` is taken to run its body to the end.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.patches.anchor import Place

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def before(place: Place) -> frozenset[str]:
    """Return the names that are set when the statement at `place` starts."""
    names = _arguments(place.function.args)
    *outer, (last_block, last_index) = place.path
    for block, index in outer:
        names = _reached(_after(block[:index], names)) | _header(block[index])
        names -= _deleted_inside(block[index])  # a later statement of the same loop may have run before
    return _reached(_after(last_block[:last_index], names))


def after(place: Place) -> frozenset[str]:
    """Return the names that are set when the statement at `place` has ended."""
    return _reached(_after([place.statement], before(place)))


def _reached(names: frozenset[str] | None) -> frozenset[str]:
    return frozenset() if names is None else names


def _after(block: Sequence[ast.stmt], names: frozenset[str]) -> frozenset[str] | None:
    """Return the names set after `block`, None when its end is never reached."""
    for statement in block:
        if isinstance(statement, _LEAVES):
            return None
        if isinstance(statement, ast.If):
            ends = [_after(branch, names) for branch in (statement.body, statement.orelse)]
            reached = [end for end in ends if end is not None]
            if not reached:
                return None
            names = frozenset.intersection(*reached)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            inner = _after(statement.body, names | _header(statement))
            names = names | _header(statement) if inner is None else inner
        elif isinstance(statement, ast.Delete):
            names -= _targets(statement.targets)
        else:
            names = (names | _simple(statement)) - _deleted_inside(statement)
    return names


def _simple(statement: ast.stmt) -> frozenset[str]:
    if isinstance(statement, ast.Assign):
        return _targets(statement.targets)
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return _targets([statement.target])
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return frozenset((alias.asname or alias.name.split(".")[0]) for alias in statement.names)
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({statement.name})
    if isinstance(statement, ast.Try):
        return _reached(_after(statement.finalbody, frozenset()))
    return frozenset()


def _header(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a compound statement sets before its body runs."""
    if isinstance(statement, ast.For | ast.AsyncFor):
        return _targets([statement.target])
    if isinstance(statement, ast.With | ast.AsyncWith):
        return _targets(item.optional_vars for item in statement.items if item.optional_vars is not None)
    return frozenset()


def _targets(expressions: Iterable[ast.expr]) -> frozenset[str]:
    return frozenset(
        node.id
        for expression in expressions
        for node in ast.walk(expression)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
    )


def _deleted_inside(statement: ast.stmt) -> frozenset[str]:
    if not isinstance(statement, ast.For | ast.AsyncFor | ast.While | ast.Try | ast.Match):
        return frozenset()
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)}
    caught = {node.name for node in ast.walk(statement) if isinstance(node, ast.ExceptHandler) and node.name}
    return frozenset(names | caught)


def _arguments(arguments: ast.arguments) -> frozenset[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return frozenset(argument.arg for argument in every if argument is not None)
