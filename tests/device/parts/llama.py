"""The Llama pair: acceptance with CUDA graphs and eager, and the probe against SGLang's own benchmark on one server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.device.parts import bench, walk
from tests.device.parts.shapes import expect_acceptance, expect_shapes
from tests.device.profiles import PAIRS
from tests.device.site import NODE

if TYPE_CHECKING:
    from tests.device.rig import Rig


def run(rig: Rig) -> None:
    if rig.only in ("", "graphs"):
        graphs(rig)
    if rig.only in ("", "eager"):
        eager(rig)


def graphs(rig: Rig) -> None:
    with rig.report.part("llama.graphs") as part, rig.site("llama-graphs") as site:
        site.must_launch(part, "llama-eagle3")
        members = site.members()
        candidate = expect_acceptance(site, part, PAIRS["llama"])
        with rig.report.part("llama.bench") as beside:
            bench.against_sglang(rig, site, beside)
        walk.stop(site, part, members)
        reference = walk.baseline(site, part, "llama-baseline")
        walk.compare(site, part, reference, candidate, "--varies", "speculative")


def eager(rig: Rig) -> None:
    with rig.report.part("llama.eager") as part, rig.site("llama-eager") as site:
        site.must(part, "patch", "apply", NODE, "--profile", "llama-debug", "--yes")
        site.must_launch(part, "llama-debug")
        members = site.members()
        expect_acceptance(site, part, PAIRS["llama"])
        expect_shapes(site, part, replayed=False)
        walk.stop(site, part, members)
        site.must(part, "patch", "revert", NODE, "--yes")
