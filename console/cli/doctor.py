"""doctor NODE: the way there, option by option of its ssh configuration, and the connection itself."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, emit, error_json, node_argument, shared_options, tell_error
from console.units import plain

if TYPE_CHECKING:
    from console.actions.connection import Configured, Connected


@click.command("doctor")
@node_argument
@shared_options
def COMMAND(node: str, options: Options) -> int:
    """Say how NODE is reached, what of the ssh configuration counts on the way, and what the connection is like."""
    from console import paths
    from console.actions import connection
    from console.cli._nodes import configured
    from console.errors import ConsoleError
    from console.launch.library import Library

    here = paths.locate()
    way = asyncio.run(connection.configured(node, configured(node, here), Library(here.profiles).names()))
    values: dict[str, Any] = {"configuration": way.to_json()}
    _tell(options, way)
    try:
        found = asyncio.run(_connected(node, options))
    except ConsoleError as error:  # what is known of the way is worth having just then
        if options.as_json:
            emit(options, False, node, {**values, "error": error_json(error)})
        tell_error(error)
        return error.exit_code
    _tell(options, found)
    ok = not way.checked.problems
    if options.as_json:
        emit(options, ok, node, {**values, "connection": found.to_json()})
    return 0 if ok else 1


async def _connected(name: str, options: Options) -> Connected:
    from console.actions import connection
    from console.cli._nodes import open_node

    started = time.perf_counter()
    async with open_node(name, options, reconnect=False) as node:
        return await connection.connected(node, time.perf_counter() - started)


def _tell(options: Options, part: Configured | Connected) -> None:
    if not options.as_json:
        for line in part.lines():
            click.echo(plain(line))
