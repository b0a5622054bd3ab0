"""A launch beside a process that holds a GPU's memory: refused, and if it is forced the death is told as what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.device import gpu
from tests.device.parts import faults
from tests.device.site import NODE

if TYPE_CHECKING:
    from tests.device.rig import Rig

LEAVE = 2 * 2**30
RULES = ("gpu-out-of-memory", "memory-unbalanced", "graph-capture-memory")


def run(rig: Rig) -> None:
    with rig.report.part("memory") as part, rig.site("memory") as site, gpu.holding(rig.kit, 0, leave=LEAVE) as held:
        gpu.snapshot(rig.report.out / "nvidia-smi.txt", "a process holds GPU 0")
        done = site.launch(part, faults.PROFILE)
        part.expect("refused before it loads: exit code", done.code, 5)
        rules = done.refused
        part.expect("refused: rules", rules, "gpus-held among them", ok="gpus-held" in rules)
        part.expect("refused: who holds it is named", f"pid {held.pid} " in done.text, True)
        part.figure("refused: what the console said", done.error.get("message"))
        if rig.kit.has_gpus:
            faults.died(site, part, faults.launch_anyway(site, part, rules), *RULES)
        freed = site.verb(part, "free", NODE, "--yes")
        part.expect("free by default: exit code", freed.code, 1)
        states = [each["state"] for each in freed.told["gpus"][: rig.kit.tp_size]]
        part.expect("free by default: states", states, ["held", *["free"] * (rig.kit.tp_size - 1)])
        part.expect("the process that holds it was left alone", held.poll(), None)
