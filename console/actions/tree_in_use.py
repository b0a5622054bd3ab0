"""Which running servers have loaded a tree: what is changed under them they do not see before a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from console.actions.node import Node


async def in_use(node: Node, root: str) -> tuple[str, ...]:
    """Running servers whose run record names this tree, each with its port and operator."""
    if (await node.agent.facts()).state_dir is None:
        return ()
    runs = [run for run in await node.running() if (run.record.get("sglang") or {}).get("root") == root]
    return tuple(f"{run.run_id} (port {run.port}, {run.operator})" for run in runs)


def lines(servers: Iterable[str]) -> Iterator[str]:
    """What a change of the tree means for each of them."""
    for server in servers:
        yield f"server {server} runs with this tree: it goes on with the code that it has loaded until it is restarted"
