"""The parts of a device run, in the order of their worth: name → what it does, and the seconds it needs on GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.device.parts import (
    calibrate,
    capture_sync,
    cost,
    faults,
    foreign,
    llama,
    memory,
    overlay,
    suite,
    walk,
    wirings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.device.rig import Rig


@dataclass(frozen=True, slots=True)
class Entry:
    """`needs_s`: with less time left it is not begun. `gpus_only`: nothing of it can be tried on a CPU."""

    run: Callable[[Rig], None]
    needs_s: float
    gpus_only: bool = False


PARTS = {
    "walk": Entry(walk.run, 220),
    "overlay": Entry(overlay.run, 80),
    "llama": Entry(llama.run, 170),
    "faults": Entry(faults.run, 80),
    "memory": Entry(memory.run, 50),
    "sync": Entry(capture_sync.run, 50),
    "foreign": Entry(foreign.run, 50),
    "wirings": Entry(wirings.run, 70),
    "calibrate": Entry(calibrate.run, 300),
    "cost": Entry(cost.run, 200),
    "suite": Entry(suite.run, 60, gpus_only=True),
}
