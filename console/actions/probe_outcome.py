"""A stored run as it is told: in lines for people, and as the `run` of `probe --json`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from console.probe.compare import cycle_arithmetic, marks
from console.probe.stats import half_width
from console.units import NONE, format_number, format_percent, format_rate, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from console.logs.cycles import CycleSummary
    from console.probe.device_timer import DeviceSplit
    from console.probe.distribution import Distribution
    from console.probe.golden import GoldenPoint
    from console.probe.metrics import ProbeResult
    from console.probe.server_side import ServerFigures
    from console.probe.stored import StoredRun

DEVICE_TIMER = "SGLANG_ENABLE_METRICS_DEVICE_TIMER"
MOST_CATEGORIES = 6


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """A stored run."""

    run: StoredRun
    baseline: StoredRun | None = None
    """The stored run that its profile holds it against, where there is one that may be compared."""
    golden: GoldenPoint | None = None
    """A known curve, where the user gave one; it judges nothing."""

    @property
    def ok(self) -> bool:
        return self.run.result.valid

    @property
    def proof(self) -> str:
        result = self.run.result
        length = f", accept_len {result.accept_len:.4f}" if result.accept_len is not None else ""
        if not result.valid:
            return f"run {self.run.run_id} INVALID: {plain(result.why)}"
        return f"run {self.run.run_id}: {format_rate(result.output_tok_s)}{length}"

    def lines(self) -> Iterator[str]:
        simulated = " SIMULATED" if self.run.fingerprint.simulated else ""
        yield f"{self.proof}{simulated}"
        for title, told in (*_measured(self.run.result), *self._gpu_time(), *self._against()):
            yield f"  {title:<11} {told}"
        # The first line says SIMULATED already.
        worth = marks(replace(self.run.fingerprint, simulated=False))
        for note in (*worth, *self.run.result.notes):
            yield f"note: {plain(note)}"

    def to_json(self) -> dict[str, Any]:
        run = self.run
        kept = {"id": run.run_id, "profile": run.profile, "launch_id": run.launch_id}
        return {
            "run": {
                **kept,
                **run.result.to_json(),
                "half_width": half_width(None, run.result.blocks),
                "fingerprint": run.fingerprint.to_json(),
                "against": self._against_json(),
                "golden": self.golden.to_json() if self.golden else None,
            }
        }

    def _gpu_time(self) -> Iterator[tuple[str, str]]:
        figures = self.run.result.server
        if figures is None:
            return
        if figures.device is not None:
            yield "GPU time", _device(figures.device)
        elif DEVICE_TIMER in self.run.fingerprint.env:
            yield "GPU time", f"not known: {plain(figures.device_why)}"

    def _against(self) -> Iterator[tuple[str, str]]:
        if self.golden is not None:
            yield "golden", self.golden.text
        if self.baseline is None:
            return
        cycle = cycle_arithmetic(self.baseline, self.run)
        if cycle.break_even_accept_len is not None:
            yield (
                "break-even",
                f"accept_len {cycle.break_even_accept_len:.4f} = cycle {cycle.cycle_ms:.2f} ms / "
                f"baseline step {cycle.baseline_step_ms:.2f} ms",
            )
        rate = format_rate(self.baseline.result.output_tok_s)
        yield "baseline", f"run {self.baseline.run_id}: {rate} (`compare {self.baseline.run_id} {self.run.run_id}`)"

    def _against_json(self) -> dict[str, Any] | None:
        if self.baseline is None:
            return None
        return {"id": self.baseline.run_id, **asdict(cycle_arithmetic(self.baseline, self.run))}


def _measured(result: ProbeResult) -> Iterator[tuple[str, str]]:
    """Title and value of what was measured; what was not is left out."""
    if result.blocks:
        yield "blocks", _blocks(result)
    yield "requests", f"{result.requests}, {result.completion_tokens} tokens"
    if result.steady_tok_s is not None:
        yield "steady", f"{format_rate(result.steady_tok_s)} while all {result.concurrency} streams run"
    latencies = (
        ("ttft", result.ttft_ms),
        ("tpot", result.tpot_ms),
        ("chunk gap", result.chunk_gap_ms),
        ("e2e", result.e2e_ms),
    )
    for title, found in latencies:
        if found is not None:
            yield title, _latency(found)
    if result.cycle_ms is not None:
        rate = f", {format_rate(result.decode_tok_s)} a stream without prefill" if result.decode_tok_s else ""
        yield "cycle", f"{result.cycle_ms:.2f} ms, {format_number(result.step_ms)} ms a token of one stream{rate}"
    yield from _speculation(result)
    if result.server is not None:
        if result.server.windows:
            yield "server", _server(result, result.server)
        yield from _cycle(result.server.cycle)
    if result.client_cpu_share is not None:
        yield "client", f"{format_percent(result.client_cpu_share)} of a core"


def _speculation(result: ProbeResult) -> Iterator[tuple[str, str]]:
    if result.accept_len is not None:
        yield "accept_len", f"{result.accept_len:.4f} = {result.accept_len_formula}"
    if result.accept_hist is not None or result.accept_hist_source:
        yield "accept_hist", _histogram(result)


def _blocks(result: ProbeResult) -> str:
    rates = " ".join(f"{rate:.1f}" for rate in result.blocks[:12])
    more = f" and {len(result.blocks) - 12} more" if len(result.blocks) > 12 else ""
    width = half_width(None, result.blocks)
    interval = "" if width is None else f"; mean ± {format_percent(width)} (95 %)"
    return f"{rates}{more} tok/s{interval}"


def _latency(found: Distribution) -> str:
    p90 = "" if found.p90 is None else f"p90 {found.p90:.2f}, "
    return f"p50 {found.p50:.2f}, {p90}p99 {found.p99:.2f}, mean {found.mean:.2f} ms (n {found.n})"


def _histogram(result: ProbeResult) -> str:
    counts = NONE if result.accept_hist is None else " ".join(map(str, result.accept_hist))
    return f"{counts} verifications by accepted drafts from 0 ({plain(result.accept_hist_source)})"


def _server(result: ProbeResult, figures: ServerFigures) -> str:
    """The server's own words over the same blocks; where they differ by over 2 %, a note says so."""
    rate = figures.gen_tok_s if result.concurrency == 1 else figures.full_gen_tok_s
    graphs = "" if figures.graph_share is None else f", CUDA graphs in {figures.graph_share:.0%}"
    length = "" if figures.accept_len is None else f", accept len {figures.accept_len:.4f}"
    return f"says gen throughput {format_rate(rate)}{length} over {figures.windows} windows{graphs}"


def _cycle(cycle: CycleSummary | None) -> Iterator[tuple[str, str]]:
    if cycle is None:
        return
    stages = (("draft", cycle.draft_ms), ("verify", cycle.verify_ms), ("extend", cycle.extend_ms))
    told = ", ".join(f"{name} {value:.2f} ms" for name, value in stages if value is not None)
    gap = "" if cycle.gap_ms is None else f"; {cycle.gap_ms:.2f} ms to the next"
    clock = f"median of {cycle.count}, {cycle.clock or 'unknown'} clock"
    mean = "" if cycle.round_ms is None else f"; {cycle.round_ms:.2f} ms with it on average"
    yield "its cycle", f"{cycle.cycle_ms:.2f} ms: {told}{gap} ({clock}){mean}"


def _device(split: DeviceSplit) -> str:
    verify = "" if split.verify_ms is None else f"verify {split.verify_ms:.2f} ms a cycle; "
    told = ", ".join(f"{plain(category)} {seconds:.2f} s" for category, seconds in _longest(split.seconds))
    return f"{verify}{told} (SGLang's device timer, the warm-up in it)"


def _longest(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda each: -each[1])[:MOST_CATEGORIES]
