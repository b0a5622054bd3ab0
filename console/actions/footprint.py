"""What we left on a node, and removing what nothing uses: old agents, ended runs, texts of patches taken back."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node, Say
    from remote_agent.protocol import Footprint, StoredItem, Swept

KEEP_RUNS_S = 7 * 86400.0
"""An ended run is kept a week by default: its record is what a question about it is answered from."""
_KEPT = ("run", "overlay", "pair")
"""What is kept for a while: an overlay waits for the next launch, a pair for the next calibration."""


@dataclass(frozen=True, slots=True)
class CollectPlan:
    """What would be removed, and everything there is."""

    found: Footprint
    removable: tuple[StoredItem, ...]

    @property
    def is_empty(self) -> bool:
        return not self.removable

    def lines(self) -> Iterator[str]:
        for item in self.removable:
            yield f"remove {_line(item)}"
        total = sum(item.size for item in self.removable)
        yield f"{len(self.removable)} of {len(self.found.items)} items, {format_bytes(total)}"

    def to_json(self) -> dict[str, Any]:
        return {"items": [asdict(item) for item in self.found.items], "state_dir": self.found.state_dir}


@dataclass(frozen=True, slots=True)
class CollectOutcome:
    """What became of each item, and what is left."""

    results: tuple[Swept, ...]
    left: Footprint

    @property
    def ok(self) -> bool:
        return all(each.outcome == "removed" for each in self.results)

    def lines(self) -> Iterator[str]:
        for each in self.results:
            yield f"{each.outcome} {each.name} {each.reason}".rstrip()
        yield from listing(self.left)

    def to_json(self) -> dict[str, Any]:
        return {"removed": [asdict(each) for each in self.results], "items": [asdict(i) for i in self.left.items]}


async def plan(node: Node, keep_runs_s: float = KEEP_RUNS_S) -> CollectPlan:
    found = await node.agent.footprint()
    removable = [
        item for item in found.items if not item.in_use and (item.kind not in _KEPT or item.age_s >= keep_runs_s)
    ]
    return CollectPlan(found, tuple(removable))


async def run(node: Node, plan: CollectPlan, say: Say) -> CollectOutcome:
    started = time.time()
    say(f"removing {len(plan.removable)} items")
    results = await node.agent.collect([item.path for item in plan.removable])
    outcome = CollectOutcome(tuple(results), await node.agent.footprint())
    node.record(started, "agent gc", {"plan": list(plan.lines())}, {"ok": outcome.ok, **outcome.to_json()})
    return outcome


def listing(found: Footprint) -> Iterator[str]:
    """Everything of ours on the node, a line each."""
    for item in found.items:
        yield _line(item)
    yield f"{len(found.items)} items, {format_bytes(sum(item.size for item in found.items))}, in {found.state_dir}"


def _line(item: StoredItem) -> str:
    use = f" in use: {item.in_use}" if item.in_use else ""
    detail = f" ({item.detail})" if item.detail else ""
    return f"{item.kind} {item.name}{detail} {format_bytes(item.size)}, {format_seconds(item.age_s)} old{use}"
