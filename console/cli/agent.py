"""agent ls|gc NODE: our footprint on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, confirm, emit, node_argument, on_node, report, say, shared_options
from console.units import plain

if TYPE_CHECKING:
    from console.actions.node import Node


@click.group("agent")
def COMMAND() -> None:
    """Show or remove what spec-console keeps on a node."""


@COMMAND.command("ls")
@node_argument
@shared_options
def _ls(node: str, options: Options) -> int:
    """List cached agents, run directories and kept file texts on NODE."""

    async def work(connected: Node) -> int:
        from console.actions import footprint

        found = await footprint.plan(connected)
        if options.as_json:
            emit(options, True, connected.name, found.to_json())
        else:
            for line in footprint.listing(found.found):
                click.echo(plain(line))
        return 0

    return on_node(node, options, work)


@COMMAND.command("gc")
@node_argument
@click.option(
    "--keep-days", type=float, default=7.0, show_default=True, help="Keep ended runs and overlays that are younger."
)
@shared_options
def _gc(node: str, options: Options, keep_days: float) -> int:
    """Remove what is ours on NODE and in use by nothing."""

    async def work(connected: Node) -> int:
        from console.actions import footprint

        plan = await footprint.plan(connected, keep_days * 86400)
        if options.dry_run or not plan.is_empty:
            if not confirm(options, plan.lines(), plan.to_json(), connected.name):
                return 0
        return report(options, connected.name, await footprint.run(connected, plan, say))

    return on_node(node, options, work)
