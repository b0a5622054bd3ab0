"""A runbook is edited before the start, written as a file and read back."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args

import pytest

from console.actions import runbook, runbook_file
from console.actions.runbook import RunbookRequest
from console.actions.runbook_steps import KINDS, arrange
from console.errors import NegativeResult, Refused, UsageError
from console.launch.library import Library
from console.launch.loader import Inputs, resolve
from console.paths import shipped_profiles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

DEBUG = "kimi-k2.5-eagle3-debug"
LOOP = ["free", "patch", "baseline", "launch", "probe", "shapes", "compare"]


def ids(entries: Any) -> list[str]:
    return [each.id for each in entries]


class Node:
    """As much of a node as a plan needs."""

    name = "gpu1"

    def __init__(self) -> None:
        self.recorded: list[Any] = []

    async def profile(self, name: str, sets: tuple[str, ...] = (), env: tuple[str, ...] = ()) -> Any:
        return resolve(name, Library((shipped_profiles(),)), Inputs(sets=sets, env=env))

    def record(self, *told: Any) -> None:
        self.recorded.append(told)


def test_steps_are_put_in_at_the_end_or_before_one() -> None:
    assert ids(arrange(LOOP, insert=("stop", "probe:shapes", "free:stop"))) == [
        *LOOP[:5],
        "probe-2",
        "shapes",
        "compare",
        "free-2",
        "stop",
    ]
    assert [each.kind for each in arrange(["probe", "probe"])] == ["probe", "probe"]
    skipped = arrange(LOOP, skip=("patch", "probe-2"), insert=("probe",))
    assert [each.id for each in skipped if each.is_skipped] == ["patch", "probe-2"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"insert": ("prob",)}, "Nearest: probe"),
        ({"insert": ("stop:prob",)}, "Nearest: probe"),
        ({"skip": ("stop",)}, "Steps: free"),
        ({"skip": tuple(LOOP)}, "Leave one"),
    ],
)
def test_an_unknown_step_is_refused_with_the_nearest(change: Any, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        arrange(LOOP, **change)
    assert says in refused.value.hint


async def test_a_plan_shows_what_is_left_out_and_cannot_resume_there() -> None:
    plan = await runbook.plan(Node(), RunbookRequest(DEBUG, skip=("compare",), insert=("stop",)))  # type: ignore[arg-type]
    assert ids(plan.steps) == [*LOOP, "stop"]
    assert " skipped compare: " in "\n".join(plan.lines())
    for start in ("compare", "nowhere"):
        with pytest.raises(UsageError, match="no step"):
            await runbook.plan(Node(), RunbookRequest(DEBUG, skip=("compare",), start=start))  # type: ignore[arg-type]


async def test_shapes_that_nothing_prints_are_skipped_with_the_reason_and_no_proof_is_claimed() -> None:
    plan = await runbook.plan(Node(), RunbookRequest("kimi-k2.5-eagle3"))  # type: ignore[arg-type]
    (shapes,) = [step.to_json() for step in plan.steps if step.kind == "shapes"]
    assert (shapes["state"], shapes["proof"]) == ("skipped", "no shape lines are asked for by this profile")
    (shapes,) = [step for step in runbook.checklist(plan.resolved.profile, skip=("shapes",)) if step.kind == "shapes"]
    assert shapes.proof == "left out"


async def test_steps_that_the_profile_has_no_part_in_are_refused() -> None:
    with pytest.raises(UsageError, match="asks for no patch"):
        await runbook.plan(Node(), RunbookRequest("kimi-k2.5-eagle3", steps=("patch", "launch")))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="names no baseline"):
        await runbook.plan(Node(), RunbookRequest("kimi-k2.5-baseline", insert=("compare",)))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no rule is called 'gpus-hold'") as refused:
        await runbook.plan(Node(), RunbookRequest(DEBUG, allow=("gpus-hold",)))  # type: ignore[arg-type]
    assert refused.value.hint == "Nearest: gpus-held."


async def test_a_walk_does_what_is_left_in_order_and_resumes_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fails = {"probe"}

    def act(kind: str) -> Callable[[], Awaitable[str]]:
        async def _act() -> str:
            if kind in fails:
                raise NegativeResult("no")
            done.append(kind)
            return f"{kind} is so"

        return _act

    made = SimpleNamespace(by_kind={kind: act(kind) for kind in KINDS})
    monkeypatch.setattr(runbook, "Acts", lambda *_given: made)
    node = Node()
    request = RunbookRequest(DEBUG, skip=("patch",), insert=("stop",))
    outcome = await runbook.run(node, await runbook.plan(node, request), lambda _line: None)  # type: ignore[arg-type]
    assert done == ["free", "baseline", "launch"]
    assert outcome.failed
    assert outcome.failed.id == "probe"
    assert (outcome.steps[1].state, outcome.steps[1].proof) == ("skipped", "left out")
    fails.clear()
    done.clear()
    again = replace(request, start=outcome.failed.id)
    outcome = await runbook.run(node, await runbook.plan(node, again), lambda _line: None)  # type: ignore[arg-type]
    assert outcome.ok
    assert done == ["probe", "shapes", "compare", "stop"]
    assert outcome.steps[0].proof == "resumed after it"


async def test_a_plan_is_written_and_read_back_the_same(tmp_path: Path) -> None:
    path = tmp_path / "evening.yaml"
    request = RunbookRequest(
        DEBUG, sets=("port=9",), env=("A=b",), skip=("compare",), insert=("stop",), delivery="overlay"
    )
    runbook_file.write(path, await runbook.plan(Node(), request))  # type: ignore[arg-type]
    assert runbook_file.is_runbook(str(path))
    assert not runbook_file.is_runbook(DEBUG)
    assert not runbook_file.is_runbook(str(shipped_profiles() / f"{DEBUG}.yaml"))
    read = runbook_file.request_of(runbook_file.read(path), RunbookRequest("", sets=("port=10",), start="probe"))
    assert read == RunbookRequest(
        DEBUG,
        sets=("port=9", "port=10"),
        env=("A=b",),
        delivery="overlay",
        start="probe",
        steps=("free", "patch", "baseline", "launch", "probe", "shapes", "stop"),
    )
    plan = await runbook.plan(Node(), request)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="is there already"):
        runbook_file.write(path, plan)
    with pytest.raises(UsageError, match=r"a \.yaml file"):
        runbook_file.write(tmp_path / "x.txt", plan)
    secret = await runbook.plan(Node(), RunbookRequest(DEBUG, env=("HF_TOKEN=x",)))  # type: ignore[arg-type]
    with pytest.raises(Refused, match="looks like a secret"):
        runbook_file.write(tmp_path / "y.yaml", secret)


def test_a_wrong_file_is_told_with_its_places(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("runbook: 2\nprofile: p\nsteps: [free, prob]\nset: [a=b]\n")
    with pytest.raises(UsageError) as refused:
        runbook_file.read(path)
    told = refused.value.detail
    assert "x.yaml:1:1: runbook: must be at most 1" in told
    assert "x.yaml:3:15: steps.1: must be" in told
    assert "(nearest: probe)" in told
    assert "x.yaml:4:1: unknown key 'set' (nearest: sets)" in told


def test_the_form_knows_every_kind() -> None:
    assert get_args(runbook_file.Kind) == KINDS
