"""sweep NODE PROFILE: every combination of some keys, launched and probed the same way; the best, and how sure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console import new_file
from console.cli._shared import Options, confirm, emit, node_argument, on_node, say, shared_options
from console.errors import EXIT_OK, ServerDied, UsageError
from console.units import plain

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.actions.sweep import PlannedSweep, SweepRequest
    from console.probe.sweep import SweepPoint
    from console.probe.sweep_outcome import SweepOutcome


@click.command("sweep")
@node_argument
@click.argument("profile", required=False)
@click.option("--steps", metavar="1-5", help="speculative.num_steps; with topk 1 the draft tokens go with them.")
@click.option("--set", "sets", multiple=True, metavar="KEY=V1,V2", help="Sweep a profile key; one value sets it.")
@click.option("--env", multiple=True, metavar="NAME=V1,V2", help="Sweep a variable of the server; empty: unset.")
@click.option(
    "--arg", "args", multiple=True, metavar="FLAG[=V1,V2]", help="Sweep a flag that profiles have no key for."
)
@click.option("--allow", multiple=True, metavar="RULE", help="Launch in spite of this finding; recorded.")
@click.option("--budget-min", type=click.FloatRange(min=0, min_open=True), help="Minutes that it may take.")
@click.option("--cycle", is_flag=True, help="Time verify too: one more launch for each point, with a patch on.")
@click.option("--resume", "again", metavar="ID", help="Go on with a sweep: its id, or @N for the N-th newest.")
@click.option("--save-profile", metavar="FILE", type=click.Path(path_type=Path), help="Write the best as a profile.")
@shared_options
def COMMAND(
    node: str,
    options: Options,
    profile: str | None,
    again: str | None,
    budget_min: float | None,
    save_profile: Path | None,
    **chosen: Any,
) -> int:
    """Sweep PROFILE on NODE: every combination, launched and probed.

    Axes by options, else the profile's `sweep:`; the baseline is measured first and last."""
    from console.actions.sweep import SweepRequest

    if save_profile is not None:
        _check_new(save_profile)
    given = [f"--{name}" for name, value in chosen.items() if value]
    if again is not None and given:
        raise UsageError(
            f"a resumed sweep keeps what it was begun with: without {', '.join(given)}", "--budget-min is new."
        )
    if again is None and profile is None:
        raise UsageError("which profile?", f"spec-console sweep {node} PROFILE --steps 1-5, or --resume ID.")
    request = SweepRequest(profile=profile or "", budget_min=budget_min, **chosen)
    return on_node(node, options, lambda connected: _sweep(connected, options, request, again, save_profile))


async def _sweep(
    node: Node, options: Options, request: SweepRequest, again: str | None, save_profile: Path | None
) -> int:
    from console.actions import sweep

    if again is None:
        planned = await sweep.plan(node, request)
    else:
        planned = await sweep.resume(node, again, request.budget_min)
        if request.profile not in ("", planned.request.profile):
            raise UsageError(f"sweep {planned.plan.sweep_id} is of {planned.request.profile}, not of {request.profile}")
    if not confirm(options, planned.lines(), planned.to_json(), node.name):
        return EXIT_OK
    table = _Table(options)
    outcome = await sweep.run(node, planned, say, table.show)
    told = outcome.to_json()
    if save_profile is not None and outcome.best is not None:
        told["saved_profile"] = _save(save_profile, planned, outcome)
        say(f"written: {save_profile}")
    if options.as_json:
        emit(options, outcome.ok, node.name, told)
    else:
        for line in outcome.lines():
            click.echo(plain(line))
    if outcome.ok:
        return EXIT_OK
    return ServerDied.exit_code if outcome.stopped else 1


class _Table:
    """One line for each point as it ends."""

    def __init__(self, options: Options) -> None:
        self._quiet = options.as_json
        self._told: set[int] = set()

    def show(self, outcome: SweepOutcome) -> None:
        for point in outcome.points:
            if point.state in ("done", "failed", "left_out") and point.number not in self._told:
                self._told.add(point.number)
                self._tell(point)

    def _tell(self, point: SweepPoint) -> None:
        if self._quiet:
            say(point.line())
        else:
            click.echo(plain(point.line()))


def _check_new(path: Path) -> None:
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--save-profile {path}: a profile is a .yaml file", "It is found by its file's name.")
    new_file.require_free(path)
    if not path.parent.is_dir():
        raise UsageError(f"--save-profile {path}: there is no folder {path.parent}", "Make it first.")


def _save(path: Path, planned: PlannedSweep, outcome: SweepOutcome) -> str:
    """Write the best point as a profile that extends the swept one; returns its path."""
    from console.actions.sweep import best_profile

    hint = "Nothing is written over: the sweep is kept, `--resume` it."
    new_file.write(path, best_profile(planned, outcome), hint)
    return str(path)
