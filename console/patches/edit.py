"""Whole lines put into a source and taken out again, byte for byte.

`insert` gives a new text in which every old byte stands as it was; `strip` undoes it; `check` proves on the syntax
trees that nothing but the inserted lines differs. A place where a line of its own cannot stand is a Conflict.
"""

from __future__ import annotations

import ast
import io
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from console.patches import source
from console.patches.refusals import Conflict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.patches.source import Source

Where = Literal["before", "after", "decorate"]
"""`decorate`: directly above the `def` of a function, so innermost: what it wraps is the function as written."""

_MARKED = re.compile(rb"([ \t\f]*)(@?).*  # spec-console ([a-z0-9-]+)[\r\n]*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A line to put in: before line `number` of the old text (from 1, or one past the last line)."""

    number: int
    indent: bytes
    code: str
    end: bytes

    def __bytes__(self) -> bytes:
        return self.indent + self.code.encode("ascii") + self.end


def line(text: Source, statement: ast.stmt, where: Where, code: str) -> Line:
    """Return `code` (one line, ASCII, ending in its mark) as a sibling of `statement`, indented as that is.

    Among lines of other patches at the same place it stands in the order of their ids, so that a text does not depend
    on which patch was applied first.
    """
    indent = _indent(text, statement)
    if where != "after":
        if statement.lineno == 1 and text.lines[0].startswith(source.BOM):
            raise Conflict("line 1 begins with a byte order mark, so no line can precede it")
        return _above(text, Line(statement.lineno, indent, code, text.line_end(statement.lineno)))
    last = statement.end_lineno or statement.lineno
    rest = text.utf8_line(last)[statement.end_col_offset :].strip().removeprefix(b";").strip()
    if rest and not rest.startswith(b"#"):
        raise Conflict(f"line {last} goes on after the statement, so no line can follow it")
    return _below(text, Line(last + 1, indent, code, text.line_end(last)))


def insert(text: Source, lines: Sequence[Line]) -> bytes:
    """Return the bytes of `text` with `lines` put in, in the order given where two go to the same place."""
    out = io.BytesIO()
    for number, old in enumerate(text.lines, start=1):
        for new in lines:
            if new.number == number:
                out.write(bytes(new))
        out.write(old)
    tail = [new for new in lines if new.number == len(text.lines) + 1]
    if tail and not text.lines[-1].endswith((b"\n", b"\r")):
        end = tail[-1].end
        return out.getvalue() + end + b"".join(map(bytes, tail)).removesuffix(end)
    return out.getvalue() + b"".join(map(bytes, tail))


def strip(data: bytes, mark: str) -> bytes:
    """Return `data` without the lines that end in `mark`: for any text `insert` made, the bytes it was made from.

    For comparing only. What is written back to a node are the original's own bytes.
    """
    old = data.splitlines(keepends=True)
    kept = [one for one in old if not one.rstrip(b"\r\n").endswith(mark.encode())]
    if kept and len(kept) < len(old) and not old[-1].endswith((b"\n", b"\r")) and kept[-1] is not old[-1]:
        kept[-1] = kept[-1].rstrip(b"\r\n")
    return b"".join(kept)


def check(old: Source, new: bytes, lines: Sequence[Line], mark: str) -> None:
    """Raise Conflict unless `new` compiles, loses its `lines` to `strip`, and differs from `old` by them alone."""
    tree = source.parse(new, compiled=True)
    if strip(new, mark) != b"".join(old.lines):
        raise Conflict("lines of this file carry the patch's own mark already")
    places = sorted(one.number for one in lines)
    _remove(tree, {number + index for index, number in enumerate(places)})
    if not source.same(tree, old.tree):
        raise Conflict("the patched text would mean something else beyond the inserted lines")


def _above(text: Source, new: Line) -> Line:
    number = new.number
    while number > 1 and _order(text.lines[number - 2], new) > 0:
        number -= 1
    return replace(new, number=number)


def _below(text: Source, new: Line) -> Line:
    number = new.number
    while number <= len(text.lines) and _order(text.lines[number - 1], new) < 0:
        number += 1
    return replace(new, number=number)


def _order(old: bytes, new: Line) -> int:
    """Say whether `old` is a line of an earlier patch (-1) or a later one (1) than `new`, else 0."""
    theirs, ours = _MARKED.match(old), _MARKED.match(bytes(new))
    if theirs is None or ours is None or theirs.group(1, 2) != ours.group(1, 2):
        return 0
    return (theirs[3] > ours[3]) - (theirs[3] < ours[3])


def _indent(text: Source, statement: ast.stmt) -> bytes:
    number = statement.lineno
    start = text.utf8_line(number)
    indent, rest = start[: statement.col_offset], start[statement.col_offset :]
    if indent.strip():
        raise Conflict(f"line {number} begins with something else before the statement, so no line can precede it")
    if isinstance(statement, ast.If) and rest.startswith(b"elif"):
        raise Conflict(f"line {number} is an elif branch, which has no place of its own")
    if number > 1 and text.lines[number - 2].rstrip(b"\r\n").endswith(b"\\"):
        raise Conflict(f"line {number} continues line {number - 1}, so no line can stand between them")
    return indent


def _remove(tree: ast.Module, numbers: set[int]) -> None:
    """Take out of `tree` the statements and decorators that start on the lines `numbers`."""
    blocks = [tree.body]
    while blocks:
        block = blocks.pop()
        block[:] = [node for node in block if node.lineno not in numbers]
        for node in block:
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            decorators[:] = [one for one in decorators if one.lineno not in numbers]
            blocks += [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
            blocks += [part.body for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]
