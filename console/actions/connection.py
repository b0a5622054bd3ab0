"""The way to a node looked at: what its ssh configuration sets and what becomes of it, then the connection itself."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.actions.check_nodes import check_node
from console.actions.checkup.check import Check, shown
from console.remote.transports import honoured, ssh_config
from console.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.actions.check_nodes import Checked
    from console.actions.node import Node
    from console.config import NodeConfig
    from console.remote.transports.honoured import Option

PINGS = 7


@dataclass(frozen=True, slots=True)
class Configured:
    """What is known of the way before it is gone."""

    checked: Checked
    options: tuple[Option, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**self.checked.to_json(), "options": [asdict(each) for each in self.options]}

    def lines(self) -> list[str]:
        way = self.checked
        head = f"{way.place} over {way.transport}" if way.place else f"over {way.transport}"
        width = max((len(each.name) for each in self.options), default=0)
        return [
            f"{way.name}: {head}",
            *(f"  {why}" for why in way.why),
            *(f"  problem: {problem}" for problem in way.problems),
            *(f"  {each.state:15}  {each.name:{width}}  {each.value}" for each in self.options),
        ]


@dataclass(frozen=True, slots=True)
class Connected:
    """What the connection is like. Times in seconds."""

    hello_s: float
    round_trip_s: float
    transport: str
    python: str
    uploaded: bool
    readonly: bool
    readonly_reason: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def checks(self) -> list[Check]:
        cached = "uploaded" if self.uploaded else "found in its cache"
        agent = f"connected over {self.transport} in {format_seconds(self.hello_s)}, the agent was {cached}"
        trip = f"{format_seconds(self.round_trip_s)} through the agent, the median of {PINGS}"
        told = [
            Check("agent", "ok", agent, values={"hello": self.hello_s, "uploaded": self.uploaded}),
            Check("agent.round-trip", "ok", trip, values={"median": self.round_trip_s}),
            Check("agent.python", "ok", f"the agent runs on {shown(self.python)}", values={"python": self.python}),
        ]
        if self.readonly:
            hint = "Changes are refused; see `home` and `cache` above, or was --readonly given?"
            told.append(Check("agent.readonly", "warn", f"read-only: {shown(self.readonly_reason)}", hint))
        return told


async def configured(name: str, node: NodeConfig, profiles: Iterable[str]) -> Configured:
    """Ask ssh what the configuration comes to; nothing is connected."""
    checked = await check_node(name, node, profiles)
    if not checked.place:
        return Configured(checked)
    host, user = node.address(name)
    words = ("-l", user) if user else ()
    config = await ssh_config.effective(host, words)
    untouched = await ssh_config.effective(host, (*words, "-F", "none"))
    return Configured(checked, honoured.options(checked.transport, config, untouched))


async def connected(node: Node, hello_s: float) -> Connected:
    """Measure an open connection; `hello_s` is what opening it took."""
    times = []
    for _ in range(PINGS):
        started = time.perf_counter()
        await node.agent.session.call("node.ping")
        times.append(time.perf_counter() - started)
    session, hello = node.agent.session, node.agent.hello
    return Connected(
        hello_s=hello_s,
        round_trip_s=statistics.median(times),
        transport=session.transport.name,
        python=hello.python,
        uploaded=session.uploaded,
        readonly=hello.readonly,
        readonly_reason=hello.readonly_reason,
    )
