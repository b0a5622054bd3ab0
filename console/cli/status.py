"""status NODE: GPUs, who holds them, servers, probes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, emit, node_argument, on_node, shared_options
from console.units import plain

if TYPE_CHECKING:
    from console.actions.node import Node


@click.command("status")
@node_argument
@shared_options
def COMMAND(node: str, options: Options) -> int:
    """Show GPUs, holders and servers of NODE."""
    return on_node(node, options, lambda connected: _status(connected, options))


async def _status(node: Node, options: Options) -> int:
    from console.actions.status import read

    status = await read(node)
    if options.as_json:
        emit(options, True, node.name, status.to_json())
        return 0
    for line in status.lines():
        click.echo(plain(line))
    return 0
