"""What the console knows of one log: last records, counts, the shape table, decode statistics, the launch's phase.

The one deliberately mutable thing of the state: its `version` grows with each change, so holders compare that.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import TYPE_CHECKING

from console.logs.classify import classify
from console.logs.highlight import without_secrets
from console.logs.notable import Notable
from console.logs.overlay import OverlayFold
from console.logs.phases import Cause, LaunchPhase, PhaseFold
from console.logs.record import UNCLAIMED, Record
from console.logs.replay import Replay
from console.logs.shapes import RowVerdict, ShapeRow, ShapeTable
from console.logs.split import LineSplitter
from console.logs.stats import DecodeStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from console.logs.split import RawLine

RECORDS_LIMIT = 50_000
"""Records kept, the newest; the file itself is the full history."""
CHARACTERS_LIMIT = 32_000_000
"""Characters of all records kept: lines may be long."""
SAMPLES_LIMIT = 20
"""Different unclaimed lines kept."""
SAMPLE_LENGTH = 200
"""Characters kept of each."""
_FORM_LENGTH = 40
"""Unclaimed lines that agree in so many characters, digits aside, count as one form."""

_DIGITS = re.compile(r"\d+")


class LogHistory:
    """Takes the bytes of one log, in order, and keeps what they say."""

    def __init__(self, tp_size: int | None = None, records_limit: int = RECORDS_LIMIT) -> None:
        self.version = 0
        """Grows by one with each feeding that brought a record."""
        self.records: deque[Record] = deque()
        self._records_limit = records_limit
        self._characters = 0
        self.counts: Counter[str] = Counter()
        """Records by kind, all that ever came."""
        self.shapes = ShapeTable(tp_size)
        self.stats = DecodeStats()
        self.overlay = OverlayFold()
        self.notable = Notable()
        self.replay = Replay()
        self._splitter = LineSplitter()
        self._phases = PhaseFold()
        self._samples: dict[str, str] = {}

    @property
    def phase(self) -> LaunchPhase:
        """Where the launch stands, by the log alone."""
        return self._phases.phase

    @property
    def cause(self) -> Cause | None:
        """Why the server died, or the exception that nothing useful followed so far."""
        return self._phases.cause

    @property
    def trouble(self) -> int | None:
        """Byte offset of the first sign of trouble since the server last did something useful."""
        return self._phases.trouble

    @property
    def ranks(self) -> str | None:
        """Tensor-parallel ranks that spoke, of those that there are: `2/2`; None where no line names one."""
        if not self.notable.ranks:
            return None
        return f"{len(self.notable.ranks)}/{max(self.shapes.tp_size or 0, max(self.notable.ranks) + 1)}"

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines, for the report of a death."""
        return tuple(self._phases.tail)

    @property
    def missed_bytes(self) -> int:
        """Bytes of the file that were jumped over."""
        return self._splitter.missed_bytes

    def feed(self, offset: int, data: bytes) -> list[Record]:
        """Take in `data`, found at byte `offset` of the file, and return the records that it completed."""
        return self._keep(self._splitter.feed(offset, data))

    def finish(self) -> list[Record]:
        """Take in the half line at the end of the file, if any."""
        return self._keep(self._splitter.finish())

    def reset(self, offset: int = 0) -> list[Record]:
        """Go on at `offset` of a file that was truncated or replaced; what is known stays known."""
        return self._keep(self._splitter.reset(offset))

    def unclaimed(self) -> dict[str, object]:
        """Return how many lines no parser knew, with the first of each form, cut: `{count, samples[]}`."""
        return {"count": self.counts[UNCLAIMED], "samples": [without_secrets(each) for each in self._samples.values()]}

    def to_json(self, judge: Callable[[ShapeRow], RowVerdict] | None = None) -> dict[str, object]:
        """Return the form of `logs --shapes`: shapes, records, unclaimed, stats."""
        return {
            "shapes": self.shapes.to_json(judge),
            "records": dict(sorted(self.counts.items())),
            "unclaimed": self.unclaimed(),
            "stats": self.stats.to_json(),
        }

    def _keep(self, lines: Iterable[RawLine]) -> list[Record]:
        records = [record for line in lines for record in classify(line)]
        for record in records:
            self._fold(record)
        self._remember(records)
        self.version += bool(records)
        return records

    def _remember(self, records: list[Record]) -> None:
        self.records.extend(records)
        self._characters += sum([len(record.text) for record in records])
        while len(self.records) > self._records_limit or self._characters > CHARACTERS_LIMIT:
            self._characters -= len(self.records.popleft().text)

    def _fold(self, record: Record) -> None:
        self.counts[record.kind] += 1
        self.shapes.fold(record)
        self.stats.fold(record)
        self.overlay.fold(record)
        self.replay.fold(record)
        if record.kind == "server_args":
            self.notable.begin_launch(anew=self._phases.is_over)
        self.notable.fold(record)
        self._phases.fold(record)
        if record.kind == "server_args" and self.shapes.tp_size is None:
            self._learn_ranks(record)
        elif record.kind == UNCLAIMED:
            self._sample(record)

    def _learn_ranks(self, record: Record) -> None:
        tp_size, pp_size = record.fields.get("tp_size"), record.fields.get("pp_size", 1)
        if isinstance(tp_size, int) and isinstance(pp_size, int):
            self.shapes.tp_size = tp_size * pp_size

    def _sample(self, record: Record) -> None:
        message = record.text.rpartition("] ")[2] if record.ts else record.text
        form = _DIGITS.sub("#", message[: 2 * _FORM_LENGTH])[:_FORM_LENGTH]
        if len(self._samples) < SAMPLES_LIMIT:
            self._samples.setdefault(form, record.text[:SAMPLE_LENGTH])
