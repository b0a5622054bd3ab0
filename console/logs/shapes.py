"""The shape table: shape lines of all ranks collapsed into rows by site, model and mode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from console.logs.prints import Tensor
    from console.logs.record import Record

KIND = "tensor_shape"
CELLS_LIMIT = 2000
"""Distinct (site, model, mode, structure, width); an instrumented server has some dozens, a wrong print thousands."""

KNOWN_LIMIT = 10_000
"""Different tensors remembered with their cell: prefills bring ever new numbers of rows."""

RANKS_LIMIT = 4096
"""Ranks above are no ranks: a line may say anything."""

Dims = tuple[int, ...]
Pattern = tuple[int | None, ...]
"""Dimensions with None where they vary."""

_FLOW = ("target.aux", "logits.cat_in", "logits.stored", "draft.fc_in", "draft.fc_out")
"""Sites in the order in which the states pass them."""


class RowVerdict(Protocol):
    """What a judge says of a row."""

    @property
    def state(self) -> str: ...

    @property
    def sentence(self) -> str: ...


@dataclass(frozen=True, slots=True)
class DifferingRank:
    """A rank whose last dimension is not the other ranks'."""

    rank: int
    shape: Pattern | tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """One row of the table."""

    site: str | None
    """The site, or the name that a person's print gave, or None."""
    model: str | None
    mode: str | None
    """The forward mode as printed: a name, or a number whose meaning moves between releases."""
    ranks: str
    """`8/8`: ranks that agree, of ranks that there are; `-` when the lines name no rank."""
    shape: Pattern | tuple[Pattern, ...]
    """One shape, or a list of shapes where a list was captured; None for a dimension that varies."""
    dtype: str | None
    """The dtype, several joined by `|`, or None when none was printed."""
    count: int
    """Tensors, or lists of tensors, seen."""
    differing_ranks: tuple[DifferingRank, ...] = ()
    is_list: bool = False
    """True when a list of tensors was captured, an empty one too."""

    @property
    def widths(self) -> Pattern:
        """The last dimension of the tensor, or of each tensor of a list."""
        shapes = cast("tuple[Pattern, ...]", self.shape) if self.is_list else (cast("Pattern", self.shape),)
        return tuple(shape[-1] if shape else None for shape in shapes)


_Row = tuple[str | None, str | None, str | None, bool, tuple[int, ...]]
"""site, model, mode, whether a list, and the number of dimensions of each tensor."""


class _Seen(NamedTuple):
    """Everything of a tensor, or of a list of tensors, that the table tells apart, its rank aside."""

    site: str | None
    model: str | None
    mode: str | None
    is_list: bool
    shapes: tuple[Dims, ...]
    dtype: str | None


@dataclass(slots=True)
class _Cell:
    """All tensors of one row that have the same last dimensions."""

    shapes: tuple[Pattern, ...]
    count: int = 0
    ranks: set[int] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)


