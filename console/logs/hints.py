"""What a number of rows tells of the phase, by the launch's own numbers: steps, draft tokens, topk.

A target verify has requests × draft tokens rows, a draft extend behind it the accepted ones (v1) or all of them (v2), a
draft step requests × topk, a prefill as many as the prompt has tokens. A hint never changes a verdict on a width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.shape_row import ShapeRow

REQUESTS_LIMIT = 64
"""Requests at once that are thought of where the launch does not limit them."""


@dataclass(frozen=True, slots=True)
class Batching:
    """The numbers of a launch by which rows are explained; None where they are not known."""

    draft_tokens: int | None = None
    topk: int | None = None
    max_requests: int | None = None

    @classmethod
    def of(cls, server_args: Mapping[str, object]) -> Batching:
        """Read the fields of a `server_args` record."""
        names = ("speculative_num_draft_tokens", "speculative_eagle_topk", "max_running_requests")
        numbers = (server_args.get(name) for name in names)
        return cls(*(number if isinstance(number, int) and number > 0 else None for number in numbers))


def hint(row: ShapeRow, batching: Batching) -> str:
    """Say what a row's first dimensions are: `6, 12: whole verify of 1, 2 requests; 1433: prefill`, empty if none."""
    said: dict[str, list[tuple[int, int]]] = {}
    for rows, _ in sorted(row.row_counts):
        what, requests = _explained(rows, row.mode, batching)
        if what:
            said.setdefault(what, []).append((rows, requests))
    return "; ".join(_told(what, pairs) for what, pairs in said.items())


def _told(what: str, pairs: list[tuple[int, int]]) -> str:
    rows = ", ".join(str(number) for number, _ in pairs)
    if not pairs[0][1]:
        return f"{rows}: {what}"
    requests = ", ".join(str(number) for _, number in pairs)
    return f"{rows}: {what} of {requests} request{'' if requests == '1' else 's'}"


def _explained(rows: int, mode: str | None, batching: Batching) -> tuple[str, int]:
    """What `rows` are, and of how many requests (0: not to be told)."""
    drafts, topk = batching.draft_tokens, batching.topk or 1
    if rows <= 0:
        return "", 0
    if mode in {"EXTEND", "MIXED"}:
        return "prefill", 0
    if mode == "DRAFT_EXTEND":
        return "accepted tokens", 0
    if mode == "DECODE":
        return ("draft step", rows // topk) if rows % topk == 0 else ("", 0)
    if drafts is None:
        return "", 0
    if rows % drafts == 0 and rows // drafts <= (batching.max_requests or REQUESTS_LIMIT):
        return "whole verify", rows // drafts
    if mode is not None and not mode.isdecimal():
        return "", 0
    if rows < drafts:
        return ("draft step", 1) if rows == topk else ("", 0)
    return "prefill", 0
