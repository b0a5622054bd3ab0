"""What surely has a value at a place: an inserted call reads nothing else."""

from __future__ import annotations

import ast
import textwrap

import pytest

from console.patches import bound
from console.patches.anchor import Anchor, find

HERE = Anchor("A", ast.If, ("here",), needs="here", absent="")


def names(body: str, arguments: str = "self") -> tuple[frozenset[str], frozenset[str]]:
    source = f"class C:\n  def f({arguments}):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    place = find(HERE, ast.parse(source))
    return bound.before(place), bound.after(place)


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("x = 1\nif here: pass", "x"),
        ("a, (b, *c) = d\nif here: pass", "abc"),
        ("x: int = 1\ny: int\nif here: pass", "x"),
        ("import x.y, z as w\nif here: pass", "xw"),
        ("def x(): pass\nif here: pass", "x"),
        ("if y: x = 1\nif here: pass", ""),
        ("if y: x = 1\nelse: x = 2\nif here: pass", "x"),
        ("if y: x = 1\nelse: return\nif here: pass", "x"),
        ("if y: x = 1\nelif z: x = 2\nelse: raise E\nif here: pass", "x"),
        ("for x in y: z = 1\nif here: pass", ""),
        ("for x in y:\n  if here: pass", "x"),
        ("with y as x:\n  z = 1\nif here: pass", "xz"),
        ("with y as x:\n  if here: pass", "x"),
        ("try: x = 1\nexcept E: pass\nif here: pass", ""),
        ("try: pass\nfinally: x = 1\nif here: pass", "x"),
        ("x = 1\ndel x\nif here: pass", ""),
        ("x = 1\nif y: del x\nif here: pass", ""),
        ("x = 1\nfor y in z: del x\nif here: pass", ""),
        ("x = 1\nfor y in z:\n  if here: pass\n  del x", "y"),
        ("x = 1\ntry: pass\nexcept E as x: pass\nif here: pass", ""),
        ("if here: pass\nx = 1", ""),
        ("if y:\n  x = 1\n  if here: pass", "x"),
    ],
)
def test_names_before(body: str, before: str) -> None:
    assert names(body)[0] == {"self", *before}


def test_every_kind_of_argument_has_a_value() -> None:
    assert names("if here: pass", "self, a, /, b, *c, d=1, **e")[0] == {"self", *"abcde"}


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("if here: x = 1", ""),
        ("if here: x = 1\nelse: x = 2", "x"),
        ("x = None\nif here: x, y = 1, 2", "x"),
        ("if here: return\nelse: x = 2", "x"),
    ],
)
def test_names_after(body: str, after: str) -> None:
    assert names(body)[1] == {"self", *after}


def test_nothing_counts_after_a_statement_that_never_ends() -> None:
    assert names("if here: return\nelse: raise E")[1] == frozenset()
