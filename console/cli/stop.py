"""stop NODE: stop one server of this operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, confirm, node_argument, on_node, report, say, shared_options

if TYPE_CHECKING:
    from console.actions.node import Node


@click.command("stop")
@node_argument
@click.option("--server", help="Run id of the server, or its end.")
@click.option("--port", type=int, help="Port of the server.")
@click.option("--grace", "grace_s", type=float, default=30.0, show_default=True, help="Seconds between TERM and KILL.")
@shared_options
def COMMAND(node: str, options: Options, server: str | None, port: int | None, grace_s: float) -> int:
    """Stop the server of this operator on NODE, and prove it."""
    return on_node(node, options, lambda connected: _stop(connected, options, server, port, grace_s))


async def _stop(node: Node, options: Options, server: str | None, port: int | None, grace_s: float) -> int:
    from console.actions import stop_server

    plan = await stop_server.plan(node, server, port, grace_s)
    if not confirm(options, plan.lines(), {}, node.name):
        return 0
    return report(options, node.name, await stop_server.run(node, plan, say))
