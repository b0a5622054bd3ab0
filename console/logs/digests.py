"""What digest records say together: states captured twice, states that do not arrive, embeddings, NaNs.

Records of one call share rank, model and `seq`. A call of target.aux is held against the next call of draft.fc_in on
the same rank that has as many states with as many rows: what was captured must arrive with the same checksums, in
order.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.record import Record

RANKS_LIMIT = 256
STATES_LIMIT = 64
FINDINGS_LIMIT = 200
EMBEDDING_SHARE = 0.5
"""Share of rows from which a state is the embedding: a layer's output has none."""

Kind = Literal["equal-states", "sums-differ", "embedding", "not-finite"]


@dataclass(frozen=True, slots=True)
class DigestFinding:
    """One thing that is not as it should be, over all calls in which it was seen."""

    kind: Kind
    site: str
    text: str
    offset: int
    """Of the first such call's record."""
    count: int
    of: int
    """Calls that were looked at for it."""


@dataclass(slots=True)
class _Call:
    """The states of one forward pass at one site."""

    site: str
    seq: object
    mode: str | None
    offset: int
    of: int
    sums: dict[int, str] = field(default_factory=dict)
    rows: int | None = None

    @property
    def is_whole(self) -> bool:
        return len(self.sums) == self.of

    @property
    def in_order(self) -> tuple[str, ...]:
        return tuple(self.sums[state] for state in sorted(self.sums))


@dataclass(slots=True)
class _Tally:
    offset: int
    count: int = 0


class Digests:
    """Folds digest records."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """A new launch."""
        self.records = 0
        self.compared = 0
        """Calls of target.aux and draft.fc_in that were held against each other."""
        self.capturing = False
        """True when some forward was only captured into a graph: there nothing could be read."""
        self._looked_at: dict[tuple[Kind, str], int] = {}
        self._found: dict[tuple[Kind, str, str], _Tally] = {}
        self._open: dict[tuple[int, str], _Call] = {}
        self._captured: dict[int, _Call] = {}

    def fold(self, record: Record) -> None:
        """Take in a record of kind `eagle3_digest`."""
        fields = record.fields
        site, state, of = fields.get("site"), fields.get("state"), fields.get("of")
        self.records += 1
        self.capturing = self.capturing or fields.get("capturing") is True
        rank = record.rank or 0
        if not isinstance(site, str) or not isinstance(fields.get("sum32"), str) or not 0 <= rank < RANKS_LIMIT:
            return
        number, count = _int(state), _int(of)
        if number is None or count is None or not 0 <= number < count <= STATES_LIMIT:
            return
        self._values(record, site, number, fields)
        call = self._call(record, rank, site, count)
        call.sums[number] = str(fields["sum32"])
        if call.is_whole:
            del self._open[rank, site]
            self._whole(rank, call)

    def findings(self) -> tuple[DigestFinding, ...]:
        """The most frequent first."""
        found = [
            DigestFinding(kind, site, text, tally.offset, tally.count, self._looked_at.get((kind, site), tally.count))
            for (kind, site, text), tally in self._found.items()
        ]
        return tuple(sorted(found, key=lambda one: -one.count))

    def to_json(self) -> dict[str, object]:
        return {
            "records": self.records,
            "compared": self.compared,
            "capturing": self.capturing,
            "findings": [asdict(one) for one in self.findings()],
        }

    def _call(self, record: Record, rank: int, site: str, of: int) -> _Call:
        seq, mode, rows = (record.fields.get(name) for name in ("seq", "mode", "rows"))
        call = self._open.get((rank, site))
        if call is None or (call.seq, call.of) != (seq, of):
            call = _Call(site, seq, mode if isinstance(mode, str) else None, record.offset, of, rows=_int(rows))
            if (rank, site) in self._open or len(self._open) < RANKS_LIMIT * 4:
                self._open[rank, site] = call
        self._open.setdefault((rank, site), call)
        return call

    def _values(self, record: Record, site: str, state: int, fields: Mapping[str, object]) -> None:
        self._look("not-finite", site)
        if nan := _int(fields.get("nan")):
            self._find("not-finite", site, f"state {state} holds NaNs", record.offset)
        embed, rows = _int(fields.get("embed")), _int(fields.get("read")) or _int(fields.get("rows"))
        if embed is not None and rows and not nan:
            self._look("embedding", site)
            if embed / rows > EMBEDDING_SHARE:
                self._find("embedding", site, f"state {state} is the embedding of its own tokens", record.offset)

    def _whole(self, rank: int, call: _Call) -> None:
        if call.of > 1:
            self._look("equal-states", call.site)
            for first, second in _equal(call.in_order):
                self._find("equal-states", call.site, f"states {first} and {second} are the same", call.offset)
        if call.site == "target.aux":
            self._captured[rank] = call
        elif call.site == "draft.fc_in":
            self._compare(rank, call)

    def _compare(self, rank: int, arrived: _Call) -> None:
        """Hold what enters the draft against what the target captured last; calls of other sizes are not comparable."""
        left = self._captured.get(rank)
        if left is None or (left.of, left.rows) != (arrived.of, arrived.rows):
            return
        del self._captured[rank]
        self.compared += 1
        self._look("sums-differ", arrived.site)
        if left.in_order == arrived.in_order:
            return
        is_order = sorted(left.in_order) == sorted(arrived.in_order)
        what = "the captured states arrive in another order" if is_order else "other states arrive than were captured"
        self._find("sums-differ", arrived.site, what, arrived.offset)

    def _look(self, kind: Kind, site: str) -> None:
        if (kind, site) in self._looked_at or len(self._looked_at) < FINDINGS_LIMIT:
            self._looked_at[kind, site] = self._looked_at.get((kind, site), 0) + 1

    def _find(self, kind: Kind, site: str, text: str, offset: int) -> None:
        if (kind, site, text) in self._found or len(self._found) < FINDINGS_LIMIT:
            self._found.setdefault((kind, site, text), _Tally(offset)).count += 1


def _equal(sums: tuple[str, ...]) -> list[tuple[int, int]]:
    """Pairs of states with one checksum, each later state with the first that it equals."""
    return [(sums.index(one), at) for at, one in enumerate(sums) if sums.index(one) < at]


def _int(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) else None
