"""What a wiring is called: from what fc's slots get, or the id of another fault."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from console.calibration.table import LOST, blind_where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.calibration.table import Prediction, Table

_OTHERS = {
    "d2t-not-applied": "d2t is not applied: the draft's rows are taken for the target's token ids",
    "attention-finds-nothing": "the draft's attention finds nothing: its positions, rotary embedding or KV cache",
    "algorithm-eagle": "--speculative-algorithm EAGLE with an EAGLE-3 draft",
    "nothing-captured": "nothing is captured: use_aux_hidden_state is false, or the hook is never called",
    "graphs-replay-default": "CUDA graphs replay a verify with the default ids",
    "graphs-replay-default-plus-one": "CUDA graphs replay a verify with the default ids, one later",
}
MOST_NAMED = 6
_SWAPS: dict[tuple[int, ...], str] = {
    (1, 0, 2): "slots 0 and 1 of fc swapped",
    (0, 2, 1): "slots 1 and 2 of fc swapped",
}
_SWAPS |= {(2, 1, 0): "slots 0 and 2 of fc swapped"}


def name(found: Prediction, trained: Sequence[int]) -> str:
    """The wiring in words."""
    if found.outputs is None:
        return _other(found.other)
    return _slots(found.outputs, tuple(trained))


def names(fitting: Sequence[Prediction], trained: Sequence[int]) -> list[str]:
    """Of several, those most like what was trained first; no more than can be read."""
    ordered = sorted(fitting, key=lambda each: _distance(each, trained))
    told = [name(each, trained) for each in ordered[:MOST_NAMED]]
    more = len(ordered) - len(told)
    return [*told, f"and {more} more"] if more else told


def lines(table: Table, hist: Sequence[int]) -> Iterator[str]:
    """What a histogram proves."""
    found = table.fitting(hist)
    if not found:
        yield f"none of the {len(table.predictions)} known wirings gives this"
        return
    if found[0].is_lost:
        yield f"total loss: {len(found)} wirings give this, and it does not tell them apart"
    yield from names(found, table.trained)


def _other(fault: str) -> str:
    where = blind_where(fault)
    if where:
        return f"the target's attention finds nothing, or other tokens, {where}: positions, rope, KV cache or MLA"
    if fault.startswith(LOST):
        step = fault.removeprefix(LOST)
        return f"the draft's attention is lost after step {step}: positions or KV cache of drafted tokens"
    return _OTHERS.get(fault) or f"as trained, but {fault.removeprefix('steps-')} draft steps"


def _slots(outputs: tuple[int, ...], trained: tuple[int, ...]) -> str:
    layers = f"outputs of layers {written(outputs)} in fc's slots"
    if outputs == trained:
        return f"as trained: {layers}"
    shifts = [got - wanted for got, wanted in zip(outputs, trained, strict=True)]
    if len(set(shifts)) == 1:
        return f"all {_shift(shifts[0])}: {layers}"
    for order in permutations(range(len(trained))):
        if outputs == tuple(trained[slot] for slot in order):
            return f"{_SWAPS.get(order, 'slots of fc in another order')}: {layers}"
    wrong = [slot for slot, shift in enumerate(shifts) if shift]
    if len(wrong) == 1:
        slot = wrong[0]
        how = "holds the embedding" if outputs[slot] < 0 else _shift(shifts[slot])
        return f"slot {slot} {how}: {layers}"
    return f"{len(wrong)} slots wrong: {layers}"


def written(outputs: Sequence[int]) -> str:
    return ", ".join("embedding" if each < 0 else str(each) for each in outputs)


def _shift(by: int) -> str:
    size = f"{abs(by)} layers" if abs(by) > 1 else "one layer"
    return f"{size} {'early' if by < 0 else 'late'}"


def _distance(found: Prediction, trained: Sequence[int]) -> tuple[int, int, int]:
    """Other faults than layers first, then by how many slots are wrong, and by how much."""
    if found.outputs is None:
        return 0, 0, 0
    shifts = [abs(got - wanted) for got, wanted in zip(found.outputs, trained, strict=True)]
    return sum(map(bool, shifts)), len(set(shifts)), sum(shifts)
