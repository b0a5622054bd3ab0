"""The phase of a launch, told by its log alone: from starting to ready, to a stop, or to a death with its first cause.

An exit code is not in the log, and some deaths leave no line: the agent's record of the process says the rest.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from console.logs.parsers.traceback import exception_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.logs.record import Record

TAIL_LIMIT = 40
"""Last parts of the log that are kept for the report of a death."""

_ANNOUNCEMENTS = frozenset({"exception", "child_sigquit", "sigquit", "child_crashed", "rank_dead", "not_started"})
"""Failures that only tell that something ended: the first exception behind them is the cause."""

Name = Literal["unknown", "starting", "loading", "graphs", "warming up", "ready", "stopping", "died"]


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a server died: the first exception, or else the first line that told of the death."""

    kind: str
    """A failure's `cause` or a torch error's `error`; `traceback`, `argparse` or `port_in_use`."""
    sentence: str
    """The line without its head: hostile plain text."""
    offset: int
    rank: int | None


@dataclass(frozen=True, slots=True)
class LaunchPhase:
    """Where a launch stands."""

    name: Name
    detail: str = ""
    cause: Cause | None = None


NO_SERVER = LaunchPhase("unknown", "no line of an SGLang server in it")
"""Of a text that no server wrote, as far as it was read, and of an empty one."""


