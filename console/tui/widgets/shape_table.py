"""The shape table: rows of a log's reading as rows of a table, and what is to be said of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.tui.text import tone_of
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE, format_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.logs.shape_row import RowVerdict, ShapeRow
    from console.tui.text import Line


def shape_table() -> Table:
    """An empty one; columns that are rather read than watched stand where there is room."""
    return Table(
        "shapes",
        Column("site"),
        Column("model", from_width=110),
        Column("mode"),
        Column("ranks"),
        Column("shape"),
        Column("verdict"),
        Column("count", right=True, from_width=90),
        Column("per s", right=True, from_width=110),
        Column("dtype", from_width=120),
        Column("where", from_width=140),
        Column("why", flex=True, from_width=100),
    )


def key_of(row: ShapeRow) -> str:
    """What tells a row from the others over readings: its shape may come to vary, its place does not."""
    return " ".join(cell or NONE for cell in (row.site, row.model, row.mode)) + f" {row.is_list} {row.widths}"


def row_of(row: ShapeRow, verdict: RowVerdict) -> Row:
    """A row of the table; the cell of a wrong one is red."""
    tone = tone_of(verdict.state)
    differing = ",".join(str(one.rank) for one in row.differing_ranks)
    ranks: Line = (f"{row.ranks} not {differing}", "error") if differing else (row.ranks, "")
    phase = f" ({row.phase})" if row.phase else ""
    return Row(
        key_of(row),
        (
            row.site or NONE,
            row.model or NONE,
            f"{row.mode or NONE}{phase}",
            ranks,
            (row.text, tone if verdict.state == "wrong" else ""),
            (verdict.state, tone),
            f"{row.count:,}",
            format_number(row.rate, 0 if (row.rate or 0) >= 10 else 1),
            row.dtype or NONE,
            row.where or NONE,
            verdict.sentence,
        ),
    )


def said_of(row: ShapeRow, verdict: RowVerdict, hint: str) -> Iterator[Line | str]:
    """All that is known of one row, on a line: why it is judged so first."""
    yield (f"{row.site or NONE}: {verdict.sentence or verdict.state}", tone_of(verdict.state))
    for text in (row.where, hint):
        if text:
            yield f"  {text}"
    if row.not_finite:
        yield (f"  {row.not_finite} lines with NaN or infinity", "error")
    if row.last_changed:
        yield (f"  changed {row.last_changed}", "dim")
    elif row.first_seen:
        yield (f"  since {row.first_seen}", "dim")
