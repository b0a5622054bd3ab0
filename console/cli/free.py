"""free NODE…: end this operator's servers (or what is named) and measure that the GPUs are free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli import _several as several
from console.cli._shared import Options, confirm, on_node, report, say, shared_options
from console.errors import UsageError

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.node.free_plan import FreePlan, FreeRequest


@click.command("free")
@several.nodes_argument
@click.option("--gpu", "gpus", type=int, multiple=True, help="Only these GPU indexes.")
@click.option("--server", "servers", multiple=True, help="Only these servers (run id or its end).")
@click.option("--pid", "pids", type=int, multiple=True, help="Only this process; its server ends with it.")
@click.option("--include-foreign", is_flag=True, help="Allow --pid of another user; needs --confirm-host.")
@click.option("--confirm-host", help="The node's host name, typed out: also for a --pid that frees no GPU.")
@click.option("--sweep-shm", is_flag=True, help="Also remove /dev/shm leftovers of dead processes of this account.")
@click.option("--grace", "grace_s", type=float, default=30.0, show_default=True, help="Seconds between TERM and KILL.")
@shared_options
def COMMAND(nodes: tuple[str, ...], options: Options, **chosen: Any) -> int:
    """Free the GPUs of NODE, or of several, and measure that.

    Processes are ended by verified identity, and each GPU is shown as it was measured."""
    from console.node.free_plan import FreeRequest

    request = FreeRequest(**chosen)
    if len(nodes) == 1:
        return on_node(nodes[0], options, lambda connected: _free(connected, options, request))
    of_one = [name for name in ("servers", "pids", "confirm_host") if chosen[name]]
    if of_one:
        raise UsageError(
            f"--{of_one[0].removesuffix('s').replace('_', '-')} means something on one node",
            "Name one node, or leave it out.",
        )
    import asyncio  # 27 ms that --help need not pay

    return asyncio.run(_free_all(nodes, options, request))


async def _free_all(names: tuple[str, ...], options: Options, request: FreeRequest) -> int:
    """Plan on every node, show all the plans, ask once, and carry out each."""
    from console.actions import free_gpus

    plans: dict[str, FreePlan] = {}

    async def plan(one: several.One) -> None:
        assert one.node
        plans[one.name] = await free_gpus.plan(one.node, request)

    async def run(one: several.One) -> None:
        assert one.node
        one.outcome = await free_gpus.run(one.node, plans[one.name], one.say)

    async with several.open_nodes(names, options) as ones:
        await several.each(ones, plan)
        lines = [f"{name}: {line}" for name in names if name in plans for line in plans[name].lines()]
        if options.dry_run or not all(each.is_empty for each in plans.values()):
            if not confirm(options, lines, {}, None):
                several.complain(ones)
                return max(one.code for one in ones)
        await several.each(ones, run)
        return several.tell(options, ones)


async def _free(node: Node, options: Options, request: FreeRequest) -> int:
    from console.actions import free_gpus

    plan = await free_gpus.plan(node, request)
    # Nothing to end needs no confirmation: the verdict is a reading.
    if options.dry_run or not plan.is_empty:
        if not confirm(options, plan.lines(), {}, node.name):
            return 0
    return report(options, node.name, await free_gpus.run(node, plan, say))
