"""What each kind of step of a runbook does on the node, and the proof that it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.actions import (
    apply_patch,
    deliver,
    free_gpus,
    launch_server,
    read_log,
    revert_patch,
    run_probe,
    stop_server,
)
from console.actions.patch_state import PatchRequest
from console.errors import NegativeResult
from console.launch.command import render
from console.node.free_plan import FreeRequest
from console.probe.compare import compare
from console.probe.differences import differs, is_apart
from console.probe.workload import workload_from_profile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.actions.await_ready import LaunchOutcome
    from console.actions.node import Node, Say
    from console.actions.runbook import RunbookOutcome, RunbookPlan
    from console.logs.shapes import ShapeRow
    from console.probe.fingerprint import Fingerprint
    from console.probe.stored import StoredRun
    from remote_agent.protocol import ServerRun

GRACE_S = 30.0
"""Seconds between TERM and KILL, as the verbs have it."""


class Acts:
    """The acts of one walk, by kind; what one finds is there for the next. Every act raises ConsoleError."""

    def __init__(self, node: Node, plan: RunbookPlan, outcome: RunbookOutcome, say: Say) -> None:
        self._node = node
        self._plan = plan
        self._say = say
        self._baseline_run: StoredRun | None = None
        self._expected: Fingerprint | None = None
        """That of the baseline as it would be launched now."""
        self.outcome = outcome
        self.made = ""
        """See `runbook.Step.made`."""
        self.by_kind: dict[str, Callable[[], Awaitable[str]]] = {
            "free": self._free,
            "patch": self._patch,
            "baseline": self._baseline,
            "launch": self._launch,
            "probe": self._probe,
            "shapes": self._shapes,
            "compare": self._compare,
            "stop": self._stop,
            "revert": self._revert,
        }

    async def _free(self) -> str:
        gpus = self._plan.request.gpus or self._plan.resolved.profile.gpus or ()
        freeing = await free_gpus.plan(self._node, FreeRequest(gpus=tuple(gpus)))
        outcome = await free_gpus.run(self._node, freeing, self._say)
        if not outcome.ok and outcome.gpus:
            raise NegativeResult(outcome.proof, "`status` shows who holds them.")
        return outcome.proof

    async def _patch(self) -> str:
        request = PatchRequest(
            profile=self._plan.request.profile, sets=self._plan.request.sets, delivery=self._plan.request.delivery
        )
        outcome = await deliver.run(self._node, await apply_patch.plan(self._node, request), self._say)
        if not outcome.ok:
            raise NegativeResult(outcome.proof, "`patch revert` takes it back.")
        return outcome.proof

    async def _baseline(self) -> str:
        found = await self._stored_baseline()
        if found is not None:
            self._baseline_run, self.made = found, found.run_id
            return f"stored {run_probe.ProbeOutcome(found).proof}"
        assert self._plan.baseline
        why = self._unfit()
        self._say(f"the baseline is measured anew: {why}")
        launched = await self._launched(self._plan.baseline)
        try:
            outcome = await self._probed(launched.server)
        finally:
            stopping = await stop_server.plan(self._node, launched.server.run_id, None, GRACE_S)
            stopped = await stop_server.run(self._node, stopping, self._say)
        if not stopped.ok:
            raise NegativeResult(stopped.proof, "`status` shows what is left.")
        self._baseline_run, self.made = outcome.run, outcome.run.run_id
        return f"made ({why}): {outcome.proof}"

    async def _launch(self) -> str:
        outcome = await self._launched(self._plan.request.profile)
        self.outcome.server, self.made = outcome.server, outcome.server.run_id
        return outcome.proof

    async def _probe(self) -> str:
        outcome = await self._probed(await self._server())
        self.outcome.run, self.made = outcome.run, outcome.run.run_id
        return outcome.proof

    async def _shapes(self) -> str:
        self.made = (await self._server()).run_id
        source = await read_log.find(self._node, self.made)
        history = await read_log.read(self._node, source)
        rows = history.shapes.rows()
        self.outcome.shapes = history.shapes.to_json(source.judge)
        wrong = [source.judge(row).sentence for row in rows if source.judge(row).state == "wrong"]
        if wrong:
            raise NegativeResult(f"wrong widths: {'; '.join(wrong)}", "`logs --shapes` shows the table.")
        fc_in = [row for row in rows if row.site == "draft.fc_in"]
        if not rows:
            raise NegativeResult("no shape line in the log", "Is the patch applied, EAGLE3_DEBUG=1 set, graphs off?")
        return "; ".join(_told(row) for row in _widest(fc_in or list(rows)))

    async def _compare(self) -> str:
        candidate = self.outcome.run or self._latest(self._plan.request.profile)
        baseline = self._baseline_run or await self._stored_baseline() or self._latest(self._plan.baseline or "")
        declared = self._plan.resolved.profile.baseline
        comparison = compare(baseline, candidate, declared.varies if declared else ())
        self.outcome.comparison, self.made = comparison, candidate.run_id
        a, b = (run_probe.ProbeOutcome(each).proof for each in (baseline, candidate))
        why = f" ({comparison.why})" if comparison.why else ""
        return f"{comparison.verdict}{why}; baseline {a}; candidate {b}; {len(comparison.differs)} differences"

    async def _launched(self, profile: str) -> LaunchOutcome:
        request = self._plan.request
        own = profile == request.profile
        planned = await launch_server.plan(
            self._node, profile, request.sets if own else self._shared_sets(), request.env if own else (), request.allow
        )
        outcome = await launch_server.run(self._node, planned, self._say)
        if not outcome.ok:
            raise NegativeResult(outcome.proof, "`patch verify` shows what the overlay would serve.")
        return outcome

    def _shared_sets(self) -> tuple[str, ...]:
        """What was set for the candidate alone must not reach the baseline; where it listens and logs must."""
        return tuple(each for each in self._plan.request.sets if each.split("=", 1)[0] in ("port", "host", "gpus"))

    async def _probed(self, server: ServerRun) -> run_probe.ProbeOutcome:
        # Both sides get the candidate's load: a comparison of two loads says nothing.
        load = self._plan.resolved.profile.probe.given()
        outcome = await run_probe.run(
            self._node, await run_probe.plan(self._node, server.run_id, overrides=load), self._say
        )
        if not outcome.ok:
            raise NegativeResult(outcome.proof, "`logs` shows the server's side.")
        return outcome

    async def _server(self) -> ServerRun:
        return self.outcome.server or await self._node.server()

    def _latest(self, profile: str) -> StoredRun:
        runs = [run for run in self._node.journal.list_runs(self._node.name) if run.profile == profile]
        if not runs:
            raise NegativeResult(f"no stored run of {profile} on {self._node.name}", "Resume at the step `probe`.")
        return runs[0]

    async def _stored_baseline(self) -> StoredRun | None:
        """The newest run that a launch of the baseline profile would repeat."""
        if self._plan.baseline is None:
            return None
        planned = await launch_server.plan(self._node, self._plan.baseline, self._shared_sets())
        command = render(planned.resolved, self._node.config.env)
        server = _as_if_launched(planned, command.argv, command.masked_env(), self._node.operator)
        load = workload_from_profile(self._plan.resolved.profile.probe.given())
        self._expected = await run_probe.fingerprint_of(self._node, run_probe.ProbePlan(server, load))
        return self._node.journal.find_baseline(self._node.name, self._expected, profile=self._plan.baseline)

    def _unfit(self) -> str:
        """Why no stored run will do as the baseline: what the newest one differs in."""
        name = self._plan.baseline
        stored = [run for run in self._node.journal.list_runs(self._node.name) if run.profile == name]
        if not stored or self._expected is None:
            return f"no run of {name} is stored"
        newest = stored[0]
        if not newest.result.valid:
            return f"run {newest.run_id}, the newest of {name}, is not valid"
        apart = [each.key for each in differs(newest.fingerprint, self._expected) if is_apart(each)]
        return f"run {newest.run_id}, the newest of {name}, differs in {', '.join(apart)}"

    async def _stop(self) -> str:
        server = await self._server()
        stopping = await stop_server.plan(self._node, server.run_id, None, GRACE_S)
        stopped = await stop_server.run(self._node, stopping, self._say)
        if not stopped.ok:
            raise NegativeResult(stopped.proof, "`status` shows what is left.")
        self.outcome.server = None
        return stopped.proof

    async def _revert(self) -> str:
        reverting = await revert_patch.plan(self._node, PatchRequest(profile=self._plan.request.profile))
        outcome = await revert_patch.run(self._node, reverting, self._say)
        if not outcome.ok:
            raise NegativeResult(outcome.proof, "`patch verify` shows what is there.")
        return outcome.proof


def _as_if_launched(
    planned: launch_server.LaunchPlan, argv: tuple[str, ...], env: dict[str, str], operator: str
) -> ServerRun:
    from remote_agent.protocol import ServerRun

    command = planned.command
    return ServerRun(
        "", operator, list(argv), env, "", command.log_path, 0, command.port, 0.0, "", record=planned.record
    )


def _told(row: ShapeRow) -> str:
    return f"{row.site} {row.model} {row.mode} last dim {row.widths[-1] if row.widths else '?'} on ranks {row.ranks}"


def _widest(rows: list[ShapeRow]) -> list[ShapeRow]:
    """The rows that show the captured width: what the draft feeds itself is narrower."""
    top = max((max((w for w in row.widths if w is not None), default=0) for row in rows), default=0)
    return [row for row in rows if top in row.widths]
