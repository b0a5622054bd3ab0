"""RECORD and METADATA of an installed distribution, as bytes somebody else wrote. Pure.

RECORD is CSV: path, `sha256=` and the digest in URL-safe base64 without padding, size
(packaging.python.org/specifications/recording-installed-packages). Paths in it are compared, never opened.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
from typing import Dict, Optional

MAX_ROWS = 200_000


class RecordError(Exception):
    """It is no RECORD; the text says why."""


def sources(data: bytes, package: str) -> Dict[str, Optional[str]]:
    """Python sources of `package` by path in it: SHA-256 in hex, None where RECORD holds no such hash.

    Raises RecordError.
    """
    found: Dict[str, Optional[str]] = {}
    prefix = package + "/"
    try:
        rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        for count, row in enumerate(rows):
            if count >= MAX_ROWS:
                raise RecordError(f"it has more than {MAX_ROWS} rows")
            if row and row[0].startswith(prefix) and row[0].endswith(".py"):
                found[row[0][len(prefix) :]] = _hex(row[1]) if len(row) > 1 else None
    except (csv.Error, UnicodeDecodeError) as error:
        raise RecordError(str(error)) from None
    return found


def version(metadata: bytes) -> Optional[str]:
    """The version that METADATA gives; None when it gives none."""
    for line in metadata.decode("utf-8", "replace").splitlines():
        if not line.strip():
            return None
        name, colon, value = line.partition(":")
        if colon and name.strip().lower() == "version":
            return value.strip()[:100] or None
    return None


def _hex(field: str) -> Optional[str]:
    name, _, digest = field.partition("=")
    if name != "sha256":
        return None
    try:
        raw = base64.b64decode(digest.rstrip("=") + "=" * (-len(digest.rstrip("=")) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw.hex() if len(raw) == 32 else None
