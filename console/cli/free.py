"""free NODE: end this operator's servers (or what is named) and measure that the GPUs are free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, confirm, node_argument, on_node, report, say, shared_options

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.node.free_plan import FreeRequest


@click.command("free")
@node_argument
@click.option("--gpu", "gpus", type=int, multiple=True, help="Only these GPU indexes.")
@click.option("--server", "servers", multiple=True, help="Only these servers (run id or its end).")
@click.option("--pid", "pids", type=int, multiple=True, help="Also this process of the same user.")
@click.option("--include-foreign", is_flag=True, help="Allow --pid of another user; needs --confirm-host.")
@click.option("--confirm-host", help="The node's host name, typed out.")
@click.option("--sweep-shm", is_flag=True, help="Also remove /dev/shm leftovers of dead processes of this account.")
@click.option("--grace", "grace_s", type=float, default=30.0, show_default=True, help="Seconds between TERM and KILL.")
@shared_options
def COMMAND(node: str, options: Options, **chosen: Any) -> int:
    """Free the GPUs of NODE, by verified identity, and show each GPU's measured state."""
    from console.node.free_plan import FreeRequest

    request = FreeRequest(**chosen)
    return on_node(node, options, lambda connected: _free(connected, options, request))


async def _free(node: Node, options: Options, request: FreeRequest) -> int:
    from console.actions import free_gpus

    plan = await free_gpus.plan(node, request)
    # Nothing to end needs no confirmation: the verdict is a reading.
    if options.dry_run or not plan.is_empty:
        if not confirm(options, plan.lines(), {}, node.name):
            return 0
    return report(options, node.name, await free_gpus.run(node, plan, say))
