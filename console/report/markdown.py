"""Owns Markdown notes of a run and of a comparison: both numbers, the verdict, what differs, where it is from."""

from __future__ import annotations

from email.utils import formatdate
from typing import TYPE_CHECKING

from console.probe.compare import marks
from console.probe.context import NO_CONTEXT
from console.probe.speculation import speculation_of
from console.report.escape import code, markdown
from console.units import NONE, format_number, format_percent, format_rate, format_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from console.probe.compare import Comparison
    from console.probe.context import RunContext
    from console.probe.distribution import Distribution
    from console.probe.fingerprint import Fingerprint
    from console.probe.outputs import OutputComparison
    from console.probe.stored import StoredRun

SHOWN = 20
"""Divergences that a note lists."""


def run_note(run: StoredRun, context: RunContext = NO_CONTEXT) -> str:
    """Return a note of one run."""
    return _text(
        [
            f"# Probe run {code(run.run_id)}",
            *_warnings([run]),
            *_labels(context),
            *_table(["measured", "value"], _measured([run])),
            *_section("Notes", [f"- {markdown(note)}" for note in run.result.notes]),
            *_section("Provenance", _table(["what", "value"], _provenance([run]))),
        ]
    )


def comparison_note(found: Comparison, outputs: OutputComparison | None = None) -> str:
    """Return a note of a comparison."""
    runs = [found.baseline, found.candidate]
    return _text(
        [
            f"# {code(found.candidate.run_id)} against {code(found.baseline.run_id)}",
            *_warnings(runs),
            f"**Verdict: {format_verdict(found.verdict)}**{_because(found)}",
            *_statistics(found),
            *_table(["measured", "baseline", "candidate"], _measured(runs)),
            _break_even(found),
            *_golden(found),
            *_section("Differs", _table(["what", "baseline", "candidate", "declared"], _differences(found))),
            *(_section("Outputs", _outputs(outputs)) if outputs else []),
            *_section("Notes", [f"- {markdown(note)}" for note in found.notes]),
            *_folded("Provenance", _table(["what", "baseline", "candidate"], _provenance(runs))),
        ]
    )


def _text(paragraphs: Iterable[str]) -> str:
    """Paragraphs with an empty line between; rows of one table or list stay together."""
    lines: list[str] = []
    for each in paragraphs:
        together = bool(lines) and each[:2] == lines[-1][:2] and each[:2] in ("| ", "- ")
        lines += [each] if together or not lines else ["", each]
    return "\n".join(lines) + "\n"


def _section(title: str, body: Sequence[str]) -> list[str]:
    return [f"## {title}", *body] if body else []


def _folded(title: str, body: Sequence[str]) -> list[str]:
    """A section that a pull request shows closed."""
    return [f"<details><summary>{title}</summary>", *body, "</details>"] if body else []


def _labels(context: RunContext) -> Iterator[str]:
    if context.note:
        yield f"Note: {markdown(context.note)}"
    words = ("pinned as baseline" if context.pinned else "", ", ".join(context.tags))
    if any(words):
        yield f"Tags: {markdown(', '.join(filter(None, words)))}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |", *body] if body else []


def _warnings(runs: Sequence[StoredRun]) -> Iterator[str]:
    for run in runs:
        for mark in marks(run.fingerprint):
            yield f"> {code(run.run_id)}: **{markdown(mark)}**"
        if not run.result.valid:
            yield f"> {code(run.run_id)}: **not a valid run**: {markdown(run.result.why)}"


def _because(found: Comparison) -> str:
    return f": {markdown(found.why)}" if found.why else ""


def _break_even(found: Comparison) -> str:
    length = format_number(found.cycle.break_even_accept_len)
    return f"Break-even accept\\_len {length}. {markdown(found.cycle.formula)}"


def _statistics(found: Comparison) -> Iterator[str]:
    contrast = found.contrast
    if contrast.interval is None:
        return
    low, high = (format_percent(each, signed=True) for each in contrast.interval)
    yield (
        f"Difference {format_percent(contrast.difference, signed=True)} (95 % interval {low} to {high}), "
        f"by {found.unit}, n {contrast.n[0]} and {contrast.n[1]}, "
        f"launches {found.launches[0]} and {found.launches[1]}. "
        f"A slowdown of {format_percent(contrast.detectable)} would have been found nine times in ten."
    )


def _ms(found: Distribution | None) -> str:
    if found is None:
        return NONE
    shares = (("p50", found.p50), ("p90", found.p90), ("p95", found.p95), ("p99", found.p99))
    return f"mean {found.mean:.2f} ms, " + ", ".join(f"{name} {format_number(each)}" for name, each in shares)


def _hist(counts: Sequence[int] | None) -> str:
    return NONE if counts is None else " ".join(map(str, counts))


def _server(run: StoredRun) -> str:
    server = run.result.server
    if server is None:
        return NONE
    return (
        f"{format_rate(server.gen_tok_s)}, accept\\_len {format_number(server.accept_len, 4)}, {server.windows} windows"
    )


def _cycle(run: StoredRun) -> str:
    server = run.result.server
    split = server.cycle if server else None
    whole = "" if run.result.cycle_ms is None else f"{run.result.cycle_ms:.2f} ms"
    if split is None:
        return whole or NONE
    parts = (("draft", split.draft_ms), ("verify", split.verify_ms), ("extend", split.extend_ms))
    told = ", ".join(f"{name} {format_number(each)}" for name, each in parts)
    return f"{whole} (eagle3\\-cycle: {told} ms)".strip()


