"""A row of the shape table, and how its shapes are written: `3 × (n, 7168)`, `n in 1…6`."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Literal, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Pattern = tuple[int | None, ...]
"""Dimensions with None where they vary."""
Span = tuple[int, int]
Stage = Literal["capture", "warm-up", ""]
"""Before a server is ready its graphs are captured, or it loads and warms up. Empty: it serves, or it is not known."""

_LETTERS = "nm" + "".join(letter for letter in ascii_lowercase if letter not in "nmlo")


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
    offset: int | None = None
    """Byte offset of the newest line with this shape."""


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
    spans: tuple[Span, ...] = ()
    """Lowest and highest of each dimension that varies, in the order of reading."""
    row_counts: tuple[tuple[int, int], ...] = ()
    """First dimensions seen most: (rows, lines), the most frequent first."""
    first_offset: int = 0
    last_offset: int = 0
    """Byte offsets of the first and of the newest raw line."""
    first_seen: str | None = None
    """The log's time at the first line: the last time that a head told before it."""
    changed_offset: int = 0
    last_changed: str | None = None
    """Where and when the row last got a new shape, dtype or rank."""
    rate: float | None = None
    """Lines per second of late; None before it is known."""
    captured: int = 0
    """Lines that came before the server was ready."""
    phase: Stage = ""
    """Where all its lines come from, if not from serving."""
    values: tuple[tuple[str, float], ...] = ()
    """What the newest line that told values told: max, min, mean, std, and how many are nan or inf."""
    not_finite: int = 0
    """Lines that told of a NaN or an infinity."""

    @property
    def shapes(self) -> tuple[Pattern, ...]:
        """The shape of the tensor, or of each tensor of a list."""
        return cast("tuple[Pattern, ...]", self.shape) if self.is_list else (cast("Pattern", self.shape),)

    @property
    def widths(self) -> Pattern:
        """The last dimension of the tensor, or of each tensor of a list."""
        return tuple(shape[-1] if shape else None for shape in self.shapes)

    @property
    def text(self) -> str:
        """The shapes in words: `(n, 21504)`, `3 × (n, 7168)`, `[(n, 7168), (n, 4096)]`."""
        letters = self._letters()
        written = [_written(shape, letters) for shape in self.shapes]
        if not self.is_list:
            return written[0]
        if not written:
            return "[]"
        same = len(set(self.shapes)) == 1 and len({self._spans_of(at) for at in range(len(written))}) == 1
        if same:
            return f"{len(written)} × {written[0]}"
        return f"[{', '.join(written)}]"

    @property
    def where(self) -> str:
        """What the letters of `text` stand for: `n in 1…6`; empty when no dimension varies."""
        named: dict[Span, str] = {}
        for span, letter in zip(self.spans, self._letters(), strict=False):
            named.setdefault(span, letter)
        return ", ".join(f"{letter} in {low}…{high}" for (low, high), letter in named.items())

    @property
    def example_offset(self) -> int:
        """Byte offset of the raw line to look at: of a rank that differs where there is one."""
        differing = next((one.offset for one in self.differing_ranks if one.offset is not None), None)
        return self.last_offset if differing is None else differing

    def _letters(self) -> Iterator[str]:
        """One letter for each dimension that varies; dimensions with the same span vary together as a rule."""
        known: dict[Span, str] = {}
        varying = sum(shape.count(None) for shape in self.shapes)
        spans = self.spans if len(self.spans) == varying else [(at, at) for at in range(varying)]
        for span in spans:
            yield known.setdefault(span, _LETTERS[min(len(known), len(_LETTERS) - 1)])

    def _spans_of(self, at: int) -> tuple[Span, ...]:
        before = sum(shape.count(None) for shape in self.shapes[:at])
        return self.spans[before : before + self.shapes[at].count(None)]


def to_json(row: ShapeRow, verdict: RowVerdict | None) -> dict[str, object]:
    """The form of `logs --shapes --json`; without a verdict it is `unknown`."""
    return {
        "site": row.site,
        "model": row.model,
        "mode": row.mode,
        "ranks": row.ranks,
        "shape": _plain(row.shape),
        "dtype": row.dtype,
        "count": row.count,
        "differing_ranks": [{"rank": one.rank, "shape": _plain(one.shape)} for one in row.differing_ranks],
        "text": row.text,
        "where": row.where,
        "rate": row.rate,
        "first_offset": row.first_offset,
        "last_offset": row.last_offset,
        "captured": row.captured,
        "phase": row.phase,
        "not_finite": row.not_finite,
        "verdict": verdict.state if verdict else "unknown",
        "sentence": verdict.sentence if verdict else "",
    }


def _written(shape: Pattern, letters: Iterator[str]) -> str:
    dims = [next(letters) if dim is None else str(dim) for dim in shape]
    return f"({', '.join(dims)})" if len(dims) != 1 else f"({dims[0]},)"


def _plain(shape: Iterable[object]) -> list[object]:
    return [_plain(part) if isinstance(part, tuple) else part for part in shape]
