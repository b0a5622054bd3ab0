"""A checklist changed before its walk: a step left out or put in, the walk begun at another step. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.actions.runbook_steps import KINDS, arrange
from console.errors import UsageError
from console.state.events import RunbookEdited
from console.state.model import Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.state.model import ConsoleState

LEFT_OUT = "left out"
_TITLES = {"stop": "the server ends, its GPUs are measured free", "revert": "the patches come off, and that is proved"}
"""Of the steps that are in no profile's own runbook."""


def kinds_for(state: ConsoleState) -> tuple[str, ...]:
    """Return the kinds of steps that may be put into the selected profile's runbook."""
    current = state.profiles.current
    own = {step.kind for step in current.steps} if current else set()
    possible = {*own, "stop", *(["revert"] if "patch" in own else [])}
    return tuple(kind for kind in KINDS if kind in possible)


def toggled(state: ConsoleState, name: str) -> RunbookEdited:
    """Leave a step out, or have it done after all. Raises UsageError."""
    step, skip = _step(state, name), set(state.runbook.skip)
    if step.state == "skipped":
        changed, skip = replace(step, state="waiting", proof=""), skip - {name}
    else:
        changed, skip = replace(step, state="skipped", proof=LEFT_OUT, elapsed_s=0.0), skip | {name}
    return _edited(state, (changed if each is step else each for each in state.steps), skip)


def begun_at(state: ConsoleState, name: str) -> RunbookEdited:
    """Leave out all that stands before a step, and have it done and what follows. Raises UsageError."""
    at, skip = state.steps.index(_step(state, name)), set(state.runbook.skip) - {name}
    before = [replace(step, state="skipped", proof=step.proof or LEFT_OUT) for step in state.steps[:at]]
    after = [step if step.id in skip else replace(step, state="waiting", proof="") for step in state.steps[at:]]
    return _edited(state, (*before, *after), skip | {step.id for step in before})


def inserted(state: ConsoleState, typed: str) -> RunbookEdited:
    """Put a step in: `KIND` at the end, `KIND:STEP` before that step, as `runbook --insert` does. Raises UsageError."""
    kind, colon, name = typed.partition(":")
    possible, steps = kinds_for(state), list(state.steps)
    if kind not in possible:
        raise UsageError(f"no step {kind!r} can be put in", f"There are: {', '.join(possible)}.")
    at = steps.index(_step(state, name)) if colon else len(steps)
    current = state.profiles.current
    titles = {**_TITLES, **{each.kind: each.title for each in (current.steps if current else ())}}
    left_out = [step.id in state.runbook.skip for step in steps]
    steps.insert(at, Step(kind, titles[kind]))
    left_out.insert(at, False)
    # Numbers follow the order: the second of a kind is called KIND-2.
    names = [entry.id for entry in arrange([step.kind for step in steps])]
    numbered = [replace(step, id=name) for step, name in zip(steps, names, strict=True)]
    return _edited(state, numbered, {name for name, is_out in zip(names, left_out, strict=True) if is_out})


def _step(state: ConsoleState, name: str) -> Step:
    found = next((step for step in state.steps if step.id == name), None)
    if found is None:
        raise UsageError(f"there is no step {name!r}", f"Steps: {', '.join(step.id for step in state.steps)}.")
    return found


def _edited(state: ConsoleState, steps: Iterable[Step], skip: set[str]) -> RunbookEdited:
    made = tuple(steps)
    if all(step.state == "skipped" for step in made):
        raise UsageError("every step is left out", "Leave one.")
    return RunbookEdited(state.profiles.selected, made, tuple(step.id for step in made if step.id in skip))
