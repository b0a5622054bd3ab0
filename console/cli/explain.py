"""explain FILE|-: what happened to the server that wrote a log, why, and what to do; no node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, report, shared_options

if TYPE_CHECKING:
    from console.actions.explain_log import Explanation
    from console.lint.context import Launch


@click.command("explain")
@click.argument("file")
@click.option("--profile", help="The profile it was launched with: gives widths and flags to hold the log against.")
@click.option("--draft", help="The draft's folder or config.json, on this machine.")
@click.option("--target", help="The target's folder or config.json, on this machine.")
@shared_options
def COMMAND(file: str, options: Options, profile: str | None, draft: str | None, target: str | None) -> int:
    """Explain a server's log: the first cause, and what to do.

    FILE, or - for stdin. 1 with an error in it, 2 where no server wrote it."""
    from console.actions.log_launch import launch_of

    return report(options, None, _explained(file, launch_of(profile, draft, target)))


def _explained(file: str, launch: Launch | None) -> Explanation:
    from console.actions.explain_log import explain
    from console.errors import UsageError

    if file == "-":
        return explain(sys.stdin.buffer, "stdin", launch)
    try:
        with Path(file).open("rb") as stream:
            return explain(stream, file, launch)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from None
