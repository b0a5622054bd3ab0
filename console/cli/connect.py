"""connect NODE: the TUI; every action in it is a verb here."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, node_argument, shared_options
from console.errors import UsageError

if TYPE_CHECKING:
    from console.actions.node import Node


@click.command("connect")
@node_argument
@shared_options
def COMMAND(node: str, options: Options) -> int:
    """Open the console on NODE."""
    return open_console(node, options)


def open_console(node: str, options: Options) -> int:
    """Run the TUI. Raises UsageError without a terminal, and what kept it from ever connecting."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("connect needs a terminal", "Without one, use the verbs: status, launch, runbook … --json.")
    from console.tui.app import ConsoleApp

    def make() -> Node:
        # After the first frame: everything that a node takes is imported here.
        from console import paths
        from console.cli._nodes import make_node

        return make_node(node, options, paths.locate(), reconnect=True)

    # With Python's own limits a fast log brings a full collection every second, and each holds the screen up for 60 ms;
    # with far more young objects than these, it is the young ones' collection that does.
    gc.set_threshold(5_000, 5, 100)
    app = ConsoleApp(node, make, simulated=node == "demo")
    app.run()
    if app.failure:
        raise app.failure
    return app.return_code or 0
