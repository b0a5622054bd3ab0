"""What actions and probes give, as the plain views that the state keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import UsageError
from console.launch.command import shell_line
from console.launch.loader import resolve
from console.probe.compare import compare, marks
from console.state.model import (
    ComparisonView,
    DifferenceView,
    Finding,
    LaunchView,
    PatchFile,
    ProfileView,
    RunView,
    Step,
)
from console.units import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.actions import runbook
    from console.actions.apply_patch import PatchPlanView
    from console.actions.launch_server import LaunchPlan
    from console.launch.library import Library
    from console.probe.stored import StoredRun
    from remote_agent.protocol import OverlayInfo


def steps(found: Iterable[runbook.Step]) -> tuple[Step, ...]:
    return tuple(Step(each.id, each.title, each.state, each.proof, each.elapsed_s) for each in found)


def launch_view(profile: str, plan: LaunchPlan) -> LaunchView:
    findings = tuple(Finding(each.rule, each.severity, each.message, each.hint) for each in plan.findings)
    command = tuple(shell_line(plan.command, wrap=True).splitlines())
    return LaunchView(profile, command, findings, tuple(plan.examination.wiring()))


def patch_files(plan: PatchPlanView, overlay: OverlayInfo | None = None) -> tuple[PatchFile, ...]:
    """The planned files; one that `overlay` gives patched is `overlaid`."""
    served = {file["path"] for file in overlay.manifest["files"]} if overlay else set()
    return tuple(
        PatchFile(each.patch_id, file.path, "overlaid" if file.path in served else file.state, file.why, file.diff)
        for each in plan.tree.plans
        for file in each.files
    )


def profile_view(name: str, source: str, library: Library) -> ProfileView:
    """Read one profile as it stands in its file; a broken one is shown with its problem and does not hide others."""
    try:
        profile = resolve(name, library).profile
    except UsageError as error:
        return ProfileView(name, source, problem=error.message)
    return ProfileView(
        name=name,
        source=source,
        description=profile.description,
        patches=profile.patch_ids,
        speculative=profile.speculative.algorithm if profile.speculative else "",
        baseline=profile.baseline.profile if profile.baseline else "",
        varies=profile.baseline.varies if profile.baseline else (),
    )


def run_view(run: StoredRun) -> RunView:
    result = run.result
    return RunView(
        run_id=run.run_id,
        at=run.at,
        node=run.node,
        profile=run.profile,
        launch_id=run.launch_id,
        valid=result.valid,
        why=result.why,
        simulated=run.fingerprint.simulated,
        requests=result.requests,
        completion_tokens=result.completion_tokens,
        output_tok_s=result.output_tok_s,
        decode_tok_s=result.decode_tok_s,
        ttft_ms=result.ttft_ms.mean if result.ttft_ms else None,
        tpot_ms=result.tpot_ms.mean if result.tpot_ms else None,
        cycle_ms=result.cycle_ms,
        step_ms=result.step_ms,
        accept_len=result.accept_len,
        accept_hist=result.accept_hist or (),
        accept_hist_source=result.accept_hist_source,
        blocks=result.blocks,
        marks=marks(run.fingerprint),
        notes=result.notes,
    )


def comparison_view(baseline: StoredRun, candidate: StoredRun, varies: Sequence[str]) -> ComparisonView:
    """Compare two stored runs; `varies` is what the candidate's profile declares."""
    found = compare(baseline, candidate, varies)
    return ComparisonView(
        verdict=found.verdict,
        why=found.why,
        difference=found.contrast.difference,
        interval=found.contrast.interval,
        detectable=found.contrast.detectable,
        differs=tuple(
            DifferenceView(each.key, each.a or NONE, each.b or NONE, each.declared, each.withholds)
            for each in found.differs
        ),
        break_even_accept_len=found.cycle.break_even_accept_len,
        formula=found.cycle.formula,
        notes=found.notes,
    )


def pair(
    runs: Sequence[StoredRun], profiles: Iterable[ProfileView], baseline: str | None, candidate: str | None
) -> tuple[StoredRun | None, StoredRun | None]:
    """Choose the two runs to stand side by side; `runs` are newest first, ids name what the user chose.

    Left to itself: the newest run whose profile declares a baseline, beside the newest run of that baseline that had
    the same load, or the newest of it at all.
    """
    known = {each.run_id: each for each in runs}
    declared = {each.name: each.baseline for each in profiles if each.baseline}
    b = known.get(candidate or "") or next((run for run in runs if run.profile in declared), None)
    a = known.get(baseline or "")
    if a is None and b is not None:
        of_baseline = [run for run in runs if run.profile == declared.get(b.profile) and run is not b]
        alike = [run for run in of_baseline if run.fingerprint.workload == b.fingerprint.workload]
        a = next(iter(alike or of_baseline), None)
    if b is None and a is None:
        a = next(iter(runs), None)
    return a, b
