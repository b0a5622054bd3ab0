"""How many examples a property is tried on: all with SPEC_CONSOLE_FULL=1, a fourth of them on every change."""

from __future__ import annotations

import os

FULL = os.environ.get("SPEC_CONSOLE_FULL") == "1"
PART = 4


def examples(full: int) -> int:
    return full if FULL else -(-full // PART)
