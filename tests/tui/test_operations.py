"""A plan that would be refused is shown with that, in the words of the action itself, and cannot be confirmed."""

from __future__ import annotations

from typing import Any

import pytest

from console.actions import apply_patch, launch_server
from console.actions.apply_patch import PatchPlanView
from console.actions.launch_server import LaunchPlan
from console.actions.patch_state import PatchRequest, TreeState
from console.lint.finding import Finding
from console.patches.plan import FilePlan, PatchPlan
from console.state.model import ConsoleState, LaunchView
from console.tui import translate
from console.tui.operations import PLANS, Planned

NODE: Any = None


def file(state: Any, why: str = "") -> FilePlan:
    return FilePlan("srt/x.py", state, why, None, None, b"x" if state == "appliable" else None, "", ())


async def planned(name: str) -> Planned:
    return await PLANS[name](NODE, ConsoleState(), lambda _event: None)


@pytest.mark.parametrize(
    ("name", "states", "refused"),
    [
        ("patch", ("appliable", "appliable"), ""),
        ("patch", ("applied", "appliable"), "a is in the tree itself, and the rest is not"),
        ("patch", ("conflict", "appliable"), "no overlay was made: srt/x.py: conflict, moved"),
        ("patch_in_place", ("applied", "appliable"), ""),
        ("patch_in_place", ("conflict", "appliable"), "nothing was changed: srt/x.py: conflict, moved"),
    ],
)
async def test_a_patch(name: str, states: tuple[str, str], refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def plan(_node: Any, request: PatchRequest) -> PatchPlanView:
        files = [file(state, "moved" if state == "conflict" else "") for state in states]
        plans = tuple(PatchPlan(patch_id, (each,)) for patch_id, each in zip("ab", files, strict=True))
        return PatchPlanView(request, TreeState("/t", "python", "0.5.20", plans, ()))

    monkeypatch.setattr(apply_patch, "plan", plan)
    found = await planned(name)
    assert found.refusal.startswith(refused)
    assert bool(found.refusal) == bool(refused)


async def test_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    held = tuple(Finding("gpus-held", "error", f"GPU {n} is held: 1 GiB") for n in range(8))

    async def plan(_node: Any, _profile: str) -> LaunchPlan:
        given: Any = (None, None, held, (), None, {}, None)
        return LaunchPlan(*given)

    monkeypatch.setattr(launch_server, "plan", plan)
    monkeypatch.setattr(translate, "launch_view", lambda *_given: LaunchView("p", ()))
    assert (await planned("launch")).refusal == "not launched: GPU 0 is held: 1 GiB and 7 more [gpus-held]"
