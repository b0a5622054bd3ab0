"""Judge the shape rows of a server by what its run record says of the checkpoint and the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.wiring.widths import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from console.logs.shapes import ShapeRow


def judge_of(record: Mapping[str, Any]) -> Callable[[ShapeRow], Verdict]:
    """The judge for a run record (see launch_server, log_record); with an empty one every width is unknown.

    `unwired` of the record says why that is.
    """
    wiring = record.get("wiring") or {}
    expect = ((record.get("profile") or {}).get("expect") or {}).get("widths") or {}

    hidden_size, captures = wiring.get("hidden_size"), wiring.get("captures_expected")
    why = record.get("unwired") if hidden_size is None or captures is None else ""

    def of_row(row: ShapeRow) -> Verdict:
        verdict = judge(row, hidden_size, captures, expect, wiring.get("draft_hidden_size"))
        return Verdict("unknown", why) if why and verdict.state == "unknown" else verdict

    return of_row


def tp_size_of(record: Mapping[str, Any]) -> int | None:
    """How many ranks must report."""
    value = (record.get("profile") or {}).get("tp_size")
    return value if isinstance(value, int) else None
