"""Build the agent's zip from the installed sources: deterministic, so that its hash names it."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import remote_agent

_EPOCH = (1980, 1, 1, 0, 0, 0)

_LONG = rb'"""[^"\\]*(?:(?:\\.|"{1,2}(?!"))[^"\\]*)*"""'
_LEXEMES = re.compile(
    rb"(?P<docstring>^[ \t]*%s[ \t]*$)" % _LONG
    + rb"|(?P<string>%s|%s" % (_LONG, _LONG.replace(b'"', b"'"))
    + rb"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*')"""
    + rb"|(?P<comment>[ \t]*#[^\n]*)",
    re.MULTILINE | re.DOTALL,
)
"""Strings and comments of a source, in their order: a `#` in a string is never met, nor a quote in a comment."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The zip and its SHA-256."""

    data: bytes
    sha256: str


@functools.lru_cache(maxsize=1)
def build() -> Bundle:
    """Zip remote_agent and pynvml; the same sources give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in sorted(_sources().items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, _shipped(name, path.read_bytes()))
    data = buffer.getvalue()
    return Bundle(data, hashlib.sha256(data).hexdigest())


def without_prose(source: bytes) -> bytes:
    """Return Python source without comments, its docstrings empty, every line in its place.

    What the node's Python never reads is a third of the upload; a traceback still names the right line. Empty, not
    gone: a docstring may be all that a class or a module holds. The lexemes are read and not the syntax tree: that
    takes ten times as long, at each start of the console; the tests hold the tree of every file against its source's.
    """
    return _LEXEMES.sub(_without_prose, source)


def _without_prose(lexeme: re.Match[bytes]) -> bytes:
    text = lexeme[0]
    if lexeme.lastgroup == "comment":
        return b""
    if lexeme.lastgroup == "docstring":
        indent = text[: len(text) - len(text.lstrip(b" \t"))]
        return indent + b'""' + b"\n" * text.count(b"\n")
    return text


def _shipped(name: str, source: bytes) -> bytes:
    if name != "pynvml.py":
        return without_prose(source)
    licence, imports, rest = source.partition(b"\nfrom ctypes import")
    return licence + imports + without_prose(rest)


def _sources() -> dict[str, Path]:
    root = Path(remote_agent.__path__[0])
    sources = {f"remote_agent/{path.relative_to(root).as_posix()}": path for path in root.rglob("*.py")}
    sources["__main__.py"] = root / "__main__.py"
    nvml = importlib.util.find_spec("pynvml")
    if nvml and nvml.origin:
        sources["pynvml.py"] = Path(nvml.origin)
    return sources
