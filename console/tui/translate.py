"""What actions and rules give, as the plain views that the state keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.actions import runbook
from console.errors import UsageError
from console.launch.command import shell_line
from console.launch.loader import resolve
from console.state.model import Finding, LaunchView, PatchFile, ProfileView, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.actions.apply_patch import PatchPlanView
    from console.actions.launch_server import LaunchPlan
    from console.launch.library import Library
    from remote_agent.protocol import OverlayInfo


def steps(found: Iterable[runbook.Step]) -> tuple[Step, ...]:
    return tuple(Step(e.id, e.title, e.state, e.proof, e.elapsed_s, e.made) for e in found)


def launch_view(profile: str, plan: LaunchPlan, beside: tuple[str, ...] = ()) -> LaunchView:
    """`beside`: the servers of this profile that ran then."""
    findings = tuple(Finding(each.rule, each.severity, each.message, each.hint) for each in plan.findings)
    command = tuple(shell_line(plan.command, wrap=True).splitlines())
    return LaunchView(profile, command, findings, tuple(plan.examination.wiring()), beside)


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
        steps=steps(runbook.checklist(profile)),
    )
