"""compare RUN RUN: two stored runs side by side; the verdict may be that there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, emit, shared_options
from console.units import format_number, format_rate, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.probe.compare import Comparison


@click.command("compare")
@click.argument("baseline")
@click.argument("candidate")
@click.option("--varies", multiple=True, help="Declare that this differs (default: the candidate's profile).")
@click.option("--fail-if", type=click.Choice(["slower", "faster", "cant_tell", "withheld"]), help="Exit 1 then.")
@shared_options
def COMMAND(options: Options, baseline: str, candidate: str, varies: tuple[str, ...], fail_if: str | None) -> int:
    """Compare two stored runs: ids, beginnings of ids, or @1 for the newest."""
    from console import paths
    from console.probe.compare import compare
    from console.store.journal import Journal

    with Journal(paths.locate().database) as journal:
        a, b = journal.get_run(baseline), journal.get_run(candidate)
    comparison = compare(a, b, varies or _declared(b.profile))
    if options.as_json:
        emit(options, True, None, comparison.to_json())
    else:
        for line in comparison_lines(comparison):
            click.echo(plain(line))
    return 1 if comparison.verdict == fail_if else 0


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
    for name, run in (("baseline", comparison.baseline), ("candidate", comparison.candidate)):
        simulated = " SIMULATED" if run.fingerprint.simulated else ""
        length = format_number(run.result.accept_len)
        numbers = f"{format_rate(run.result.output_tok_s)}, accept_len {length}{simulated}"
        yield f"{name:>9} {run.run_id} {run.profile}: {numbers}"
    why = f": {comparison.why}" if comparison.why else ""
    yield f"verdict {comparison.verdict}{why}"
    for each in comparison.differs:
        declared = "declared" if each.declared else "UNDECLARED"
        yield f"differs {each.key}: {each.a} | {each.b} ({declared})"
    cycle = comparison.cycle
    yield (
        f"cycle {format_number(cycle.cycle_ms)} ms, break-even accept_len {format_number(cycle.break_even_accept_len)} "
        f"({cycle.formula})"
    )
    for note in comparison.notes:
        yield f"note: {note}"
