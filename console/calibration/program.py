"""The program that writes a pair on a node: the files of `runtime/`, as one zip that a Python runs.

The only place that reads them, from this package's own data.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import io
import zipfile
from dataclasses import dataclass

NAMES = ("__main__.py", "attention.py", "forward.py", "layout.py", "tokens.py", "weights.py", "writer.py")
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Program:
    """The zip and its SHA-256."""

    data: bytes
    sha256: str


@functools.cache
def program() -> Program:
    """Zip the runtime files; the same sources give the same bytes."""
    folder = importlib.resources.files("console.calibration").joinpath("runtime")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in NAMES:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), folder.joinpath(name).read_bytes(), zipfile.ZIP_DEFLATED)
    data = buffer.getvalue()
    return Program(data, hashlib.sha256(data).hexdigest())
