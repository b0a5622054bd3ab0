"""probe NODE: measure a running server and keep the run with its provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, confirm, node_argument, on_node, report, say, shared_options

if TYPE_CHECKING:
    from console.actions.node import Node


@click.command("probe")
@node_argument
@click.option("--server", help="Run id of the server, or its end.")
@click.option("--port", type=int, help="Port of the server.")
@click.option("--prompt", help="A shipped prompt set, or a text of your own.")
@click.option("--max-new-tokens", type=int)
@click.option("--requests-per-block", type=int)
@click.option("--blocks", type=int)
@click.option("--warmup", type=int)
@click.option("--concurrency", type=int)
@shared_options
def COMMAND(node: str, options: Options, server: str | None, port: int | None, **load: Any) -> int:
    """Probe the throughput of a server on NODE; the load comes from its profile, changed by options."""
    return on_node(node, options, lambda connected: _probe(connected, options, server, port, load))


async def _probe(node: Node, options: Options, server: str | None, port: int | None, load: dict[str, Any]) -> int:
    from console.actions import run_probe

    plan = await run_probe.plan(node, server, port, load)
    ours = plan.server.operator == node.operator
    # Load on one's own server needs no confirmation; on a colleague's it does.
    if options.dry_run or not ours:
        if not confirm(options, plan.lines(), {}, node.name):
            return 0
    return report(options, node.name, await run_probe.run(node, plan, say))
