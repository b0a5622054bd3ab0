"""Other layers are captured than the draft was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import wired
from console.lint.rule import Rule
from console.wiring.layers import Captures
from console.wiring.timeline import Stretch, timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="layer-outputs",
    title="Other layers are captured than the draft was trained on",
    why="A wrong layer has the same width: nothing fails and nothing is logged, only the accept length falls "
    "(4.65 to 1.78 on a calibrated pair).",
    source="deepseek_v2.py 0.5.12.post1 and 0.5.13 l.2752 (sgl-project/sglang PR 25454); run on either side of the "
    "change; case A06",
)


def check(launch: Launch) -> Iterator[Finding]:
    found = launch.resolution
    if wired.eagle3_draft(launch) is None or found is None or (found.eager is not None and found.eager.faults):
        return
    if launch.trained:
        yield from _against_training(launch, launch.trained)
    else:
        yield from _convention(launch)


def _against_training(launch: Launch, trained: tuple[int, ...]) -> Iterator[Finding]:
    found = launch.resolution
    assert found is not None
    told = f"trained on the outputs of layers {wired.outputs(trained)} ({launch.trained_by or 'the profile'})"
    if found.eager is not None and found.eager != Captures(trained):
        message = f"{told}, {wired.on(launch)} captures those of {wired.outputs(found.eager.outputs)}"
        yield RULE.error(message, wired.ids_to_write(launch), _when(launch))
    elif found.eager is None:
        wrong = [each for each in _stretches(launch) if each.eager != Captures(trained)]
        if wrong:
            message = f"{told}; {', '.join(each.when for each in wrong)} other layers are captured"
            yield RULE.warn(message, "Name the release: --sglang-version.", _when(launch))


def _convention(launch: Launch) -> Iterator[Finding]:
    """The ids mean other layers in other releases, and nobody says which were meant."""
    stretches = _stretches(launch)
    if len({each.eager for each in stretches}) > 1:
        message = f"what the ids {_ids(launch)} mean changed between releases, and nothing says which was meant"
        hint = "Say what it was trained on (training.capture_layer_outputs). Only the accept length shows it."
        yield RULE.warn(message, hint, _when(launch))


def _stretches(launch: Launch) -> tuple[Stretch, ...]:
    """Where a release captures nothing, or too little, its launch fails: that is no change of meaning."""
    if launch.target is None or launch.draft is None:
        return ()
    return tuple(each for each in timeline(launch.target.config, launch.draft.config) if not each.eager.faults)


def _when(launch: Launch) -> str:
    return f"ids {_ids(launch)}: outputs of " + "; ".join(
        f"{wired.outputs(each.eager.outputs)} {each.when}" for each in _stretches(launch)
    )


def _ids(launch: Launch) -> str:
    ids = launch.resolution.draft.ids if launch.resolution else None
    return "none" if ids is None else str(list(ids))
