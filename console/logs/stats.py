"""What the `Decode batch` lines say together: the last window at batch 1, medians without idle, the accept rate anew.

`accept len` counts the bonus token in every release; 1.00 means that no draft token was accepted. `accept rate` had
three formulas (read in the releases): len / (steps + 1) in 0.5.4 and 0.5.5, len / draft_tokens from 0.5.6 to
0.5.10.post1, (len - 1) / (draft_tokens - 1) from 0.5.11. The first two are equal when topk is 1, and never 0.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.logs.record import Record

WINDOWS_LIMIT = 4096
"""Windows kept, the newest."""
GROUPS_LIMIT = 4096
"""Data-parallel groups told apart."""
_ROUNDING = 0.0101
"""Both numbers are printed with two decimals: each is off by 0.005 at most, and so is the rate made of the length."""


@dataclass(frozen=True, slots=True)
class DecodeWindow:
    """One `Decode batch` line: what happened since the line before."""

    offset: int
    ts: str | None
    running_req: int | None
    accept_len: float | None
    """Tokens per verify, the bonus token in it; None without speculation."""
    accept_rate: float | None
    """As printed: its formula depends on the release."""
    gen_throughput: float | None
    """Output tokens per second of all requests, over the wall time since the line before."""
    cuda_graph: bool | None
    includes_idle: bool
    """True when the server was idle within the window: gen_throughput is then too low."""


@dataclass(frozen=True, slots=True)
class AcceptRate:
    """An accept rate beside the printed one."""

    printed: float | None
    strict: float | None
    """(accept_len - 1) / (draft_tokens - 1): accepted draft tokens of proposed ones, the formula from 0.5.11 on."""
    formula: str | None
    """The formula that gives the printed number: `strict`, `with_bonus`, `either`; None when neither does."""


class DecodeStats:
    """Folds `Decode batch` lines."""

    def __init__(self) -> None:
        self.windows: deque[DecodeWindow] = deque(maxlen=WINDOWS_LIMIT)
        self.draft_tokens: int | None = None
        """Tokens of one verify, from `server_args=`."""
        self._idle_groups: set[int] = set()
        self._seen_groups: set[int] = set()

    def fold(self, record: Record) -> None:
        """Take in a record; records of other kinds are ignored."""
        if record.kind == "decode_batch":
            self._decode(record)
        elif record.kind == "prefill_batch" and record.fields.get("running_req") == 0:
            self._idle_groups.add(_group(record))
        elif record.kind == "server_args":
            self.draft_tokens = _int(record.fields.get("speculative_num_draft_tokens"))

    def last_at_batch_1(self) -> DecodeWindow | None:
        """Return the newest window with one running request."""
        return next((window for window in reversed(self.windows) if window.running_req == 1), None)

    def median_throughput_at_batch_1(self) -> float | None:
        """Return the median of gen_throughput over windows with one running request and no idle time in them."""
        numbers = [
            window.gen_throughput
            for window in self.windows
            if window.running_req == 1 and not window.includes_idle and window.gen_throughput is not None
        ]
        return median(numbers) if numbers else None

    def series(self, name: str) -> list[float]:
        """Return the printed `gen_throughput`, `accept_len` or `accept_rate`, oldest first, of windows that have it."""
        numbers = [getattr(window, name) for window in self.windows]
        return [number for number in numbers if number is not None]

    def rate(self, window: DecodeWindow) -> AcceptRate:
        """Return the window's accept rate anew, beside the printed one."""
        return accept_rate(window.accept_len, window.accept_rate, self.draft_tokens)

    def to_json(self) -> dict[str, object]:
        """Return `stats` of `logs --shapes`."""
        last = self.last_at_batch_1()
        return {
            "last_at_batch_1": {**asdict(last), "rate": asdict(self.rate(last))} if last else None,
            "median_throughput_at_batch_1": self.median_throughput_at_batch_1(),
            "windows": len(self.windows),
            "draft_tokens": self.draft_tokens,
        }

    def _decode(self, record: Record) -> None:
        fields = record.fields
        group = _group(record)
        graph = fields.get("cuda_graph", fields.get("cpu_graph"))
        self.windows.append(
            DecodeWindow(
                offset=record.offset,
                ts=record.ts,
                running_req=_int(fields.get("running_req")),
                accept_len=_float(fields.get("accept_len")),
                accept_rate=_float(fields.get("accept_rate")),
                gen_throughput=_float(fields.get("gen_throughput")),
                cuda_graph=graph if isinstance(graph, bool) else None,
                includes_idle=group in self._idle_groups or group not in self._seen_groups,
            )
        )
        self._idle_groups.discard(group)
        self._seen_groups.add(group)


def accept_rate(accept_len: float | None, printed: float | None, draft_tokens: int | None) -> AcceptRate:
    """Return the strict accept rate, and which release's formula the printed one follows."""
    if accept_len is None or draft_tokens is None or draft_tokens < 2:
        return AcceptRate(printed, None, None)
    strict = round((accept_len - 1) / (draft_tokens - 1), 4)
    with_bonus = accept_len / draft_tokens
    fits = [
        name
        for name, rate in (("strict", strict), ("with_bonus", with_bonus))
        if printed is not None and abs(rate - printed) < _ROUNDING
    ]
    return AcceptRate(printed, strict, "either" if len(fits) == 2 else fits[0] if fits else None)


def _group(record: Record) -> int:
    return min(record.ranks.get("DP", 0), GROUPS_LIMIT)


def _int(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _float(number: object) -> float | None:
    return float(number) if isinstance(number, (int, float)) and not isinstance(number, bool) else None
