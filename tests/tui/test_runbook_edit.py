"""A checklist is changed before its walk, and what is asked of the walk is what the screen shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from console.actions import runbook, runbook_steps
from console.actions.runbook import RunbookRequest
from console.errors import UsageError
from console.launch.library import Library
from console.paths import shipped_profiles
from console.state import events
from console.state.model import ConsoleState, Step
from console.state.update import fold, update
from console.tui import runbook_files, translate
from console.tui.operations import walk_request
from console.tui.runbook_edit import begun_at, inserted, kinds_for, toggled
from console.tui.stream import EventStream
from tests.unit.actions.test_runbook_steps import Node

if TYPE_CHECKING:
    from pathlib import Path

PROFILE = "kimi-k2.5-eagle3-debug"
LOOP = ["free", "patch", "baseline", "launch", "probe", "shapes", "compare"]
LISTED = events.ProfilesListed((translate.profile_view(PROFILE, "", Library((shipped_profiles(),))),), PROFILE)
FRESH = fold(ConsoleState(), [LISTED])


def names(state: ConsoleState) -> list[str]:
    return [f"{'-' if step.state == 'skipped' else ''}{step.id}" for step in state.steps]


async def loaded(path: Path, text: str) -> tuple[ConsoleState, str]:
    """The state after a runbook file of this text was loaded, another profile being selected; and what was said."""
    path.write_text(text)
    other = replace(FRESH.profiles.found[0], name="kimi-k2.5-baseline", steps=())
    before = fold(FRESH, [replace(LISTED, found=(*LISTED.found, other)), events.ProfileSelected(other.name)])
    stream = EventStream(lambda _state: None, before)
    told = await runbook_files.load(Node(), stream, str(path))  # type: ignore[arg-type]
    stream.flush()
    return stream.state, told


def walked(*states: str) -> ConsoleState:
    """As many steps as there are states were walked."""
    steps = tuple(
        replace(step, state=state, proof="proof")  # type: ignore[arg-type]
        for step, state in zip(FRESH.steps, [*states, *["waiting"] * 7], strict=False)
    )
    return update(FRESH, events.RunbookMoved(PROFILE, steps))


def test_the_profiles_own_steps_are_shown_before_there_was_a_walk():
    assert names(FRESH) == LOOP
    assert FRESH.steps[0].title
    request = walk_request(FRESH)
    assert (request.profile, request.steps, request.skip, request.start) == (PROFILE, (), (), None)


def test_a_step_is_left_out_and_put_back():
    state = update(FRESH, toggled(FRESH, "patch"))
    assert names(state) == ["free", "-patch", *LOOP[2:]]
    assert walk_request(state).skip == ("patch",)
    assert names(update(state, toggled(state, "patch"))) == LOOP


def test_steps_are_put_in_where_the_verb_puts_them():
    state = FRESH
    for typed in ("stop", "probe:shapes", "free:stop", "probe:launch"):
        state = update(state, inserted(state, typed))
    kinds = ["free", "patch", "baseline", "probe", "launch", "probe", "probe", "shapes", "compare", "free", "stop"]
    assert list(walk_request(state).steps) == kinds
    assert [entry.id for entry in runbook_steps.arrange(kinds)] == names(state)


def test_what_was_left_out_stays_so_when_its_number_changes():
    state = update(FRESH, toggled(FRESH, "probe"))
    state = update(state, inserted(state, "probe:launch"))
    assert names(state)[3:6] == ["probe", "launch", "-probe-2"]
    assert walk_request(state).skip == ("probe-2",)


def test_the_walk_begins_where_it_is_told_to():
    state = update(FRESH, begun_at(FRESH, "probe"))
    assert names(state) == ["-free", "-patch", "-baseline", "-launch", "probe", "shapes", "compare"]
    assert walk_request(state).skip == ("free", "patch", "baseline", "launch")


@pytest.mark.parametrize(
    ("states", "start"),
    [
        (["done", "failed"], "patch"),
        (["done", "skipped", "waiting"], "baseline"),
        (["done"] * 7, None),
        (["failed"], "free"),
        ([], None),
    ],
)
def test_it_is_taken_up_at_the_first_step_that_is_still_to_be_done(states: list[str], start: str | None) -> None:
    assert walk_request(walked(*states)).start == start


def test_a_failed_step_that_is_left_out_is_gone_over():
    state = walked("done", "failed")
    state = update(state, toggled(state, "patch"))
    assert walk_request(state).start == "baseline"
    assert state.steps[0].proof == "proof", "what was done is still known"


def test_an_edit_outlives_the_walk_and_no_other_profile():
    state = update(FRESH, toggled(FRESH, "compare"))
    state = update(state, events.RunbookMoved(PROFILE, (Step("free", "", "done"),)))
    assert state.runbook.skip == ("compare",)
    assert update(state, events.ProfileSelected("other")).runbook.skip == ()


async def test_a_file_is_loaded_and_what_it_changes_outlives_edits_and_the_walk(tmp_path: Path) -> None:
    changes = "sets: [port=9]\nenv: [NCCL_PROTO=LL, MY_API_KEY=abcdefgh]\nallow: [port-in-use]\ndelivery: in-place\n"
    text = f"runbook: 1\nprofile: {PROFILE}\n{changes}steps: [free, launch, probe, probe, stop]\n"
    state, told = await loaded(tmp_path / "evening.yaml", text)
    assert (state.profiles.selected, names(state)) == (PROFILE, ["free", "launch", "probe", "probe-2", "stop"])
    assert "evening.yaml" in told
    assert state.steps[4].title
    state = update(state, toggled(state, "probe"))
    state = update(state, events.RunbookMoved(PROFILE, (replace(state.steps[0], state="done"), *state.steps[1:])))
    assert walk_request(state) == RunbookRequest(
        PROFILE,
        sets=("port=9",),
        env=("NCCL_PROTO=LL", "MY_API_KEY=abcdefgh"),
        allow=("port-in-use",),
        delivery="in-place",
        steps=("free", "launch", "probe", "probe", "stop"),
        skip=("probe",),
        start="launch",
    )
    shown = "\n".join((await runbook.plan(Node(), walk_request(state))).lines())  # type: ignore[arg-type]
    assert "--set port=9 --env NCCL_PROTO=LL --env 'MY_API_KEY=***' --allow port-in-use --delivery in-place" in shown
    for event in (events.RunbookCleared(), events.ProfileSelected("kimi-k2.5-baseline")):
        changed = update(state, event)
        assert walk_request(changed) == RunbookRequest(changed.profiles.selected)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("runbook: 1\nprofile: kimi-k2.5-eagle3\nsteps: [free]\n", "is not one of those listed"),
        ("runbook: 1\nprofile: kimi-k2.5-baseline\nsteps: [compare]\n", "names no baseline"),
        ("runbook: 1\nprofile: nowhere\nsteps: [free]\n", "nowhere"),
        ("runbook: 2\nprofile: x\nsteps: [free]\n", "must be at most 1"),
        ("runbook: [", "yaml"),
    ],
)
async def test_a_file_that_cannot_be_walked_is_not_loaded(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        await loaded(tmp_path / "evening.yaml", text)
    assert says in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize("typed", ["prob", "probe:nowhere", ""])
def test_what_cannot_be_put_in_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        inserted(FRESH, typed)


def test_one_step_stays():
    state = update(FRESH, begun_at(FRESH, "compare"))
    with pytest.raises(UsageError, match="every step is left out"):
        toggled(state, "compare")


def test_only_what_the_profile_can_have_is_offered():
    assert kinds_for(FRESH) == runbook_steps.KINDS
    plain = replace(FRESH.profiles.found[0], steps=tuple(s for s in FRESH.steps if s.kind in ("free", "launch")))
    state = update(FRESH, events.ProfilesListed((plain,), PROFILE))
    assert kinds_for(state) == ("free", "launch", "stop")
