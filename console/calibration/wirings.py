"""Wirings of a draft: the right one, and faults that are made on purpose, to see that the verdict finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.calibration.table import BLIND
from console.errors import UsageError
from console.wiring.layers import captures, values_of

if TYPE_CHECKING:
    from console.calibration.pair import PairSpec
    from console.wiring.layers import Ids
    from console.wiring.targets import Rule

IN_ORDER = (0, 1, 2)
SHIFTS = {
    "trained": (0, 0, 0),
    "one_early": (-1, -1, -1),
    "one_late": (1, 1, 1),
    "one_of_three": (-1, 0, 0),
    "another_of_three": (0, 1, 0),
    "embedding": (-3, 0, 0),
}
"""By how many layers each slot's capture is off; the embedding is 3 below the output of layer 2."""
OTHERS = {
    "default_ids": "the config gives no ids",
    "fc_swapped": "fc takes its first two states in the other order",
    "d2t_missing": "the draft has no map of its vocabulary",
    "eagle_flag": "--speculative-algorithm EAGLE",
    "no_aux": "use_aux_hidden_state is false",
    "rope_scaled": "the draft's rotary positions are scaled (with --positions)",
    "target_rope_scaled": "the target's rotary positions are halved (with --positions)",
    "one_missing": "two ids in place of three",
    "one_too_many": "four ids",
}
NAMES = (*SHIFTS, *OTHERS)
TRAINED = "trained"
_OF_ATTENTION = ("rope_scaled", "target_rope_scaled")


@dataclass(frozen=True, slots=True)
class Wired:
    """A draft's folder of the pair, the flag it is launched with, and what the table of wirings calls it."""

    name: str
    ids: Ids | None
    slots: tuple[int, ...] = IN_ORDER
    """fc gives captured state j to slot slots[j]."""
    d2t: bool = True
    use_aux: bool = True
    rope_factor: int = 1
    """The draft's positions are divided by it (rope_scaling, linear)."""
    target: str = "target"
    """The target's folder of the pair."""
    algorithm: str = ""
    """The flag; empty: the profile's own."""
    outputs: Ids | None = None
    """What fc's slots get; None where no three states come."""
    other: str = ""
    """The id of a fault that is not in what the slots get."""
    faults: tuple[str, ...] = ()
    """Why the launch should fail."""

    @property
    def folder(self) -> str:
        """Of the pair; each draft that is unlike another has its own."""
        ids = "none" if self.ids is None else "_".join(map(str, self.ids))
        words = [f"draft-{ids}"]
        words += [f"fc-{''.join(map(str, self.slots))}"] if self.slots != IN_ORDER else []
        words += [f"rope-{self.rope_factor}"] if self.rope_factor != 1 else []
        return "-".join([*words, *([] if self.d2t else ["no-d2t"]), *([] if self.use_aux else ["no-aux"])])

    @property
    def told(self) -> str:
        """The wiring, for people."""
        ids = "no ids" if self.ids is None else f"ids {list(self.ids)}"
        more = OTHERS.get(self.name, "")
        return f"{self.name.replace('_', ' ')}: {ids}{f'; {more}' if more else ''}"

    def to_order(self) -> dict[str, Any]:
        """As the writer takes it."""
        return {
            "folder": self.folder,
            "ids": None if self.ids is None else list(self.ids),
            "slots": list(self.slots),
            "d2t": self.d2t,
            "use_aux": self.use_aux,
            "rope_factor": self.rope_factor,
            "target": self.target,
        }


def wire(name: str, rule: Rule, spec: PairSpec) -> Wired:
    """The draft of a wiring for a release whose ids mean what `rule` says. Raises UsageError."""
    if name in SHIFTS:
        wanted = tuple(output + shift for output, shift in zip(spec.trained, SHIFTS[name], strict=True))
        return with_ids(_ids(rule, spec, wanted), rule, spec, name)
    if name == "default_ids":
        return with_ids(None, rule, spec, name)
    ids = _ids(rule, spec, spec.trained)
    made = {
        "fc_swapped": Wired(name, ids, slots=(1, 0, 2), outputs=(spec.trained[1], spec.trained[0], spec.trained[2])),
        "d2t_missing": Wired(name, ids, d2t=False, other="d2t-not-applied"),
        "eagle_flag": Wired(name, ids, algorithm="EAGLE", other="algorithm-eagle"),
        "no_aux": Wired(name, ids, use_aux=False, other="nothing-captured"),
        "rope_scaled": Wired(name, ids, rope_factor=8, other="attention-finds-nothing"),
        "target_rope_scaled": Wired(name, ids, target="target-rope-scaled", other=BLIND),
        "one_missing": Wired(name, ids[1:], faults=("fc takes three states, two are captured",)),
        "one_too_many": Wired(name, (1, *ids), faults=("fc takes three states, four are captured",)),
    }
    if name in _OF_ATTENTION and not spec.looks_back:
        raise UsageError(f"{name} changes nothing where attention is multiplied by zero", "Add --positions.")
    if name not in made:
        raise UsageError(f"there is no wiring {name[:40]!r}", f"One of: {', '.join(NAMES)}.")
    return made[name]


def with_ids(ids: Ids | None, rule: Rule, spec: PairSpec, name: str = "ids") -> Wired:
    """The draft with these ids in its config, and what they capture by `rule`. Raises UsageError."""
    found = captures(rule, spec.layers, ids)
    if isinstance(found, str):
        return Wired(name, ids)
    whole = not found.faults and len(found.outputs) == len(spec.trained)
    why = found.faults or (() if whole else (f"{len(found.outputs)} states are captured, fc takes three",))
    return Wired(name, ids, outputs=found.outputs if whole else None, faults=why)


def _ids(rule: Rule, spec: PairSpec, outputs: Ids) -> Ids:
    """Ids that ask for these outputs, whether they can be had or not."""
    values = tuple(output + 1 for output in outputs)
    for ids in (outputs, values, values[-1:] + values[:-1], tuple(value - 1 for value in values)):
        if sorted(values_of(rule, spec.layers, ids)) == sorted(values):
            return ids
    raise UsageError(
        f"no ids make this SGLang capture the outputs of layers {list(outputs)}",
        "It does not read ids from the draft's config: calibrate --ids takes any.",
    )
