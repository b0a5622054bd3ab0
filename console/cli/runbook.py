"""runbook NODE [PROFILE]: the whole loop with a checklist and a proof for each step."""

from __future__ import annotations

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
    from console.actions.node import Node
    from console.actions.runbook import RunbookRequest


@click.command("runbook")
@node_argument
@click.argument("profile", required=False)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set a profile key.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set an environment variable of the server.")
@click.option("--allow", multiple=True, metavar="RULE", help="Launch in spite of this finding; recorded.")
@click.option("--delivery", type=click.Choice(["overlay", "in-place"]), help="Of the patches; an overlay by default.")
@click.option("--from", "start", metavar="STEP", help="Resume at this step.")
@shared_options
def COMMAND(node: str, options: Options, **chosen: Any) -> int:
    """Free, patch, launch, probe, read the shapes and compare, on NODE with PROFILE (by default the node's own)."""
    from console.actions.runbook import RunbookRequest
    from console.cli._nodes import profile_of

    async def walk_profile(connected: Node) -> int:
        named = {**chosen, "profile": profile_of(connected, chosen["profile"])}
        return await walk(connected, options, RunbookRequest(**named))

    return on_node(node, options, walk_profile)


async def walk(node: Node, options: Options, request: RunbookRequest) -> int:
    """Plan, confirm, walk; the exit code is the failed step's."""
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
    if outcome.error is None:
        return 0
    tell_error(outcome.error)
    failed = outcome.failed
    say(f"resume: spec-console runbook {node.name} {request.profile} --from {failed.id if failed else 'free'}")
    return outcome.error.exit_code
