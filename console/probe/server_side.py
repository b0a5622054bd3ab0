"""Owns the server's own figures over the blocks of a run, from what its log says between their ends.

| key | meaning |
|---|---|
| windows | `Decode batch` lines that count: one each `--decode-log-interval` (40) decode iterations, without each
  block's first one and those in which a request began on an idle server, for their throughput holds idle time |
| gen_tok_s | `gen throughput` of these windows by their time, the sum over data-parallel groups |
| full_gen_tok_s | the same of the windows with as many running requests as any: what the steady window measures |
| accept_len | tokens / verifications of these windows. The token that prefill makes is not in it |
| graph_share | windows that ran in a CUDA graph, 0 to 1 |
| cycle | draft, verify and extend from `eagle3-cycle` records; see `console.logs.cycles.CycleSummary` |
| device | SGLang's device timer; see `console.probe.device_timer` |

A window's time is not printed, but follows: it brought tokens in proportion to running requests times accept length, as
each window has the same number of iterations, and tokens / throughput is time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.logs.classify import PARSERS, classify_all, dispatch
from console.logs.cycles import Cycles, CycleSummary
from console.logs.split import LineSplitter
from console.logs.stats import DecodeStats
from console.probe.device_timer import DeviceSplit
from console.probe.json_form import known_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from console.logs.record import Record
    from console.logs.stats import DecodeWindow

KINDS = ("decode_batch", "prefill_batch", "eagle3_cycle")
_DISPATCH = dispatch(parser for parser in PARSERS if parser.kind in KINDS)


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """What the server says of itself; None is "it does not say"."""

    windows: int = 0
    gen_tok_s: float | None = None
    full_gen_tok_s: float | None = None
    accept_len: float | None = None
    graph_share: float | None = None
    cycle: CycleSummary | None = None
    device: DeviceSplit | None = None
    device_why: str = ""
    """Why there is none."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ServerFigures:
        """Rebuild from plain data. Raises TypeError or ValueError."""
        return cls(**known_fields(cls, data, _CONVERT))


def server_figures(blocks: Iterable[bytes]) -> ServerFigures | None:
    """Return the figures of a run; None where its log tells nothing of them.

    `blocks`: for each block the bytes of the server's log from its first request's sending to its last one's end. A
    half line at either end is harmless. The device timer is not in the log: its figures are put beside these.
    """
    fold = _Fold()
    for data in blocks:
        fold.block(data)
    found = fold.figures()
    return None if found == ServerFigures() else found


@dataclass(slots=True)
class _Fold:
    """All blocks of a run."""

    cycles: Cycles = field(default_factory=Cycles)
    windows: dict[int, list[DecodeWindow]] = field(default_factory=dict)
    """By data-parallel group."""

    def block(self, data: bytes) -> None:
        splitter = LineSplitter()
        lines = [*splitter.feed(0, data), *splitter.finish()]
        groups: dict[int, DecodeStats] = {}
        for record in classify_all(lines, _DISPATCH):
            if record.kind == "eagle3_cycle":
                self.cycles.fold(record)
            elif record.kind in KINDS:
                groups.setdefault(_group(record), DecodeStats()).fold(record)
        for group, stats in groups.items():
            # A block's first window began before it; DecodeStats says so of a group that it has not heard yet.
            self.windows.setdefault(group, []).extend(w for w in stats.windows if not w.includes_idle)

    def figures(self) -> ServerFigures:
        windows = [window for group in self.windows.values() for window in group]
        graphs = [window.cuda_graph for window in windows if window.cuda_graph is not None]
        return ServerFigures(
            windows=len(windows),
            gen_tok_s=self._gen_tok_s(list),
            full_gen_tok_s=self._gen_tok_s(_full),
            accept_len=_accept_len(windows),
            graph_share=sum(graphs) / len(graphs) if graphs else None,
            cycle=self.cycles.summary(),
        )

    def _gen_tok_s(self, chosen: Callable[[Sequence[DecodeWindow]], list[DecodeWindow]]) -> float | None:
        rates = [rate for group in self.windows.values() if (rate := _gen_tok_s(chosen(group))) is not None]
        return math.fsum(rates) if rates else None


def _full(windows: Sequence[DecodeWindow]) -> list[DecodeWindow]:
    most = max((window.running_req or 0 for window in windows), default=0)
    return [window for window in windows if window.running_req == most]


def _gen_tok_s(windows: Sequence[DecodeWindow]) -> float | None:
    told = [(_tokens(w), w.gen_throughput) for w in windows if w.gen_throughput and w.running_req]
    seconds = math.fsum(tokens / rate for tokens, rate in told)
    return math.fsum(tokens for tokens, _ in told) / seconds if seconds > 0 else None


def _tokens(window: DecodeWindow) -> float:
    """Tokens for each iteration of a window: what all windows of one server have in proportion."""
    return (window.running_req or 0) * (window.accept_len or 1.0)


def _accept_len(windows: Sequence[DecodeWindow]) -> float | None:
    told = [(w.accept_len, w.running_req) for w in windows if w.accept_len and w.running_req]
    verifications = sum(running for _, running in told)
    return math.fsum(length * running for length, running in told) / verifications if verifications else None


def _group(record: Record) -> int:
    return record.ranks.get("DP", 0)


def _cycle(data: Mapping[str, Any] | None) -> CycleSummary | None:
    return None if data is None else CycleSummary(**known_fields(CycleSummary, data))


def _device(data: Mapping[str, Any] | None) -> DeviceSplit | None:
    return None if data is None else DeviceSplit(**known_fields(DeviceSplit, data, {"seconds": dict}))


_CONVERT: dict[str, Callable[[Any], Any]] = {"cycle": _cycle, "device": _device}
