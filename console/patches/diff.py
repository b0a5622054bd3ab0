"""Unified diffs of source bytes, for showing. Hostile text: whoever draws it escapes it."""

from __future__ import annotations

import difflib


def unified(path: str, old: bytes, new: bytes, *, new_file: bool = False) -> str:
    """Return the difference of a file of the `sglang` package as `diff -u` writes it beside that package's folder.

    Bytes that are not UTF-8 show as U+FFFD, CR ends stay.
    """
    before = "/dev/null" if new_file else f"a/sglang/{path}"
    parts = difflib.unified_diff(_lines(old), _lines(new), before, f"b/sglang/{path}")
    return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)


def _lines(data: bytes) -> list[str]:
    return [line.decode("utf-8", "replace") for line in data.splitlines(keepends=True)]
