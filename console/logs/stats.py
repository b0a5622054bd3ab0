"""What `Decode batch` lines say together: the last window at batch 1, medians without idle, the accept rate anew."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING

from console.logs.rates import AcceptRate, ToldByRates, accept_rate, strict_rate, told_by_rates
from console.logs.series import Series

if TYPE_CHECKING:
    from console.logs.record import Record

WINDOWS_LIMIT = 4096
"""Windows kept, the newest."""
PAIRS_LIMIT = 512
SERIES = ("accept_len", "accept_rate", "gen_throughput", "running_req", "queue_req", "token_usage")
"""What is summed up of all windows of a launch; accept_rate is the printed one."""
GROUPS_LIMIT = 4096
"""Data-parallel groups told apart."""


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
    queue_req: int | None = None
    token_usage: float | None = None
    """Share of the KV cache's tokens in use, 0 to 1."""


class DecodeStats:
    """Folds `Decode batch` lines."""

    def __init__(self) -> None:
        self.windows: deque[DecodeWindow] = deque(maxlen=WINDOWS_LIMIT)
        self.draft_tokens: int | None = None
        """Tokens of one verify, from `server_args=`."""
        self.totals = {name: Series() for name in SERIES}
        """Of the file's last launch, all its windows; of gen_throughput those without idle time in them."""
        self._idle_groups: set[int] = set()
        self.groups: set[int] = set()
        """Data-parallel groups that told of windows."""

    def fold(self, record: Record) -> None:
        """Take in a record; records of other kinds are ignored."""
        if record.kind == "decode_batch":
            self._decode(record)
        elif record.kind == "prefill_batch" and record.fields.get("running_req") == 0:
            self._idle_groups.add(_group(record))
        elif record.kind == "server_args":
            self.draft_tokens = _int(record.fields.get("speculative_num_draft_tokens"))
            self.totals = {name: Series() for name in SERIES}

    @property
    def accept_len(self) -> Series:
        """Of the file's last launch."""
        return self.totals["accept_len"]

    @property
    def known_draft_tokens(self) -> int | None:
        """From `server_args=`, else from the printed rates, which tell it where they leave one possibility."""
        return self.draft_tokens or self.told_by_rates().draft_tokens

    def told_by_rates(self) -> ToldByRates:
        """What the printed lengths and rates say of the release's formula and of the draft tokens."""
        pairs = {(each.accept_len, each.accept_rate) for each in islice(self.windows, PAIRS_LIMIT)}
        return told_by_rates([(a, r) for a, r in pairs if a is not None and r is not None])

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
            "draft_tokens": self.known_draft_tokens,
            **{name: total.to_json() for name, total in self.totals.items()},
            "strict_accept_rate": self._strict(self.known_draft_tokens),
        }

    def _strict(self, draft_tokens: int | None) -> dict[str, object] | None:
        told = self.accept_len.to_json()
        if told is None or draft_tokens is None or draft_tokens < 2:
            return None
        return {name: number if name == "count" else strict_rate(number, draft_tokens) for name, number in told.items()}

    def _decode(self, record: Record) -> None:
        fields = record.fields
        group = _group(record)
        includes_idle = group in self._idle_groups or group not in self.groups
        graph = fields.get("cuda_graph", fields.get("cpu_graph"))
        window = DecodeWindow(
            offset=record.offset,
            ts=record.ts,
            running_req=_int(fields.get("running_req")),
            accept_len=_float(fields.get("accept_len")),
            accept_rate=_float(fields.get("accept_rate")),
            gen_throughput=_float(fields.get("gen_throughput")),
            cuda_graph=graph if isinstance(graph, bool) else None,
            includes_idle=includes_idle,
            queue_req=_int(fields.get("queue_req")),
            token_usage=_float(fields.get("token_usage", fields.get("full_token_usage"))),
        )
        self.windows.append(window)
        for name, total in self.totals.items():
            if not (includes_idle and name == "gen_throughput"):
                total.add(getattr(window, name))
        self._idle_groups.discard(group)
        self.groups.add(group)


def _group(record: Record) -> int:
    return min(record.ranks.get("DP", 0), GROUPS_LIMIT)


def _int(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _float(number: object) -> float | None:
    return float(number) if isinstance(number, (int, float)) and not isinstance(number, bool) else None
