"""The figures of two runs beside each other, the server's own among them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from console.tui.widgets.table import Column, Row, Table
from console.units import NONE, format_number, format_percent, format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from console.state.runs_state import Beside, ComparisonView, Latency, RunsState, RunView
    from console.tui.text import Line


def number_table() -> Table:
    """An empty one."""
    return Table(
        "numbers",
        Column("measured", 15),
        Column("baseline", flex=True),
        Column("candidate", flex=True),
        Column("difference", 10, right=True),
    )


def numbers(runs: RunsState) -> Iterator[Row]:
    """Its rows; what matters first, for a narrow screen has room for fifteen."""
    sides = (runs.baseline, runs.candidate)
    if not any(sides):
        return
    for title, told in _ROWS:
        cells = tuple(told(side) if side else NONE for side in sides)
        yield Row(title, ((title, "dim"), *cells, _relative(title, runs)))
        if title == "accept len" and runs.comparison:
            yield from _known_lengths(runs.comparison)


def _known_lengths(found: ComparisonView) -> Iterator[Row]:
    """What the accept length is held against."""
    yield Row("break-even", (("  break-even", "dim"), NONE, format_number(found.break_even_accept_len), ""))
    if found.golden:
        golden = f"{format_number(found.golden.expected)} at {found.golden.steps or 'unknown'} steps"
        apart = format_percent(found.golden.difference, signed=True)
        yield Row("golden", (("  golden", "dim"), NONE, golden, apart))


def _told_run(run: RunView) -> Line:
    return (f"{run.run_id}{' SIMULATED' if run.simulated else ''}", "warn" if run.simulated else "")


def _told_valid(run: RunView) -> Line:
    return ("valid", "ok") if run.valid else (f"INVALID: {run.why}", "error")


def _interval(run: RunView) -> str:
    return f"{run.interval[0]:.1f} to {run.interval[1]:.1f}" if run.interval else NONE


def _latency(found: Latency | None) -> str:
    return f"{found.p50:.2f} / {found.p99:.2f} ms" if found else NONE


def _ms(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f} ms"


def _server(run: RunView, name: Literal["tok_s", "accept_len"], digits: int) -> Line:
    """What the server says, and how far that is from the client's own figure where they disagree."""
    found: Beside | None = getattr(run.server, name, None)
    if run.server is None or found is None or found.server is None:
        return (NONE, "dim")
    told = format_number(found.server, digits)
    if found.apart is None:
        return (f"{told} ({run.server.windows} windows)", "")
    return (f"{told} ({format_percent(found.apart)} apart)", "warn")


def _blocks(run: RunView) -> str:
    return " ".join(f"{block:.1f}" for block in run.blocks) or NONE


_ROWS: tuple[tuple[str, Callable[[RunView], Line | str]], ...] = (
    ("profile", lambda run: run.profile or NONE),
    ("run", _told_run),
    ("valid", _told_valid),
    ("output", lambda run: (format_rate(run.output_tok_s), "head")),
    ("  95 %", _interval),
    ("accept len", lambda run: (format_number(run.accept_len, 4), "head")),
    ("ttft p50/p99", lambda run: _latency(run.ttft_ms)),
    ("tpot p50/p99", lambda run: _latency(run.tpot_ms)),
    ("cycle", lambda run: _ms(run.cycle_ms)),
    ("per token", lambda run: _ms(run.step_ms)),
    ("chunk gap", lambda run: _latency(run.chunk_gap_ms)),
    ("e2e p50/p99", lambda run: _latency(run.e2e_ms)),
    ("decode", lambda run: format_rate(run.decode_tok_s)),
    ("steady", lambda run: format_rate(run.steady_tok_s)),
    ("server tok/s", lambda run: _server(run, "tok_s", 1)),
    ("server accept", lambda run: _server(run, "accept_len", 4)),
    ("server graphs", lambda run: format_percent(run.server.graph_share) if run.server else NONE),
    ("verify", lambda run: _ms(run.server.verify_ms) if run.server else NONE),
    ("speculation", lambda run: run.speculation or NONE),
    ("blocks", _blocks),
    ("streams", lambda run: NONE if run.concurrency is None else str(run.concurrency)),
    ("requests", lambda run: f"{run.requests} ({run.completion_tokens} tokens)"),
    ("at", lambda run: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.at))),
)
_VALUES: dict[str, Callable[[RunView], float | None]] = {
    "output": lambda run: run.output_tok_s,
    "decode": lambda run: run.decode_tok_s,
    "steady": lambda run: run.steady_tok_s,
    "ttft p50/p99": lambda run: run.ttft_ms.p50 if run.ttft_ms else None,
    "tpot p50/p99": lambda run: run.tpot_ms.p50 if run.tpot_ms else None,
    "chunk gap": lambda run: run.chunk_gap_ms.p50 if run.chunk_gap_ms else None,
    "e2e p50/p99": lambda run: run.e2e_ms.p50 if run.e2e_ms else None,
    "accept len": lambda run: run.accept_len,
    "cycle": lambda run: run.cycle_ms,
    "per token": lambda run: run.step_ms,
}


def _relative(title: str, runs: RunsState) -> str:
    if title not in _VALUES or not (runs.baseline and runs.candidate):
        return ""
    a, b = (_VALUES[title](side) for side in (runs.baseline, runs.candidate))
    return format_percent(b / a - 1, signed=True) if a and b else ""
