"""status NODE…: GPUs, who holds them, servers, probes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli import _several as several
from console.cli._shared import Options, emit, on_node, shared_options
from console.units import plain

if TYPE_CHECKING:
    from console.actions.node import Node


@click.command("status")
@several.nodes_argument
@shared_options
def COMMAND(nodes: tuple[str, ...], options: Options) -> int:
    """Show GPUs, holders and servers of NODE, or of several."""
    if len(nodes) > 1:
        import asyncio  # 27 ms that --help need not pay

        return asyncio.run(_statuses(nodes, options))
    return on_node(nodes[0], options, lambda connected: _status(connected, options))


async def _statuses(names: tuple[str, ...], options: Options) -> int:
    from console.actions.status import read

    async def look(one: several.One) -> None:
        assert one.node
        one.outcome = await read(one.node)

    async with several.open_nodes(names, options) as ones:
        await several.each(ones, look)
        return several.tell(options, ones)


async def _status(node: Node, options: Options) -> int:
    from console.actions.status import read

    status = await read(node)
    if options.as_json:
        emit(options, True, node.name, status.to_json())
        return 0
    for line in status.lines():
        click.echo(plain(line))
    return 0
