"""Adopt probes whose console went away: they ran on, and their results lie on the node until somebody collects them.

A run is keyed by its id, so that nothing is kept twice, and nothing is measured again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.actions.collect_probe import collect
from console.actions.follow_probe import ALIVE
from console.actions.probe_record import record_of
from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.actions.node import Node, Say
    from console.actions.probe_outcome import ProbeOutcome
    from remote_agent.protocol import ProbeRun


@dataclass(frozen=True, slots=True)
class AdoptPlan:
    """The probes to collect, oldest first."""

    probes: tuple[ProbeRun, ...]

    def lines(self) -> Iterator[str]:
        for probe in self.probes:
            yield f"collect probe {probe.run_id} ({probe.state}, port {probe.port})"
        if not self.probes:
            yield NOTHING


@dataclass(frozen=True, slots=True)
class AdoptOutcome:
    """The runs that are kept now."""

    runs: tuple[ProbeOutcome, ...]

    @property
    def ok(self) -> bool:
        return all(run.ok for run in self.runs)

    @property
    def proof(self) -> str:
        return "; ".join(run.proof for run in self.runs) or NOTHING

    def lines(self) -> Iterator[str]:
        for run in self.runs:
            yield from run.lines()
        if not self.runs:
            yield NOTHING

    def to_json(self) -> dict[str, Any]:
        return {"runs": [run.to_json()["run"] for run in self.runs]}


NOTHING = "no probe of yours waits to be collected"


def uncollected(node: Node, probes: Sequence[ProbeRun]) -> tuple[ProbeRun, ...]:
    """Those of this operator that the journal has not, running or ended, and that can be kept: oldest first."""
    own = (each for each in probes if each.operator == node.operator and record_of(each))
    return tuple(each for each in own if not node.journal.has_run(each.run_id))


def notice(node: Node, probes: Sequence[ProbeRun]) -> Iterator[str]:
    """What is to be said of them, if there are any."""
    waiting = uncollected(node, probes)
    ended = sum(each.state not in ALIVE for each in waiting)
    if ended:
        yield f"{_count(ended, 'finished probe')} not collected: probe {node.name} --adopt"
    if len(waiting) > ended:  # another console of this operator may be at it: that does no harm
        yield f"{_count(len(waiting) - ended, 'probe')} running: probe {node.name} --adopt follows and keeps"


async def plan(node: Node, run: str = "") -> AdoptPlan:
    """Find them; `run` is an id, or the end of one. Raises UsageError when it is none of them."""
    waiting = uncollected(node, await node.agent.probes())
    if not run:
        return AdoptPlan(waiting)
    meant = tuple(each for each in waiting if each.run_id.endswith(run))
    if len(meant) == 1:
        return AdoptPlan(meant)
    ids = ", ".join(each.run_id for each in waiting) or "none"
    kept = " It is kept already." if node.journal.has_run(run) else ""
    raise UsageError(f"no probe that waits to be collected is meant by {run!r}.{kept}", f"Waiting: {ids}.")


async def run(node: Node, plan: AdoptPlan, say: Say) -> AdoptOutcome:
    """Collect each; one that runs is followed to its end. Raises NodeLost as `collect` does."""
    outcomes = []
    for probe in plan.probes:
        say(f"collecting probe {probe.run_id} ({probe.state})")
        record = record_of(probe)
        assert record is not None  # `uncollected` saw to it
        outcomes.append(await collect(node, probe, record, say))
    return AdoptOutcome(tuple(outcomes))


def _count(number: int, what: str) -> str:
    return f"1 {what} is" if number == 1 else f"{number} {what}s are"
