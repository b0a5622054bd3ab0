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
_COMMENT = re.compile(rb"""[ \t]*#[^"'\n]*$""", re.MULTILINE)


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
            source = path.read_bytes()
            archive.writestr(entry, without_comments(source) if name == "pynvml.py" else source)
    data = buffer.getvalue()
    return Bundle(data, hashlib.sha256(data).hexdigest())


def without_comments(source: bytes) -> bytes:
    """Python source with its licence, every line in its place, and no further comments: they are a fifth of pynvml.

    A comment with a quote in it stays: what looks like one may be a string.
    """
    licence, imports, rest = source.partition(b"\nfrom ctypes import")
    return licence + imports + _COMMENT.sub(b"", rest)


def _sources() -> dict[str, Path]:
    root = Path(remote_agent.__path__[0])
    sources = {f"remote_agent/{path.relative_to(root).as_posix()}": path for path in root.rglob("*.py")}
    sources["__main__.py"] = root / "__main__.py"
    nvml = importlib.util.find_spec("pynvml")
    if nvml and nvml.origin:
        sources["pynvml.py"] = Path(nvml.origin)
    return sources