class PhaseFold:
    """Folds records into the phase."""

    def __init__(self) -> None:
        self.phase = LaunchPhase("starting")
        self.tail: deque[str] = deque(maxlen=TAIL_LIMIT)
        self.trouble: int | None = None
        """Byte offset of the first sign of trouble since the server last did something useful."""
        self._exception: Cause | None = None
        """The first exception since the server last did something useful."""
        self._is_provisional = False
        """True when the death is only a bare traceback's word: progress afterwards takes it back."""
        self._is_in_bare_traceback = False
        self._reporting: set[int | None] = set()
        """Ranks that told of an exception of theirs, whose traceback follows without a head."""
        self._steps = {
            "server_args": self._launched,
            "load_weight": self._loading,
            "shards": self._shards,
            "graph_capture": self._graphs,
            "progress": self._progress,
            "pool": self._pool,
            "uvicorn": self._uvicorn,
            "ready": self._ready,
            "decode_batch": self._served,
            "prefill_batch": self._served,
            "failure": self._failure,
            "torch_error": self._torch_error,
            "traceback": self._traceback,
            "glog": self._glog,
            "argparse_error": self._argparse,
        }

    def fold(self, record: Record) -> None:
        """Take in a record; most kinds only pass."""
        step = self._steps.get(record.kind)
        if step:
            step(record)

    def remember(self, texts: Iterable[str]) -> None:
        """Keep the last lines, for the report of a death."""
        self.tail.extend(text for text in texts if text)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds that do not only pass."""
        return frozenset(self._steps)

    @property
    def is_over(self) -> bool:
        """True when a launch in the log came to its end, or to ready: the next `server_args=` is another one."""
        return self.phase.name in {"ready", "stopping", "died"}

    @property
    def cause(self) -> Cause | None:
        """Why it died, or else the exception that nothing useful followed so far."""
        return self.phase.cause or self._exception

    def _move(self, name: Name, detail: str = "") -> None:
        """Go on with the launch, unless it is over."""
        self._is_in_bare_traceback = False
        if self.phase.name == "died" and self._is_provisional:
            self._is_provisional = False
            self._recover()
        elif self.is_over:
            return
        self.phase = LaunchPhase(name, detail)

    def _leads(self, record: Record) -> bool:
        """True for the first rank: the others pass the same phases a little earlier or later."""
        return record.ranks.get("TP", 0) == 0 or self.phase.name == "starting"

    def _launched(self, record: Record) -> None:
        if self.is_over:
            self.phase = LaunchPhase("starting")
            self._recover()
            self._reporting.clear()
        self._is_in_bare_traceback = self._is_provisional = False

    def _loading(self, record: Record) -> None:
        if record.fields.get("edge") == "begin" and self._leads(record):
            self._move("loading", "weights")

    def _shards(self, record: Record) -> None:
        self._move("loading", f"shards {record.fields['done']}/{record.fields['total']}")

    def _graphs(self, record: Record) -> None:
        if record.fields.get("edge") == "begin" and self._leads(record):
            self._move("graphs", str(record.fields.get("what") or "target"))

    def _progress(self, record: Record) -> None:
        if self.phase.name == "graphs":
            what = self.phase.detail.partition(", batch size")[0]
            self._move("graphs", f"{what}, batch size {record.fields['done']}/{record.fields['total']}")

    def _pool(self, record: Record) -> None:
        self._move("warming up")

    def _uvicorn(self, record: Record) -> None:
        event = record.fields["event"]
        if event == "running":
            self._move("warming up", f"listening on {record.fields['url']}")
        elif event == "bind_error":
            self._die(Cause("port_in_use", str(record.fields["sentence"]), record.offset, None))

    def _ready(self, record: Record) -> None:
        self._move("ready")
        self._served(record)

    def _served(self, record: Record) -> None:
        if self.phase.name != "died":
            self._recover()

    def _recover(self) -> None:
        self._exception = self.trouble = None

    def _failure(self, record: Record) -> None:
        cause = _cause(str(record.fields["cause"]), record)
        if exception_line(cause.sentence):
            self._threw(cause)
        elif cause.kind == "exception":
            self._reporting.add(cause.rank)
        if cause.kind == "sigterm" and self.phase.name != "died":
            self.phase = LaunchPhase("stopping", "draining")
        elif self.phase.name == "stopping":
            if cause.kind == "drained":
                self.phase = LaunchPhase("stopping", "drained")
        elif record.fields["fatal"]:
            self._die(cause)

    def _torch_error(self, record: Record) -> None:
        self._threw(_cause(str(record.fields["error"]), record))

    def _glog(self, record: Record) -> None:
        if record.fields["collective_timeout"]:
            self._threw(_cause("collective_timeout", record))

    def _traceback(self, record: Record) -> None:
        if record.fields["part"] == "start":
            self._is_in_bare_traceback = record.ts is None
        elif record.fields["part"] == "exception":
            self._threw(_cause("traceback", record))

    def _argparse(self, record: Record) -> None:
        if record.fields["part"] == "error":
            self._die(_cause("argparse", record))

    def _threw(self, cause: Cause) -> None:
        """Note an exception; a bare traceback before ready is the launcher's own, and its end."""
        self._note_trouble(cause)
        first = self._exception is None
        self._exception = self._exception or cause
        if self.phase.name == "died":
            if first and self.phase.cause and self.phase.cause.kind in _ANNOUNCEMENTS:
                self.phase = LaunchPhase("died", self.phase.detail, self._of_reporting_rank(cause))
        elif self._is_in_bare_traceback and self.phase.name not in {"ready", "stopping"}:
            self._die(cause)
            self._is_provisional = True

    def _of_reporting_rank(self, cause: Cause) -> Cause:
        """Give a bare exception the rank that announced it, unless several did: tracebacks of ranks interleave."""
        if cause.rank is None and len(self._reporting) == 1:
            return replace(cause, rank=next(iter(self._reporting)))
        return cause

    def _note_trouble(self, cause: Cause) -> None:
        if self.trouble is None and self.phase.name != "stopping":
            self.trouble = cause.offset

    def _die(self, cause: Cause) -> None:
        self._note_trouble(cause)
        if self.phase.name == "died":
            self._is_provisional = False
            return
        self._is_provisional = False
        was = f"{self.phase.name} ({self.phase.detail})" if self.phase.detail else self.phase.name
        self.phase = LaunchPhase("died", f"while {was}", self._exception or cause)


def _cause(kind: str, record: Record) -> Cause:
    return Cause(kind, str(record.fields["sentence"]), record.offset, record.rank)