_MEASURED: tuple[tuple[str, Callable[[StoredRun], str]], ...] = (
    ("output, all blocks", lambda run: format_rate(run.result.output_tok_s)),
    ("output, while all streams run", lambda run: format_rate(run.result.steady_tok_s)),
    ("decode of one stream", lambda run: format_rate(run.result.decode_tok_s)),
    ("blocks, tok/s", lambda run: ", ".join(f"{block:.1f}" for block in run.result.blocks) or NONE),
    ("accept\\_len", lambda run: format_number(run.result.accept_len, 4)),
    ("accept\\_len is", lambda run: markdown(run.result.accept_len_formula) or NONE),
    ("verifications by accepted drafts", lambda run: _hist(run.result.accept_hist)),
    ("cycle", _cycle),
    ("time to first token", lambda run: _ms(run.result.ttft_ms)),
    ("time per output token", lambda run: _ms(run.result.tpot_ms)),
    ("gap between chunks", lambda run: _ms(run.result.chunk_gap_ms)),
    ("request, end to end", lambda run: _ms(run.result.e2e_ms)),
    ("by the server itself", _server),
    ("requests", lambda run: f"{run.result.requests} ({run.result.completion_tokens} tokens)"),
)


def _measured(runs: Sequence[StoredRun]) -> Iterator[list[str]]:
    for title, told in _MEASURED:
        cells = [told(run) for run in runs]
        if any(cell != NONE for cell in cells):
            yield [title, *cells]


def _golden(found: Comparison) -> Iterator[str]:
    point = found.golden
    if point is not None:
        yield (
            f"Golden curve {markdown(point.name)}: accept\\_len {format_number(point.expected)} at "
            f"{point.steps or 'unknown'} steps; measured {format_number(point.measured)} "
            f"({format_percent(point.difference, signed=True)}). {markdown(point.source)}".rstrip()
        )


def _differences(found: Comparison) -> Iterator[list[str]]:
    for each in found.differs:
        word = "yes" if each.declared else "**no**" if each.withholds else "without effect on speed"
        yield [code(each.key), code(each.a or "") or NONE, code(each.b or "") or NONE, word]


def _outputs(found: OutputComparison) -> list[str]:
    if found.verdict == "unknown":
        return [f"Not compared: {markdown(found.why)}"]
    told = f"{found.same} of {found.requests} greedy outputs are the same; {found.alike} of {found.total} {found.unit} "
    rows = [
        [f"{each.block + 1}", f"{each.index + 1}", f"{each.at}", markdown(each.a), markdown(each.b)]
        for each in found.divergences[:SHOWN]
    ]
    return [f"{told}before they part.", *_table(["block", "request", "after", "baseline", "candidate"], rows)]


def _provenance(runs: Sequence[StoredRun]) -> Iterator[list[str]]:
    for title, told in _PROVENANCE:
        cells = [code(told(run)) for run in runs]
        if any(cells):
            yield [title, *(cell or NONE for cell in cells)]


def _gpus(found: Fingerprint) -> str:
    if not found.gpu_names:
        return ""
    names = sorted(set(found.gpu_names))
    limits = sorted({f"{each:g} W" for each in found.power_limits_w if each is not None})
    return f"{found.gpu_count} x {', '.join(names)} {', '.join(limits)}".strip()


def _tree(found: Fingerprint) -> str:
    dirty = " with changes" if found.git_dirty else ""
    return f"{found.git_head[:12]}{dirty}" if found.git_head else ""


def _speculation(run: StoredRun) -> str:
    found = speculation_of(run.fingerprint.argv)
    return found.text() if found else "none"


_PROVENANCE: tuple[tuple[str, Callable[[StoredRun], str]], ...] = (
    ("run", lambda run: run.run_id),
    ("at", lambda run: formatdate(run.at, usegmt=True)),
    ("node", lambda run: run.node),
    ("profile", lambda run: f"{run.profile} {run.profile_hash[:12]}".strip()),
    ("launch", lambda run: run.launch_id),
    ("SGLang", lambda run: run.fingerprint.sglang_version or ""),
    ("tree", lambda run: _tree(run.fingerprint)),
    ("edits beyond our patches", lambda run: run.fingerprint.tree_edits or ""),
    ("patches", lambda run: ", ".join(each.patch_id for each in run.fingerprint.patches)),
    ("speculation", _speculation),
    ("GPUs", lambda run: _gpus(run.fingerprint)),
    ("driver", lambda run: run.fingerprint.driver or ""),
    ("model config", lambda run: (run.fingerprint.model_sha256 or "")[:12]),
    ("draft config", lambda run: (run.fingerprint.draft_sha256 or "")[:12]),
    ("prompts", lambda run: _prompts(run.fingerprint)),
    ("environment", lambda run: " ".join(f"{name}={value}" for name, value in run.fingerprint.env.items())),
    ("command", lambda run: " ".join(run.fingerprint.argv)),
)


def _prompts(found: Fingerprint) -> str:
    load = found.workload
    return f"{load.get('prompt', '')} {str(load.get('prompt_sha256', ''))[:12]}".strip()