class ShapeTable:
    """Folds shape lines into rows. Lines that fit no more (CELLS_LIMIT) are counted in `left_out`."""

    def __init__(self, tp_size: int | None = None) -> None:
        self.tp_size = tp_size
        """Ranks that should speak; None counts up to the highest that did."""
        self.left_out = 0
        self._cells: dict[tuple[_Row, Dims], _Cell] = {}
        self._known: dict[_Seen, _Cell] = {}
        self._highest_rank = -1

    def fold(self, record: Record) -> None:
        """Take in a record; records of other kinds are ignored."""
        if record.kind != KIND:
            return
        fields = record.fields
        if "tensors" in fields:
            for tensor in cast("tuple[Tensor, ...]", fields["tensors"]):
                self._put(_Seen(tensor.name, None, None, False, (tensor.shape,), tensor.dtype), record.rank)
        elif "error" not in fields:
            self._put(_seen(fields), record.rank)

    def rows(self) -> tuple[ShapeRow, ...]:
        """Return the rows, sites in the order of the data flow."""
        groups: dict[_Row, dict[Dims, _Cell]] = {}
        for (row, widths), cell in self._cells.items():
            groups.setdefault(row, {})[widths] = cell
        rows = [made for row, cells in groups.items() for made in self._rows(row, list(cells.values()))]
        return tuple(sorted(rows, key=_order))

    def to_json(self, judge: Callable[[ShapeRow], RowVerdict] | None = None) -> list[dict[str, object]]:
        """Return the rows in the form of `logs --shapes`, each with the judge's verdict (`unknown` without a judge)."""
        return [_json(row, judge(row) if judge else None) for row in self.rows()]

    def _put(self, seen: _Seen, rank: int | None) -> None:
        cell = self._known.get(seen) or self._cell(seen)
        if cell is None:
            self.left_out += 1
            return
        cell.count += 1
        if rank is not None and rank not in cell.ranks and 0 <= rank < RANKS_LIMIT:
            cell.ranks.add(rank)
            self._highest_rank = max(self._highest_rank, rank)

    def _cell(self, seen: _Seen) -> _Cell | None:
        """Return the cell of a tensor that is new in some part; None when the table is full."""
        shapes = seen.shapes
        row: _Row = (*seen[:4], tuple(map(len, shapes)))
        place = (row, tuple(shape[-1] if shape else 0 for shape in shapes))
        cell = self._cells.get(place)
        if cell is None:
            if len(self._cells) >= CELLS_LIMIT:
                return None
            cell = self._cells[place] = _Cell(shapes)
        cell.shapes = tuple(_merged(old, new) for old, new in zip(cell.shapes, shapes, strict=True))
        if seen.dtype:
            cell.dtypes.add(seen.dtype)
        if len(self._known) >= KNOWN_LIMIT:
            self._known.clear()
        self._known[seen] = cell
        return cell

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
        differing = [DifferingRank(rank, _shape(row, other)) for other in others for rank in other.ranks]
        expected = max(self.tp_size or 0, self._highest_rank + 1)
        return ShapeRow(
            site=row[0],
            model=row[1],
            mode=row[2],
            ranks=f"{len(agreed.ranks)}/{expected}" if agreed.ranks else "-",
            shape=_shape(row, agreed),
            dtype="|".join(sorted(set().union(*(cell.dtypes for cell in cells)))) or None,
            count=sum(cell.count for cell in cells),
            differing_ranks=tuple(sorted(differing, key=lambda one: one.rank)),
            is_list=row[3],
        )


def _seen(fields: Mapping[str, Any]) -> _Seen:
    is_list = "shapes" in fields
    shapes = fields["shapes"] if is_list else (fields["shape"],)
    return _Seen(fields["site"], fields["model"], fields["mode"], is_list, shapes, fields["dtype"])


def _merged(old: Pattern, new: Pattern) -> Pattern:
    return tuple(a if a == b else None for a, b in zip(old, new, strict=True))


def _shape(row: _Row, cell: _Cell) -> Pattern | tuple[Pattern, ...]:
    return cell.shapes if row[3] else cell.shapes[0]


def _order(row: ShapeRow) -> tuple[object, ...]:
    place = _FLOW.index(row.site) if row.site in _FLOW else len(_FLOW)
    return (place, row.site or "", row.model or "", row.mode or "", -row.count, str(row.shape))


def _json(row: ShapeRow, verdict: RowVerdict | None) -> dict[str, object]:
    return {
        "site": row.site,
        "model": row.model,
        "mode": row.mode,
        "ranks": row.ranks,
        "shape": _plain(row.shape),
        "dtype": row.dtype,
        "count": row.count,
        "differing_ranks": [{"rank": one.rank, "shape": _plain(one.shape)} for one in row.differing_ranks],
        "verdict": verdict.state if verdict else "unknown",
        "sentence": verdict.sentence if verdict else "",
    }


def _plain(shape: Iterable[object]) -> list[object]:
    return [_plain(part) if isinstance(part, tuple) else part for part in shape]
