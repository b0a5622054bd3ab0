"""compare RUN RUN: stored runs side by side; the verdict may be that there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli._journal import open_journal
from console.cli._shared import Options, emit, shared_options
from console.units import format_number, format_percent, format_rate, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.probe.compare import Comparison
    from console.probe.outputs import OutputComparison
    from console.probe.same_acceptance import AcceptanceCheck
    from console.probe.stored import StoredRun
    from console.store.journal import Journal

FAIL_IF = ("slower", "faster", "cant_tell", "withheld", "disagree", "texts_differ")


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="[BASELINE] CANDIDATE")
@click.option("--varies", multiple=True, help="Declare that this differs (default: the candidate's profile).")
@click.option("--golden", type=click.Path(path_type=Path), help="A YAML file with a known curve of accept lengths.")
@click.option("--outputs", "with_outputs", is_flag=True, help="Compare the greedy outputs too, token by token.")
@click.option("--acceptance", is_flag=True, help="Compare accept length, histogram and greedy text, not speed.")
@click.option("--markdown", is_flag=True, help="Write the comparison as a Markdown note.")
@click.option("--fail-if", type=click.Choice(FAIL_IF), help="Exit 1 then.")
@shared_options
def COMMAND(options: Options, runs: tuple[str, ...], acceptance: bool, **chosen: Any) -> int:
    """Compare stored runs, and say what differs.

    A run is an id, the beginning of one, or @1 for the newest; several of one configuration with commas.
    Without BASELINE it is the pinned run of the candidate's node (`runs pin`).
    """
    with open_journal() as journal:
        sides = _sides(journal, runs)
        outputs = _outputs(journal, sides) if acceptance or chosen["with_outputs"] else None
    if acceptance:
        return _tell_acceptance(options, sides, outputs, chosen)
    return _tell_comparison(options, sides, outputs, chosen)


def _sides(journal: Journal, references: tuple[str, ...]) -> list[list[StoredRun]]:
    """The runs on either side. Raises UsageError where a baseline is neither named nor pinned."""
    from console.errors import UsageError
    from console.probe.baseline import pinned_baseline

    if len(references) > 2:
        raise UsageError("two sides are compared", "Several runs of one side: compare RUN,RUN RUN.")
    sides = [[journal.get_run(each) for each in text.split(",")] for text in references]
    if len(sides) == 1:
        candidate = sides[0][0]
        pinned = [journal.get_run(each) for each in journal.pins(candidate.node)]
        baseline = pinned_baseline(candidate, pinned)
        if baseline is None:
            raise UsageError(
                f"no baseline is named, and none is pinned on {candidate.node}",
                f"compare BASELINE {candidate.run_id}, or `spec-console runs pin BASELINE` first.",
            )
        sides.insert(0, [baseline])
    return sides


def _keep(found: Comparison, varies: Sequence[str]) -> None:
    import time

    outcome = {"verdict": found.verdict, "why": found.why, "difference": found.contrast.difference}
    with open_journal() as journal:
        journal.add_verdict(time.time(), found.baseline, found.candidate, varies, outcome)


def _tell_comparison(
    options: Options, sides: list[list[StoredRun]], outputs: OutputComparison | None, chosen: dict[str, Any]
) -> int:
    from console import yaml_file
    from console.probe.compare import compare_pools
    from console.probe.golden import golden_of
    from console.report.markdown import comparison_note

    golden = golden_of(yaml_file.load_file(chosen["golden"])) if chosen["golden"] else None
    baselines, candidates = sides
    varies = chosen["varies"] or _declared(candidates[0].profile)
    found = compare_pools(baselines, candidates, varies, golden)
    _keep(found, varies)
    told = {"outputs": outputs.to_json()} if outputs else {}
    if options.as_json:
        emit(options, True, None, {**found.to_json(), **told})
    elif chosen["markdown"]:
        click.echo(comparison_note(found, outputs), nl=False)
    else:
        _echo(comparison_lines(found))
        _echo(output_lines(outputs) if outputs else iter(()))
    return _exit(found.verdict, outputs, chosen)


def _tell_acceptance(
    options: Options, sides: list[list[StoredRun]], outputs: OutputComparison | None, chosen: dict[str, Any]
) -> int:
    from console.errors import UsageError
    from console.probe.same_acceptance import check_acceptance

    if chosen["markdown"] or chosen["golden"]:
        raise UsageError("--acceptance goes with neither --markdown nor --golden")
    found = check_acceptance(sides[0][0], sides[1][0], outputs)
    if options.as_json:
        emit(options, True, None, found.to_json())
    else:
        _echo(acceptance_lines(found))
    return _exit(found.verdict, outputs, chosen)


def _outputs(journal: Journal, sides: list[list[StoredRun]]) -> OutputComparison:
    """Read both spools. Raises UsageError where a side is several runs."""
    from console.errors import UsageError
    from console.probe.outputs import compare_outputs
    from console.probe.trace import read_spool

    if any(len(side) > 1 for side in sides):
        raise UsageError("outputs are compared of two runs, not of several", "Give one run on each side.")
    a, b = (side[0] for side in sides)
    traces = [read_spool(journal.spool(run.run_id) or b"") for run in (a, b)]
    return compare_outputs(traces[0], traces[1], a.fingerprint.workload, b.fingerprint.workload)


def _exit(verdict: str, outputs: OutputComparison | None, chosen: dict[str, Any]) -> int:
    fail_if = chosen["fail_if"]
    parted = outputs is not None and outputs.verdict == "differs"
    return 1 if verdict == fail_if or (fail_if == "texts_differ" and parted) else 0


def _declared(profile: str) -> tuple[str, ...]:
    """What the candidate's profile says that varies; nothing when the profile is not here any more."""
    from console import paths
    from console.errors import UsageError
    from console.launch.library import Library
    from console.launch.loader import resolve

    try:
        declared = resolve(profile, Library(paths.locate().profiles)).profile.baseline
    except UsageError:
        return ("speculative",)
    return declared.varies if declared else ()


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Both numbers, the difference, what differs, the cycle arithmetic."""
    from console.probe.speculation import speculation_of

    for name, run in (("baseline", comparison.baseline), ("candidate", comparison.candidate)):
        simulated = " SIMULATED" if run.fingerprint.simulated else ""
        length = format_number(run.result.accept_len)
        speculation = speculation_of(run.fingerprint.argv)
        how = f" ({speculation.text()})" if speculation else ""
        numbers = f"{format_rate(run.result.output_tok_s)}, accept_len {length}{how}{simulated}"
        yield f"{name:>9} {run.run_id} {run.profile}: {numbers}"
    why = f": {comparison.why}" if comparison.why else ""
    yield f"verdict {comparison.verdict}{why}"
    yield from _statistics(comparison)
    for each in comparison.differs:
        declared = "declared" if each.declared else "UNDECLARED" if each.withholds else "without effect on speed"
        yield f"differs {each.key}: {each.a} | {each.b} ({declared})"
    cycle = comparison.cycle
    yield (
        f"cycle {format_number(cycle.cycle_ms)} ms, break-even accept_len {format_number(cycle.break_even_accept_len)} "
        f"({cycle.formula})"
    )
    if comparison.golden:
        yield f"golden {comparison.golden.text}"
    for note in comparison.notes:
        yield f"note: {note}"


def _statistics(comparison: Comparison) -> Iterator[str]:
    found = comparison.contrast
    if found.interval:
        low, high = (format_percent(each, signed=True) for each in found.interval)
        yield (
            f"difference {format_percent(found.difference, signed=True)} (95 %: {low} to {high}), "
            f"by {comparison.unit}, n {found.n[0]} and {found.n[1]}; "
            f"a slowdown of {format_percent(found.detectable)} would have been found"
        )
    if comparison.steady and comparison.steady.interval:
        low, high = (format_percent(each, signed=True) for each in comparison.steady.interval)
        yield f"steady windows {format_percent(comparison.steady.difference, signed=True)} (95 %: {low} to {high})"


def output_lines(found: OutputComparison) -> Iterator[str]:
    """How many outputs are the same, and where the others part first."""
    if found.verdict == "unknown":
        yield f"outputs: not compared: {found.why}"
        return
    part = f"{found.alike} of {found.total} {found.unit} before they part"
    yield f"outputs: {found.same} of {found.requests} the same; {part}"
    for each in found.divergences[:5]:
        yield f"  block {each.block + 1} request {each.index + 1} parts after {each.at} {found.unit}:"
        yield f"    baseline  {each.a}"
        yield f"    candidate {each.b}"
    if len(found.divergences) > 5:
        yield f"  and {len(found.divergences) - 5} more (--json has all)"


def acceptance_lines(found: AcceptanceCheck) -> Iterator[str]:
    """Both accept lengths and histograms, the text, what differs."""
    for run in (found.a, found.b):
        result = run.result
        hist = list(result.accept_hist) if result.accept_hist is not None else "unknown"
        yield f"{run.run_id} {run.profile}: accept_len {format_number(result.accept_len, 4)}, histogram {hist}"
    why = f": {found.why}" if found.why else ""
    distance = format_percent(found.histogram_distance)
    yield f"acceptance {found.verdict}{why}"
    yield f"accept_len {format_percent(found.difference, signed=True)}, histograms {distance} apart"
    if found.outputs:
        yield from output_lines(found.outputs)
    for each in found.differs:
        yield f"differs {each.key}: {each.a} | {each.b}"


def _echo(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(plain(line))
