"""Judge the shape rows of a server by what its run record says of the checkpoint and the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.wiring.widths import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from console.logs.shapes import ShapeRow


def judge_of(record: Mapping[str, Any]) -> Callable[[ShapeRow], Verdict]:
    """The judge for a run record (see launch_server); with an empty one every width is unknown."""
    wiring = record.get("wiring") or {}
    expect = ((record.get("profile") or {}).get("expect") or {}).get("widths") or {}

    def of_row(row: ShapeRow) -> Verdict:
        return judge(
            row,
            wiring.get("hidden_size"),
            wiring.get("captures_expected"),
            expect,
            wiring.get("draft_hidden_size"),
        )

    return of_row


def tp_size_of(record: Mapping[str, Any]) -> int | None:
    """How many ranks must report."""
    value = (record.get("profile") or {}).get("tp_size")
    return value if isinstance(value, int) else None
