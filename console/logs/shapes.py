"""The shape table: shape lines of all ranks collapsed into rows by site, model and mode."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from console.logs.shape_row import DifferingRank, RowVerdict, ShapeRow, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from console.logs.prints import Tensor
    from console.logs.record import Record
    from console.logs.shape_row import Pattern, Stage

__all__ = ["CELLS_LIMIT", "DifferingRank", "RowVerdict", "ShapeRow", "ShapeTable"]

CELLS_LIMIT = 2000
"""Distinct (site, model, mode, structure, width); an instrumented server has some dozens, a wrong print thousands."""
KNOWN_LIMIT = 10_000
"""Different tensors remembered with their cell: prefills bring ever new numbers of rows."""
RANKS_LIMIT = 4096
"""Ranks above are no ranks: a line may say anything."""
ROWS_LIMIT = 64
"""Different first dimensions counted in one cell."""
ROWS_TOLD = 8
RATE_S = 1.0
"""Seconds over which a rate is taken, at least."""

Dims = tuple[int, ...]
FLOW = ("target.aux", "logits.cat_in", "logits.stored", "draft.fc_in", "draft.fc_out")
"""Sites in the order in which the states pass them."""

_Row = tuple[str | None, str | None, str | None, bool, tuple[int, ...]]
"""site, model, mode, whether a list, and the number of dimensions of each tensor."""
_Key = tuple[str | None, str | None, str | None, bool, Any, str | None]
"""Everything of a tensor (its dims), or of a list of tensors, that is told apart, its rank aside."""


@dataclass(slots=True)
class _Cell:
    """All tensors of one row that have the same last dimensions."""

    low: tuple[Dims, ...]
    high: tuple[Dims, ...]
    first_offset: int
    first_seen: str | None
    last_offset: int = 0
    count: int = 0
    ranks: set[int] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    rows: Counter[int] = field(default_factory=Counter)
    before: Counter[str] = field(default_factory=Counter)
    """Lines by the stage in which they came, serving aside."""
    changed_offset: int = 0
    last_changed: str | None = None
    counted: int = 0
    """Lines when the rate was last taken."""
    rate: float | None = None
    values: tuple[tuple[str, float], ...] = ()
    not_finite: int = 0

    @property
    def shapes(self) -> tuple[Pattern, ...]:
        return tuple(
            tuple(a if a == b else None for a, b in zip(low, high, strict=True))
            for low, high in zip(self.low, self.high, strict=True)
        )

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        pairs = (pair for one in zip(self.low, self.high, strict=True) for pair in zip(*one, strict=True))
        return tuple((a, b) for a, b in pairs if a != b)


@dataclass(slots=True)
class _Form:
    """Lines that say the very same, since they were last brought to their cell's account."""

    cell: _Cell
    rows: int | None
    count: int = 0
    offset: int = 0


