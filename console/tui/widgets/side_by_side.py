"""Two runs as bars on common scales: throughput with its interval, latencies, histogram, cycle against break-even."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.tui.text import bar, fit, tone_of
from console.tui.widgets.drawing import difference_line, interval_bar
from console.units import NONE, format_number, format_percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.runs_state import ComparisonView, Latency, RunsState, RunView, Stages
    from console.tui.text import Line, Tone
    from console.tui.widgets.drawing import Drawn

LABEL = 10
TOLD = 25
"""Cells for the numbers behind a bar."""
LATENCIES = (("ttft", "ttft_ms"), ("tpot", "tpot_ms"), ("chunk gap", "chunk_gap_ms"), ("e2e", "e2e_ms"))
STAGES: tuple[tuple[str, str, Tone], ...] = (
    ("draft", "█", "ok"),
    ("verify", "▓", "accent"),
    ("extend", "▒", ""),
    ("other", "░", "dim"),
)
"""Told apart without colours too."""
SIDES: tuple[tuple[str, Tone], ...] = (("baseline", "dim"), ("candidate", "accent"))


def side_by_side(runs: RunsState, width: int) -> Iterator[Drawn]:
    """Every picture there is of the two sides, under each other."""
    sides = (runs.baseline, runs.candidate)
    if not any(sides):
        yield (("no run is stored: a benchmark of a running server makes one", "dim"),)
        return
    room = max(8, width - LABEL - TOLD)
    yield from _throughput(sides, room)
    if runs.comparison:
        yield from _difference(runs.comparison, room)
    yield from _histograms(sides, width)
    if runs.comparison and runs.comparison.golden:
        yield _golden(runs.comparison)
    yield from _cycles(runs, room)
    for title, name in LATENCIES:
        yield from _latencies(title, [getattr(side, name) if side else None for side in sides], room)


def _throughput(sides: tuple[RunView | None, ...], room: int) -> Iterator[Drawn]:
    yield _head("output tok/s", "shaded: 95 % of the mean of its blocks")
    rates = [(side.output_tok_s, side.interval) if side else (None, None) for side in sides]
    top = max((max(rate or 0.0, interval[1] if interval else 0.0) for rate, interval in rates), default=0.0)
    for (name, tone), (rate, interval) in zip(SIDES, rates, strict=True):
        between = f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval else ""
        yield _bar(name, interval_bar(rate, interval, top, room), f"{format_number(rate, 1)}{between}", tone)


def _difference(found: ComparisonView, room: int) -> Iterator[Drawn]:
    if found.difference is None or found.interval is None:
        return
    low, high = (format_percent(each, signed=True) for each in found.interval)
    tone = tone_of(found.verdict)
    drawn = difference_line(found.difference, found.interval, room - 1)
    yield ((fit("difference", LABEL + 1), "dim"), (drawn, tone), (f" {low} to {high}", tone))


def _latencies(title: str, found: list[Latency | None], room: int) -> Iterator[Drawn]:
    if not any(found):
        return
    yield _head(f"{title} ms", "full: p50, shaded: to p99")
    top = max(each.p99 for each in found if each)
    for (name, tone), each in zip(SIDES, found, strict=True):
        drawn = interval_bar(each.p50 if each else None, (each.p50, each.p99) if each else None, top, room)
        yield _bar(name, drawn, f"{each.p50:.2f}, p99 {each.p99:.2f}" if each else NONE, tone)


def _histograms(sides: tuple[RunView | None, ...], width: int) -> Iterator[Drawn]:
    """Verifications by accepted drafts, each side by its own sum."""
    longest = max((len(side.accept_hist) for side in sides if side), default=0)
    if not longest:
        return
    yield _head("verifications by accepted drafts", "share of each side")
    half = max(12, (width - LABEL) // 2)
    yield (
        " " * LABEL,
        *((fit(_held(side, name), half), tone) for side, (name, tone) in zip(sides, SIDES, strict=True)),
    )
    for accepted in range(longest):
        cells = (_share(side, accepted, half, tone) for side, (_name, tone) in zip(sides, SIDES, strict=True))
        yield ((fit(f"accepted {accepted}", LABEL), "dim"), *cells)


def _held(side: RunView | None, name: str) -> str:
    if side is None:
        return name
    if not side.accept_hist:
        return f"{name}: {'not known' if side.speculation else 'no speculation'}"
    return f"{name}: accept_len {format_number(side.accept_len, 4)}"


def _share(side: RunView | None, accepted: int, half: int, tone: Tone) -> Line:
    if side is None or accepted >= len(side.accept_hist):
        return (" " * half, "")
    counts = side.accept_hist
    drawn = bar(counts[accepted], max(counts), max(2, half - 15)).replace("░", " ")
    return (fit(f" {counts[accepted]:>5} {counts[accepted] / (sum(counts) or 1):>5.1%} {drawn}", half), tone)


def _golden(found: ComparisonView) -> Drawn:
    golden = found.golden
    assert golden
    at = f"{format_number(golden.expected)} at {golden.steps or 'unknown'} steps"
    apart = f", measured {format_percent(golden.difference, signed=True)}" if golden.difference is not None else ""
    return (("golden    ", "dim"), f"accept_len {at}{apart} ", (golden.name, "dim"))


def _cycles(runs: RunsState, room: int) -> Iterator[Drawn]:
    """What a cycle takes beside what the baseline takes for as many tokens; and its parts, where they are known."""
    run, found = runs.candidate, runs.comparison
    step = runs.baseline.step_ms if runs.baseline else None
    if run is None or run.cycle_ms is None or run.accept_len is None:
        return
    yield _head("cycle ms", "beside the baseline's time for as many tokens")
    needs = step * run.accept_len if step else None
    parts = run.server.stages if run.server else None
    top = max(run.cycle_ms, needs or 0.0, parts.cycle_ms if parts else 0.0)
    if needs is not None:
        told = f"{needs:.1f} ({step:.1f} a token)"
        yield _bar("baseline", interval_bar(needs, None, top, room), told, "dim")
    yield _bar("candidate", interval_bar(run.cycle_ms, None, top, room), _cycle(run), "accent")
    if parts:
        yield from _parts(parts, top, room)
    if found and found.break_even_accept_len is not None and step:
        even = found.break_even_accept_len
        tone: Tone = "ok" if run.accept_len >= even else "error"
        told = f"accept_len {even:.2f} = cycle {run.cycle_ms:.2f} ms / step {step:.2f} ms; "
        yield (("break-even ", "dim"), told, (f"it has {run.accept_len:.2f}", tone))


def _cycle(run: RunView) -> str:
    return f"{format_number(run.cycle_ms, 1)} for {format_number(run.accept_len)} tokens"


def _parts(parts: Stages, top: float, room: int) -> Iterator[Drawn]:
    known = [parts.draft_ms, parts.verify_ms, parts.extend_ms]
    rest = parts.cycle_ms - sum(each or 0.0 for each in known)
    lengths = [*known, max(0.0, rest)]
    drawn: list[Line] = []
    at, begun = 0.0, 0
    for (_name, char, tone), length in zip(STAGES, lengths, strict=True):
        at += length or 0.0
        end = round(at / top * room)
        drawn.append((char * (end - begun), tone))
        begun = end
    yield ((fit("its parts", LABEL), "dim"), *drawn, " " * (room - begun), f" {parts.cycle_ms:.1f}")
    legend = (
        (f"{char} {name} {format_number(length, 1)}  ", tone)
        for (name, char, tone), length in zip(STAGES, lengths, strict=True)
        if length is not None
    )
    yield (" " * LABEL, *legend)
    yield (" " * LABEL, (parts.source, "dim"))


def _head(title: str, meaning: str) -> Drawn:
    return ((title, "head"), (f"  {meaning}", "dim"))


def _bar(name: str, drawn: str, told: str, tone: Tone) -> Drawn:
    return ((fit(name, LABEL), "dim"), (drawn, tone), f" {told}")
