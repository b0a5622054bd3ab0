"""Value summaries of prints, by the name of the tensor: the newest, the largest, and whether a NaN was among them."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, cast

from console.logs.shapes import tells_not_finite

if TYPE_CHECKING:
    from console.logs.prints import Tensor
    from console.logs.record import Record

NAMES_LIMIT = 256

Values = tuple[tuple[str, float], ...]


@dataclass(slots=True)
class ValueRow:
    """What was printed of one tensor's values."""

    name: str | None
    first_offset: int
    last_offset: int = 0
    count: int = 0
    values: Values = ()
    """The newest."""
    peak: float | None = None
    """The largest |max| or |min| ever: a missing norm shows here, not in a shape."""
    not_finite: int = 0
    """Lines that told of a NaN or an infinity."""


class ValueTable:
    """Folds records of kind `tensor_values`, and `tensor_shape` records whose prints hold values."""

    def __init__(self) -> None:
        self._rows: dict[str | None, ValueRow] = {}

    def fold(self, record: Record) -> None:
        fields = record.fields
        if record.kind == "tensor_values":
            self._put(cast("str", fields["name"]), cast("Values", fields["values"]), record.offset)
            return
        for tensor in cast("tuple[Tensor, ...]", fields.get("tensors", ())):
            if tensor.values:
                self._put(tensor.name, tensor.values, record.offset)

    def rows(self) -> tuple[ValueRow, ...]:
        """In the order in which the names came."""
        return tuple(self._rows.values())

    def _put(self, name: str | None, values: Values, offset: int) -> None:
        row = self._rows.get(name)
        if row is None:
            if len(self._rows) >= NAMES_LIMIT:
                return
            row = self._rows[name] = ValueRow(name, offset)
        row.count += 1
        row.last_offset, row.values = offset, values
        row.not_finite += tells_not_finite(values)
        sizes = [abs(number) for kind, number in values if kind in {"max", "min", "absmax"} and isfinite(number)]
        row.peak = max([*sizes, *([row.peak] if row.peak is not None else [])], default=None)
