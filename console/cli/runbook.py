"""runbook NODE [PROFILE|FILE]: the whole loop with a checklist and a proof for each step."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import (
    Options,
    confirm,
    emit,
    error_json,
    node_argument,
    on_node,
    say,
    shared_options,
    tell_error,
)
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.actions.node import Node
    from console.actions.runbook import RunbookOutcome, RunbookRequest


@click.command("runbook")
@node_argument
@click.argument("profile", required=False, metavar="[PROFILE|FILE]")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set a profile key.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set an environment variable of the server.")
@click.option("--allow", multiple=True, metavar="RULE", help="Launch in spite of this finding; recorded.")
@click.option("--delivery", type=click.Choice(["overlay", "in-place"]), help="Of the patches; an overlay by default.")
@click.option("--from", "start", metavar="STEP", help="Resume at this step.")
@click.option("--skip", multiple=True, metavar="STEP", help="Leave this step out.")
@click.option("--insert", multiple=True, metavar="KIND[:STEP]", help="Put a step in before STEP, else at the end.")
@click.option("--save", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan as a file, run nothing.")
@shared_options
def COMMAND(node: str, options: Options, save: Path | None, **chosen: Any) -> int:
    """Walk the loop from free to compare, each step proved.

    Free, patch, launch, probe, read the shapes and compare, on NODE with PROFILE (by default the node's own).

    FILE is a runbook that --save wrote. Steps: free patch baseline launch probe shapes compare; stop and revert can be
    put in.
    """

    async def walk_profile(connected: Node) -> int:
        request = _request(connected, chosen)
        if save is not None:
            return await _save(connected, options, request, save)
        return await walk(connected, options, request, _again(node, chosen))

    return on_node(node, options, walk_profile)


def _request(node: Node, chosen: dict[str, Any]) -> RunbookRequest:
    """What is asked for, by a profile or by a file."""
    from console.actions import runbook_file
    from console.actions.runbook import RunbookRequest
    from console.cli._nodes import profile_of

    named = chosen["profile"]
    if named is not None and runbook_file.is_runbook(named):
        return runbook_file.request_of(runbook_file.read(Path(named)), RunbookRequest(**chosen))
    return RunbookRequest(**{**chosen, "profile": profile_of(node, named)})


async def _save(node: Node, options: Options, request: RunbookRequest, path: Path) -> int:
    from console import new_file
    from console.actions import runbook, runbook_file

    plan = await runbook.plan(node, request)
    told = {"steps": [step.to_json() for step in plan.steps], "path": str(path)}
    if options.dry_run:
        runbook_file.text_of(path, plan)  # raises what cannot be written
        confirm(options, plan.lines(), told, node.name, new_file.in_the_way(path))
        say(f"would write {path}")
        return 0
    runbook_file.write(path, plan)
    if options.as_json:
        emit(options, True, node.name, told)
    else:
        for line in plan.lines():
            click.echo(plain(line))
        say(f"wrote {path}")
    return 0


async def walk(node: Node, options: Options, request: RunbookRequest, again: Sequence[str] = ()) -> int:
    """Plan, confirm, walk; the exit code is the failed step's. `again`: the words that resume it, but for --from."""
    from console.actions import runbook

    plan = await runbook.plan(node, request)
    if not confirm(options, plan.lines(), {"steps": [step.to_json() for step in plan.steps]}, node.name):
        return 0
    outcome = await runbook.run(node, plan, say)
    values = outcome.to_json()
    if outcome.error:
        values["error"] = error_json(outcome.error)
    if options.as_json:
        emit(options, outcome.ok, node.name, values)
    else:
        for line in outcome.lines():
            click.echo(plain(line))
    for line in _goes_on(node, outcome):
        say(line)
    if outcome.error is None:
        return 0
    tell_error(outcome.error)
    words = again or ("spec-console", "runbook", node.name, request.profile)
    say(f"resume: {shlex.join([*words, '--from', outcome.failed.id if outcome.failed else 'free'])}")
    return outcome.error.exit_code


def _goes_on(node: Node, outcome: RunbookOutcome) -> Iterator[str]:
    """What the walk leaves: a comparison without a verdict, a server that runs."""
    found = outcome.comparison
    if found is not None and found.verdict == "withheld":
        pair = f"{found.baseline.run_id} {found.candidate.run_id}"
        yield f"withheld is no failure: `spec-console compare {pair}` lists all that differs"
    if outcome.server is not None:
        yield (
            f"server {outcome.server.run_id} goes on, on port {outcome.server.port}: "
            f"`spec-console stop {node.name} --yes` ends it"
        )


def _again(node: str, chosen: dict[str, Any]) -> list[str]:
    """The words to type again, but for --from; what looks secret is left for the user to fill in."""
    from console.actions.runbook import RunbookRequest

    words = ["spec-console", "runbook", node, *filter(None, [chosen["profile"]]), *RunbookRequest(**chosen).changes()]
    steps = [word for name in ("skip", "insert") for each in chosen[name] for word in (f"--{name}", each)]
    return [*words, *steps]
