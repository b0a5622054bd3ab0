"""nodes list|check: the nodes of nodes.yaml, and what each leads to as it is written; nothing is connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, emit, shared_options
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.check_nodes import Checked
    from console.config import NodeConfig

_SHOWN = ("host", "user", "transport", "python", "serving_python", "sglang_root", "profile", "log_dirs", "exec_prefix")


@click.group("nodes")
def COMMAND() -> None:
    """List and check the nodes of nodes.yaml."""


@COMMAND.command("list")
@shared_options
def _list(options: Options) -> int:
    """List the nodes and what is set for them."""
    from console import paths
    from console.config import load_nodes

    here = paths.locate()
    nodes = load_nodes(here.nodes_file)
    if options.as_json:
        told = {name: each.model_dump(mode="json") for name, each in nodes.items()}
        emit(options, True, None, {"file": str(here.nodes_file), "nodes": told})
        return 0
    if not nodes:
        click.echo(plain(f"no nodes in {here.nodes_file}; a name that ssh knows needs no entry"))
    width = max(map(len, nodes), default=0)
    for name, each in nodes.items():
        click.echo(plain(f"{name:{width}}  {_told(each)}").rstrip())
    return 0


@COMMAND.command("check")
@click.argument("names", nargs=-1, metavar="[NODE]…")
@shared_options
def _check(options: Options, names: tuple[str, ...]) -> int:
    """Check entries, or ssh names without one.

    Said are the place, the transport and why, the profile."""
    import asyncio

    from console import paths
    from console.actions.check_nodes import check_nodes
    from console.config import load_nodes
    from console.launch.library import Library

    here = paths.locate()
    nodes = load_nodes(here.nodes_file)
    checked = asyncio.run(check_nodes(nodes, names, Library(here.profiles)))
    ok = not any(each.problems for each in checked)
    if options.as_json:
        emit(options, ok, None, {"file": str(here.nodes_file), "nodes": [each.to_json() for each in checked]})
    else:
        _tell(checked)
    return 0 if ok else 1


def _told(node: NodeConfig) -> str:
    values: dict[str, Any] = node.model_dump(exclude_unset=True)
    return "  ".join(f"{key}={_flat(values[key])}" for key in _SHOWN if key in values)


def _flat(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _tell(checked: Sequence[Checked]) -> None:
    for each in checked:
        way = f"{each.place} over {each.transport}" if each.place else each.transport
        click.echo(plain(f"{each.name}: {way}"))
        for line in (*each.why, *(f"problem: {problem}" for problem in each.problems)):
            click.echo(plain(f"  {line}"))
