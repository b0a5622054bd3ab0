"""What the console knows of one log: last records, counts, the shape table, decode statistics, the launch's phase.

The one deliberately mutable thing of the state: its `version` grows with each change, so holders compare that.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from itertools import islice
from typing import TYPE_CHECKING

from console.logs.charts import Charts
from console.logs.classify import classify_all
from console.logs.clock import LogClock
from console.logs.continuation import Continuation
from console.logs.crashes import Crashes
from console.logs.cycles import Cycles
from console.logs.digests import Digests
from console.logs.flow import flow
from console.logs.highlight import without_secrets
from console.logs.hints import Batching
from console.logs.notable import KINDS as NOTABLE_KINDS
from console.logs.notable import Notable
from console.logs.overlay import OverlayFold
from console.logs.phases import NO_SERVER, TAIL_LIMIT, Cause, LaunchPhase, PhaseFold
from console.logs.record import BLANK, GAP_KIND, UNCLAIMED, Record
from console.logs.replay import Replay
from console.logs.shapes import RowVerdict, ShapeRow, ShapeTable
from console.logs.split import LineSplitter
from console.logs.stats import DecodeStats
from console.logs.values import ValueTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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

_OF_ANY_TEXT = frozenset({UNCLAIMED, BLANK, GAP_KIND})
"""Kinds that do not tell that a server wrote the text."""

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
        self.series = Charts(self.stats)
        self.cycles = Cycles()
        self.digests = Digests()
        self.crashes = Crashes()
        self.values = ValueTable()
        self.overlay = OverlayFold()
        self.notable = Notable()
        self.replay = Replay()
        self.batching = Batching()
        """What `server_args=` told of batches: by it numbers of rows are explained."""
        self.server_args: Mapping[str, object] = {}
        """As the log's last launch printed them; empty before."""
        self._splitter = LineSplitter()
        self._continuation = Continuation()
        self._clock = LogClock()
        self._phases = PhaseFold()
        self._samples: dict[str, str] = {}
        self._has_heads = False
        self._folds = self._by_kind()

    @property
    def phase(self) -> LaunchPhase:
        """Where the launch stands, by the log alone; NO_SERVER while no record and no head in it is a server's."""
        is_server = self._has_heads or any(kind not in _OF_ANY_TEXT for kind in self.counts)
        return self._phases.phase if is_server else NO_SERVER

    @property
    def is_over(self) -> bool:
        """Did the launch come to its end, or to ready?"""
        return self._phases.is_over

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

    def feed(self, offset: int, data: bytes, at: float | None = None) -> list[Record]:
        """Take in `data`, found at byte `offset` of the file, and return the records that it completed.

        `at`: when it came, in seconds of any clock that only goes on; rates are then per second of that clock, else of
        the log's own.
        """
        records = self._keep(self._splitter.feed(offset, data))
        now = self._clock.seconds if at is None else at
        if now is not None:
            self.shapes.tick(now)
        return records

    def finish(self) -> list[Record]:
        """Take in the half line at the end of the file, if any."""
        return self._keep(self._splitter.finish())

    def reset(self, offset: int = 0, reason: str = "", lost: int = 0) -> list[Record]:
        """Go on at `offset` of a file that was truncated or replaced; what is known stays known.

        With a reason there is a record of kind `log_gap`, with the bytes that are lost.
        """
        return self._keep(self._splitter.reset(offset, reason, lost))

    def unclaimed(self) -> dict[str, object]:
        """Return how many lines no parser knew, with the first of each form, cut: `{count, samples[]}`."""
        return {"count": self.counts[UNCLAIMED], "samples": [without_secrets(each) for each in self._samples.values()]}

    def to_json(self, judge: Callable[[ShapeRow], RowVerdict] | None = None) -> dict[str, object]:
        """Return the form of `logs --shapes`: what the log's records say together."""
        return {
            "shapes": self.shapes.to_json(judge),
            "flow": flow(self.shapes.rows(), judge).to_json(),
            "records": dict(sorted(self.counts.items())),
            "unclaimed": self.unclaimed(),
            "stats": {**self.stats.to_json(), **self.cycles.totals()},
            "cycles": self.cycles.to_json(),
            "digests": self.digests.to_json(),
            "crashes": [crash.to_json() for crash in self.crashes.groups()],
        }

    def _keep(self, lines: Iterable[RawLine]) -> list[Record]:
        follow = self._continuation.follow
        records = [follow(record) for record in classify_all(lines)]
        folds = self._folds
        for record in records:
            if record.ts is not None or record.ranks:
                self._head(record)
            for fold in folds.get(record.kind, ()):
                fold(record)
        self.counts.update([record.kind for record in records])
        self._phases.remember([record.text for record in islice(reversed(records), TAIL_LIMIT)][::-1])
        self._remember(records)
        self.version += bool(records)
        return records

    def _remember(self, records: list[Record]) -> None:
        self.records.extend(records)
        self._characters += sum([len(record.text) for record in records])
        while len(self.records) > self._records_limit or self._characters > CHARACTERS_LIMIT:
            self._characters -= len(self.records.popleft().text)

    def _by_kind(self) -> dict[str, list[Callable[[Record], None]]]:
        """What takes in which kind of record, in order: most lines are shapes, and few folds want them."""
        wanted: tuple[tuple[Callable[[Record], None], Iterable[str]], ...] = (
            (self._launch, ("server_args",)),
            (self._stage, ("server_args", "load_weight", "graph_capture", "ready", "decode_batch")),
            (self.shapes.fold, ("tensor_shape",)),
            (self.replay.fold, ("tensor_shape", "decode_batch", "ready", "server_args")),
            (self.stats.fold, ("decode_batch", "prefill_batch", "server_args")),
            (self._chart, ("decode_batch",)),
            (self._cycle, ("eagle3_cycle",)),
            (self.digests.fold, ("eagle3_digest",)),
            (self.values.fold, ("tensor_values",)),
            (self.crashes.fold, ("failure", "torch_error", "traceback")),
            (self.overlay.fold, ("overlay",)),
            (self.notable.fold, NOTABLE_KINDS),
            (self._phases.fold, self._phases.kinds),
            (self._sample, (UNCLAIMED,)),
        )
        folds: dict[str, list[Callable[[Record], None]]] = {}
        for fold, kinds in wanted:
            for kind in kinds:
                folds.setdefault(kind, []).append(fold)
        return folds

    def _head(self, record: Record) -> None:
        """Take in the head of a record of any kind: its time, and who speaks."""
        self._has_heads = True
        if record.ts is not None:
            self._clock.read(record.ts)
            self.shapes.ts = record.ts
        if record.ranks:
            self.notable.hear(record.ranks)

    def _launch(self, record: Record) -> None:
        """A server begins, perhaps after another one in the same file."""
        if self._phases.is_over:
            self.crashes.clear()
        self.notable.begin_launch(anew=self._phases.is_over)
        self.series.clear()
        self.cycles.clear()
        self.digests.clear()
        self.server_args = record.fields
        self.batching = Batching.of(record.fields)
        tp_size, pp_size = record.fields.get("tp_size"), record.fields.get("pp_size", 1)
        if self.shapes.tp_size is None and isinstance(tp_size, int) and isinstance(pp_size, int):
            self.shapes.tp_size = tp_size * pp_size

    def _stage(self, record: Record) -> None:
        """Tell the table whether lines come from a capture, from warming up, or from serving."""
        if record.kind in {"ready", "decode_batch"}:
            self.shapes.enter("")
        elif record.kind != "graph_capture":
            self.shapes.enter("warm-up")
        elif record.ranks.get("TP", 0) == 0 and record.fields.get("edge") in {"begin", "end"}:
            self.shapes.enter("capture" if record.fields["edge"] == "begin" else "warm-up")

    def _chart(self, record: Record) -> None:
        self.series.add(self.stats.windows[-1])

    def _cycle(self, record: Record) -> None:
        self.cycles.fold(record, self.shapes.ts)

    def _sample(self, record: Record) -> None:
        message = record.text.rpartition("] ")[2] if record.ts else record.text
        form = _DIGITS.sub("#", message[: 2 * _FORM_LENGTH])[:_FORM_LENGTH]
        if len(self._samples) < SAMPLES_LIMIT:
            self._samples.setdefault(form, record.text[:SAMPLE_LENGTH])
