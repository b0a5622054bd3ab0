"""connect NODE: the TUI; every action in it is a verb here."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from console.cli._record import NO_RECORD, Record, record_option, recorded
from console.cli._several import distinct, nodes_argument
from console.cli._shared import Options, shared_options
from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from console.actions.node import Node


def theme_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --theme."""
    themes = click.Choice(("dark", "light", "ansi"))
    told = "Colours: dark (default), light, or ansi, the terminal's own. NO_COLOR takes them away."
    return click.option("--theme", type=themes, help=told)(function)


@click.command("connect")
@nodes_argument
@theme_option
@record_option
@shared_options
def COMMAND(nodes: tuple[str, ...], options: Options, theme: str | None, record: Record) -> int:
    """Open the console on NODE, or on several. Each is a tab, and keys go from one to the next."""
    return open_console(nodes, options, theme, record)


def open_console(names: Sequence[str], options: Options, theme: str | None = None, record: Record = NO_RECORD) -> int:
    """Run the TUI. Raises UsageError without a terminal, and what kept it from ever connecting."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("connect needs a terminal", "Without one, use the verbs: status, launch, runbook … --json.")
    from console import paths
    from console.tui import garbage

    garbage.put_off()
    from console.tui.app import ConsoleApp
    from console.tui.settings import read_settings

    node, *others = distinct(names)
    if others and record.path is not None:
        raise UsageError("--record keeps what is shown of one node", "Name one, or leave it out.")

    def make(name: str) -> Node:
        # After the first frame: everything that a node takes is imported here.
        from console.cli._nodes import make_node
        from console.tui.asking import on_screen

        return make_node(name, options, paths.locate(), reconnect=True, ask=on_screen(app))

    settings = read_settings(paths.locate(), theme=theme or "", readonly=options.readonly)
    beside = [(name, partial(make, name)) for name in others]
    app = ConsoleApp(node, partial(make, node), simulated=node == "demo", others=beside, settings=settings)
    with recorded(app.stream, node, record):
        app.run()
    if app.failure:
        raise app.failure
    return app.return_code or 0
