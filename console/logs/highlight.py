"""Which stretches of a line to bring out: plain offsets with the names of styles, for whoever draws. Never markup."""

from __future__ import annotations

import re
from typing import Literal

Style = Literal["site", "shape", "number", "error", "rank", "secret"]
Span = tuple[int, int, Style]

HIGHLIGHT_LIMIT = 4096
"""Characters of a line that are looked at; a screen shows a few hundred."""

_SECRET_VALUE = (
    r"(?<=api_key=')[^']+|(?<=api_key': ')[^']+"
    r"|(?<=--api[-_]key )[^\s'\"]+|(?<=--api[-_]key=)[^\s'\"]+|(?<=--api[-_]key', ')[^']+"
)
_SECRET = re.compile(_SECRET_VALUE)
_SPAN = re.compile(
    r"(?P<site>\b(?:target|logits|draft)\.(?:aux|cat_in|stored|hidden|fc_in|fc_out)\b)"
    r"|(?P<shape>(?:torch\.Size\()?[(\[]\d{1,15}(?:, ?\d{1,15}){0,15},?[)\]]\)?)"
    r"|(?P<rank>\b(?:DP|PP|TP|EP|ATTN_CP|MOE_DP)\d{1,6}\b|\brank[ =]?\d{1,6}\b)"
    r"|(?P<error>\b[A-Z]\w{0,60}(?:Error|Exception)\b|\bTraceback\b|\bERROR\b|\bSIG(?:QUIT|TERM|KILL)\b"
    r"|\bshapes cannot be multiplied\b|\bout of memory\b)"
    r"|(?P<number>(?:(?<=accept len: )|(?<=accept rate: )|(?<=gen throughput \(token/s\): ))\d[\d.]{0,15})"
)
_SPAN_OR_SECRET = re.compile(f"(?P<secret>{_SECRET_VALUE})|{_SPAN.pattern}")
"""Takes three times as long: looks behind itself at every character."""


def spans(text: str) -> list[Span]:
    """Return (start, end, style) in order, without overlaps; `secret` is to be masked."""
    pattern = _SPAN_OR_SECRET if _may_have_secret(text) else _SPAN
    return [
        (match.start(), match.end(), match.lastgroup)  # type: ignore[misc]
        for match in pattern.finditer(text, 0, HIGHLIGHT_LIMIT)
    ]


def without_secrets(text: str) -> str:
    """Return the text with every secret value masked: what may be shown or exported."""
    return _SECRET.sub("***", text) if _may_have_secret(text) else text


def _may_have_secret(text: str) -> bool:
    return "api_key" in text or "--api-key" in text
