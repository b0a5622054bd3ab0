"""patch import NODE FILE: a unified diff made a patch that is verified and can be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, confirm, node_argument, on_node, report, say, shared_options

if TYPE_CHECKING:
    from console.actions.node import Node


@click.command("import")
@node_argument
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--id", "name", help="What it is called; left out: the file's name.")
@click.option("--python", help="The serving Python; left out: the node's.")
@shared_options
def COMMAND(node: str, options: Options, file: Path, name: str | None, python: str | None) -> int:
    """Put a unified diff of SGLang's files in place. Every hunk must fit to the byte."""
    from console.actions import import_patch

    diff = _read(file)
    name = name or import_patch.name_of(file.stem)
    return on_node(node, options, lambda connected: _import(connected, options, diff, name, python))


async def _import(node: Node, options: Options, diff: bytes, name: str, python: str | None) -> int:
    from console.actions import import_patch

    plan = await import_patch.plan(node, diff, name, python)
    if plan.view.changes or plan.refusal or options.dry_run:
        lines = (*plan.lines(), *plan.diff().splitlines())
        if not confirm(options, lines, plan.to_json(), node.name, plan.refusal):
            return 0
    return report(options, node.name, await import_patch.run(node, plan, say))


def _read(file: Path) -> bytes:
    from console.errors import UsageError
    from console.patches.import_diff import MAX_BYTES

    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)  # one too many is refused by the name of the limit
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
