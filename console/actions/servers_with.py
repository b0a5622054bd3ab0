"""Which running servers have loaded something: what is changed under them they do not see before a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from console.actions.node import Node
    from remote_agent.protocol import ServerRun


async def servers(node: Node, has: Callable[[ServerRun], bool]) -> tuple[str, ...]:
    """Running servers of whose run record `has` is true, each with its port and operator."""
    if (await node.agent.facts()).state_dir is None:
        return ()
    return tuple(f"{run.run_id} (port {run.port}, {run.operator})" for run in await node.running() if has(run))


async def tree(node: Node, root: str) -> tuple[str, ...]:
    """Running servers whose run record names this tree."""
    return await servers(node, lambda run: (run.record.get("sglang") or {}).get("root") == root)


def lines(found: Iterable[str]) -> Iterator[str]:
    """What a change of the tree means for each of them."""
    for server in found:
        yield f"server {server} runs with this tree: it goes on with the code that it has loaded until it is restarted"
