"""Owns the views of stored runs and of two of them side by side. None is "not measured", never zero."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds over the requests of a run."""

    mean: float
    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Beside:
    """The same quantity by the client and by the server; `apart` is relative, None where they agree within 2 %."""

    client: float | None = None
    server: float | None = None
    apart: float | None = None


@dataclass(frozen=True, slots=True)
class Stages:
    """Medians of a cycle by the server's own records, milliseconds."""

    cycle_ms: float
    draft_ms: float | None
    verify_ms: float | None
    extend_ms: float | None
    source: str
    """How many cycles, by which clock."""


@dataclass(frozen=True, slots=True)
class ServerView:
    """What the server says of the same blocks."""

    windows: int
    tok_s: Beside
    accept_len: Beside
    """Without the token that prefill makes."""
    graph_share: float | None = None
    stages: Stages | None = None
    verify_ms: float | None = None
    """By SGLang's device timer."""


@dataclass(frozen=True, slots=True)
class RunView:
    """A stored probe run."""

    run_id: str
    at: float
    node: str
    profile: str
    launch_id: str
    valid: bool
    why: str
    simulated: bool
    requests: int = 0
    completion_tokens: int = 0
    concurrency: int | None = None
    speculation: str = ""
    """As "EAGLE3 5/1/6 chain"; empty without speculation."""
    output_tok_s: float | None = None
    interval: tuple[float, float] | None = None
    """95 % of output_tok_s over its blocks, tok/s."""
    steady_tok_s: float | None = None
    decode_tok_s: float | None = None
    ttft_ms: Latency | None = None
    tpot_ms: Latency | None = None
    chunk_gap_ms: Latency | None = None
    e2e_ms: Latency | None = None
    cycle_ms: float | None = None
    step_ms: float | None = None
    accept_len: float | None = None
    accept_len_formula: str = ""
    accept_hist: tuple[int, ...] = ()
    accept_hist_source: str = ""
    blocks: tuple[float, ...] = ()
    server: ServerView | None = None
    marks: tuple[str, ...] = ()
    """Why its speed is not to be quoted."""
    notes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    note: str = ""
    """The user's own."""
    pinned: bool = False
    """A baseline for where none is named."""


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """One thing in which two runs differ."""

    key: str
    a: str
    b: str
    declared: bool
    withholds: bool = False


@dataclass(frozen=True, slots=True)
class GoldenView:
    """What a known curve says of the candidate's steps."""

    name: str
    source: str
    steps: int | None
    expected: float | None
    difference: float | None
    """Of the measured accept length, relative."""


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Candidate against baseline; differences are ratios, -0.1 is ten per cent slower."""

    verdict: str
    why: str
    difference: float | None
    interval: tuple[float, float] | None
    detectable: float | None
    differs: tuple[DifferenceView, ...]
    """Undeclared ones first."""
    break_even_accept_len: float | None
    formula: str
    unit: str = "block"
    n: tuple[int, int] = (0, 0)
    launches: tuple[int, int] = (1, 1)
    steady_difference: float | None = None
    steady_interval: tuple[float, float] | None = None
    golden: GoldenView | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunsState:
    """Stored runs of this node, newest first, and the two that stand side by side."""

    runs: tuple[RunView, ...] = ()
    baseline: RunView | None = None
    candidate: RunView | None = None
    comparison: ComparisonView | None = None
    problem: str = ""

    @property
    def simulated(self) -> bool:
        """One of the two sides is."""
        return any(side.simulated for side in (self.baseline, self.candidate) if side)
