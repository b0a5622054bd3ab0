"""launch NODE [PROFILE]: findings, the exact command, then follow it until it is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, confirm, node_argument, on_node, report, say, shared_options

if TYPE_CHECKING:
    from console.actions.node import Node


@click.command("launch")
@node_argument
@click.argument("profile", required=False)
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set a profile key, e.g. speculative.num_steps=2."
)
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set an environment variable of the server.")
@click.option("--allow", multiple=True, metavar="RULE", help="Launch in spite of this finding; recorded.")
@shared_options
def COMMAND(
    node: str,
    options: Options,
    profile: str | None,
    sets: tuple[str, ...],
    env: tuple[str, ...],
    allow: tuple[str, ...],
) -> int:
    """Launch PROFILE on NODE, and wait until it is ready.

    The server is detached. Without PROFILE it is the node's own."""
    return on_node(node, options, lambda connected: _launch(connected, options, profile, sets, env, allow))


async def _launch(
    node: Node,
    options: Options,
    profile: str | None,
    sets: tuple[str, ...],
    env: tuple[str, ...],
    allow: tuple[str, ...],
) -> int:
    from console.actions import launch_server
    from console.cli._nodes import profile_of

    plan = await launch_server.plan(node, profile_of(node, profile), sets, env, allow)
    if not confirm(options, plan.lines(), plan.to_json(), node.name, plan.refusal):
        return 0
    return report(options, node.name, await launch_server.run(node, plan, say))
