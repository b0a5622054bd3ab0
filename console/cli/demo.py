"""demo: the embedded node (simulated); the TUI on a terminal, the runbook without one."""

from __future__ import annotations

import sys

import click

from console.cli._record import Record, record_option
from console.cli._shared import Options, on_node, shared_options
from console.cli.connect import theme_option
from console.errors import UsageError

PROFILE = "kimi-k2.5-eagle3-debug"


@click.command("demo")
@theme_option
@record_option
@shared_options
def COMMAND(options: Options, theme: str | None, record: Record) -> int:
    """Try everything on the embedded node, SIMULATED. It needs no GPU, no SSH and no SGLang."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        from console.cli.connect import open_console

        return open_console(["demo"], options, theme, record)
    if record.path is not None:
        raise UsageError("--record keeps what the console shows, and without a terminal there is none")
    from dataclasses import replace

    from console.actions.runbook import RunbookRequest
    from console.cli.runbook import walk

    confirmed = replace(options, yes=True)
    return on_node("demo", options, lambda node: walk(node, confirmed, RunbookRequest(PROFILE)))
