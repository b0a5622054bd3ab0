"""A Python source as bytes: its lines, its encoding and its syntax tree, with every refusal named.

Lines are counted as the Python tokenizer counts them (LF, CRLF and a lone CR end a line; form feeds do not),
so that a node's `lineno` is an index here. The bytes are never decoded and encoded again.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import warnings
from dataclasses import dataclass

from console.patches.refusals import Conflict

MAX_BYTES = 4 * 1024 * 1024
"""Input cap. The largest model file of SGLang 0.5.23 has about 250 kB."""

ENCODINGS = frozenset({"utf-8", "utf-8-sig", "ascii", "iso-8859-1"})
"""Encodings in which ASCII bytes mean ASCII characters everywhere, so that a line can be put in as bytes."""

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """A text that parsed: `lines` keep their line ends, and joined give the bytes back."""

    lines: tuple[bytes, ...]
    encoding: str
    tree: ast.Module

    def utf8_line(self, number: int) -> bytes:
        """Return line `number` (from 1), without its end, in the UTF-8 that `col_offset` counts in."""
        line = self.lines[number - 1].rstrip(b"\r\n")
        if number == 1:
            line = line.removeprefix(BOM)
        if self.encoding == "iso-8859-1":
            return line.decode("iso-8859-1").encode()
        return line

    def line_end(self, number: int) -> bytes:
        """Return the line end in use at line `number`: its own, else that of the line before, else LF."""
        for line in (self.lines[number - 1], self.lines[number - 2] if number > 1 else b""):
            body = line.rstrip(b"\r\n")
            if body != line:
                return line[len(body) :]
        return b"\n"


def read(data: bytes) -> Source:
    """Parse `data`; raise Conflict for a text that is too big, oddly encoded, or not Python to this interpreter."""
    if len(data) > MAX_BYTES:
        raise Conflict(f"the file has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    encoding = _encoding(data)
    return Source(tuple(data.splitlines(keepends=True)), encoding, parse(data))


def parse(data: bytes, *, compiled: bool = False) -> ast.Module:
    """Return the tree of `data`, having compiled it too if asked; raise Conflict where it is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in the node's file is not ours to report
            tree = ast.parse(data)
            if compiled:
                compile(tree, "<patched>", "exec", dont_inherit=True)
            return tree
    except SyntaxError as error:
        raise Conflict(f"line {error.lineno}: {error.msg} (read as Python {_version()})") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Conflict(f"the file cannot be parsed: {error or type(error).__name__}") from error


def same(left: ast.AST, right: ast.AST) -> bool:
    """Compare two trees but for positions, without recursion: an elif chain may be thousands deep."""
    pending: list[tuple[object, object]] = [(left, right)]
    while pending:
        a, b = pending.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, ast.AST):
            pending += [(getattr(a, field, None), getattr(b, field, None)) for field in a._fields]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            pending += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


def _encoding(data: bytes) -> str:
    try:
        name, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise Conflict(f"the encoding of the file is not usable: {error.msg}") from error
    if name not in ENCODINGS:
        raise Conflict(f"the file is encoded in {name}; lines are put in only in {', '.join(sorted(ENCODINGS))}")
    return name


def _version() -> str:
    return ".".join(map(str, sys.version_info[:2]))
