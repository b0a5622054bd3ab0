"""runs: the stored runs, newest first."""

from __future__ import annotations

import time

import click

from console.cli._shared import Options, emit, shared_options
from console.units import format_number, format_rate, plain


@click.command("runs")
@click.option("--node", "of_node", help="Only runs on this node.")
@click.option("--limit", type=int, default=50, show_default=True)
@shared_options
def COMMAND(options: Options, of_node: str | None, limit: int) -> int:
    """List stored probe runs."""
    from console import paths
    from console.store.journal import Journal

    with Journal(paths.locate().database) as journal:
        runs = journal.list_runs(of_node, limit=limit)
    if options.as_json:
        emit(options, True, None, {"runs": [run.to_json() for run in runs]})
        return 0
    for run in runs:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.at))
        simulated = " SIMULATED" if run.fingerprint.simulated else ""
        valid = "" if run.result.valid else " INVALID"
        numbers = f"{format_rate(run.result.output_tok_s)} accept_len {format_number(run.result.accept_len)}"
        click.echo(plain(f"{run.run_id} {when} {run.node} {run.profile} {numbers}{valid}{simulated}"))
    return 0