class ShapeTable:
    """Folds shape lines into rows. Lines that fit no more (CELLS_LIMIT) are counted in `left_out`."""

    def __init__(self, tp_size: int | None = None) -> None:
        self.tp_size = tp_size
        """Ranks that should speak; None counts up to the highest that did."""
        self.left_out = 0
        self.changes = 0
        """Grows by one whenever a row is new, or gets a new shape, dtype or rank."""
        self.ts: str | None = None
        """The log's time, as far as heads told it."""
        self._stage: Stage = ""
        self._cells: dict[tuple[_Row, Dims], _Cell] = {}
        self._known: dict[_Key, _Form] = {}
        self._highest_rank = -1
        self._rated_at: float | None = None

    def fold(self, record: Record) -> None:
        """Take in a record of kind `tensor_shape`."""
        fields = record.fields
        if "tensors" in fields:
            for tensor in cast("tuple[Tensor, ...]", fields["tensors"]):
                cell = self._put((tensor.name, None, None, False, tensor.shape, tensor.dtype), record)
                if tensor.values and cell:
                    cell.values = tensor.values
                    cell.not_finite += tells_not_finite(tensor.values)
        elif "error" not in fields:
            self._put(_key(fields), record)

    def enter(self, stage: Stage) -> None:
        """From now on lines come from this stage of the launch."""
        if stage != self._stage:
            self._settle()
            self._stage = stage

    def tick(self, now: float) -> None:
        """Take the rates anew, when RATE_S have passed; `now` in seconds of any clock that only this call reads."""
        since = self._rated_at
        if since is not None and 0 <= now - since < RATE_S:
            return
        self._settle()
        for cell in self._cells.values():
            if since is not None and now > since:
                cell.rate = (cell.count - cell.counted) / (now - since)
            cell.counted = cell.count
        self._rated_at = now

    def rows(self) -> tuple[ShapeRow, ...]:
        """Return the rows, sites in the order of the data flow."""
        self._settle()
        groups: dict[_Row, list[_Cell]] = {}
        for (row, _), cell in self._cells.items():
            # A rank that captures another number of states than the others is to be told, too.
            groups.setdefault((*row[:4], ()) if row[3] else row, []).append(cell)
        rows = [made for row, cells in groups.items() for made in self._rows(row, cells)]
        return tuple(sorted(rows, key=_order))

    def to_json(self, judge: Callable[[ShapeRow], RowVerdict] | None = None) -> list[dict[str, object]]:
        """Return the rows in the form of `logs --shapes`, each with the judge's verdict (`unknown` without a judge)."""
        return [to_json(row, judge(row) if judge else None) for row in self.rows()]

    def _put(self, key: _Key, record: Record) -> _Cell | None:
        form = self._known.get(key) or self._form(key, record.offset)
        if form is None:
            self.left_out += 1
            return None
        form.count += 1
        form.offset = record.offset
        cell = form.cell
        rank = record.rank
        if rank is not None and rank not in cell.ranks and 0 <= rank < RANKS_LIMIT:
            cell.ranks.add(rank)
            self._highest_rank = max(self._highest_rank, rank)
            self._change(cell, record.offset)
        return cell

    def _form(self, key: _Key, offset: int) -> _Form | None:
        """Return the form of a tensor that is new in some part; None when the table is full."""
        shapes: tuple[Dims, ...] = key[4] if key[3] else (key[4],)
        row: _Row = (*key[:4], tuple(map(len, shapes)))
        place = (row, tuple(shape[-1] if shape else 0 for shape in shapes))
        cell = self._cells.get(place)
        if cell is None:
            if len(self._cells) >= CELLS_LIMIT:
                return None
            cell = self._cells[place] = _Cell(shapes, shapes, offset, self.ts)
            self._change(cell, offset)
        self._widen(cell, shapes, key[5], offset)
        if len(self._known) >= KNOWN_LIMIT:
            self._settle()
            self._known.clear()
        form = self._known[key] = _Form(cell, shapes[0][0] if shapes and shapes[0] else None)
        return form

    def _widen(self, cell: _Cell, shapes: tuple[Dims, ...], dtype: str | None, offset: int) -> None:
        low = tuple(tuple(map(min, old, new)) for old, new in zip(cell.low, shapes, strict=True))
        high = tuple(tuple(map(max, old, new)) for old, new in zip(cell.high, shapes, strict=True))
        if (low, high) != (cell.low, cell.high) or (dtype and dtype not in cell.dtypes and cell.dtypes):
            self._change(cell, offset)
        cell.low, cell.high = low, high
        if dtype:
            cell.dtypes.add(dtype)

    def _change(self, cell: _Cell, offset: int) -> None:
        self.changes += 1
        cell.changed_offset, cell.last_changed = offset, self.ts

    def _settle(self) -> None:
        """Bring what was counted to its cells' account."""
        for form in self._known.values():
            if form.count:
                cell = form.cell
                cell.count += form.count
                cell.last_offset = max(cell.last_offset, form.offset)
                if self._stage:
                    cell.before[self._stage] += form.count
                if form.rows is not None and (form.rows in cell.rows or len(cell.rows) < ROWS_LIMIT):
                    cell.rows[form.rows] += form.count
                form.count = 0

    def _rows(self, row: _Row, cells: list[_Cell]) -> list[ShapeRow]:
        """Collapse the widths of one row: ranks that disagree are named, one rank with two widths makes two rows."""
        cells = sorted(cells, key=lambda cell: (-len(cell.ranks), -cell.count, str(cell.shapes)))
        ranks = [rank for cell in cells for rank in cell.ranks]
        one_width_each = all(cell.ranks for cell in cells) and len(ranks) == len(set(ranks))
        if not one_width_each:
            return [self._row(row, [cell]) for cell in cells]
        return [self._row(row, cells)]

    def _row(self, row: _Row, cells: list[_Cell]) -> ShapeRow:
        """Make a row of the first cell; the ranks of further ones differ from it."""
        agreed, *others = cells
        differing = [DifferingRank(rank, _shape(row, one), one.last_offset) for one in others for rank in one.ranks]
        expected = max(self.tp_size or 0, self._highest_rank + 1)
        first, changed = (
            min(cells, key=lambda cell: cell.first_offset),
            max(cells, key=lambda cell: cell.changed_offset),
        )
        count, before = sum(cell.count for cell in cells), sum((cell.before for cell in cells), Counter())
        rates = [cell.rate for cell in cells if cell.rate is not None]
        return ShapeRow(
            site=row[0],
            model=row[1],
            mode=row[2],
            ranks=f"{len(agreed.ranks)}/{expected}" if agreed.ranks else "-",
            shape=_shape(row, agreed),
            dtype="|".join(sorted(set().union(*(cell.dtypes for cell in cells)))) or None,
            count=count,
            differing_ranks=tuple(sorted(differing, key=lambda one: one.rank)),
            is_list=row[3],
            spans=agreed.spans,
            row_counts=tuple(agreed.rows.most_common(ROWS_TOLD)),
            first_offset=first.first_offset,
            last_offset=max(cell.last_offset for cell in cells),
            first_seen=first.first_seen,
            changed_offset=changed.changed_offset,
            last_changed=changed.last_changed,
            rate=sum(rates) if rates else None,
            captured=before.total(),
            phase=("capture" if before["capture"] else "warm-up") if before.total() == count else "",
            values=next((cell.values for cell in cells if cell.values), ()),
            not_finite=sum(cell.not_finite for cell in cells),
        )


def tells_not_finite(values: tuple[tuple[str, float], ...]) -> bool:
    """Do printed values tell of a NaN or an infinity? `nan=0 inf=0` does not, `mean=nan` does."""
    return any(number != 0 if name in {"nan", "inf"} else not isfinite(number) for name, number in values)


def _key(fields: Mapping[str, Any]) -> _Key:
    is_list = "shapes" in fields
    dims = fields["shapes"] if is_list else fields["shape"]
    return (fields["site"], fields["model"], fields["mode"], is_list, dims, fields["dtype"])


def _shape(row: _Row, cell: _Cell) -> Pattern | tuple[Pattern, ...]:
    return cell.shapes if row[3] else cell.shapes[0]


def _order(row: ShapeRow) -> tuple[object, ...]:
    place = FLOW.index(row.site) if row.site in FLOW else len(FLOW)
    return (place, row.site or "", row.model or "", row.mode or "", -row.count, str(row.shape))
