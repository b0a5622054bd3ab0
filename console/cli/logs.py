"""logs NODE: a server's log, its records, its shape table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, emit, node_argument, on_node, shared_options
from console.logs.highlight import without_secrets
from console.units import plain

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.actions.read_log import LogSource
    from console.logs.history import LogHistory


@click.command("logs")
@node_argument
@click.option("--server", help="Run id of the server, or its end.")
@click.option("--port", type=int, help="Port of the server.")
@click.option("--file", help="Any file on the node.")
@click.option("--shapes", is_flag=True, help="The shape table instead of the lines.")
@click.option("--follow", is_flag=True, help="Go on as the log grows; with --json one record a line.")
@shared_options
def COMMAND(
    node: str, options: Options, server: str | None, port: int | None, file: str | None, shapes: bool, follow: bool
) -> int:
    """Show the log of the newest server of this operator on NODE, or of the one named."""

    async def work(connected: Node) -> int:
        from console.actions import read_log

        source = await read_log.find(connected, server, port, file)
        if follow:
            return await _follow(connected, options, source)
        history = await read_log.read(connected, source)
        return _show(connected, options, source, history, shapes=shapes)

    return on_node(node, options, work)


async def _follow(node: Node, options: Options, source: LogSource) -> int:
    from console.actions import read_log

    async for records in read_log.follow(node, source, source.history()):
        for record in records:
            if options.as_json:
                click.echo(json.dumps({"schema": "spec-console/logs/1", **record.to_json()}))
            else:
                click.echo(plain(without_secrets(record.text)))
    return 0


def _show(node: Node, options: Options, source: LogSource, history: LogHistory, *, shapes: bool) -> int:
    if options.as_json:
        head = {"server": source.run_id or None, "path": source.path, "phase": history.phase.name}
        emit(options, True, node.name, {**head, **history.to_json(source.judge)})
        return 0
    if not shapes:
        for record in history.records:
            click.echo(plain(without_secrets(record.text)))
        return 0
    for line in shape_lines(history, source):
        click.echo(plain(line))
    return 0


def shape_lines(history: LogHistory, source: LogSource) -> list[str]:
    """The shape table as text, widths as wide as they need."""
    rows: list[tuple[str, ...]] = [("SITE", "MODEL", "MODE", "RANKS", "SHAPE", "DTYPE", "COUNT", "VERDICT")]
    for row in history.shapes.rows():
        verdict = source.judge(row)
        shape = json.dumps(row.shape).replace("null", "*")
        cells = (row.site, row.model, row.mode, row.ranks, shape, row.dtype, row.count)
        rows.append((*("-" if cell is None else str(cell) for cell in cells), f"{verdict.state}: {verdict.sentence}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [*lines, f"unclaimed lines: {history.unclaimed()['count']}"]
