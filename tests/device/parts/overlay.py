"""The loop once more, by an overlay and with CUDA graphs: the tree is never touched, acceptance is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.device import gpu
from tests.device.parts import walk
from tests.device.parts.shapes import expect_acceptance, expect_shapes
from tests.device.profiles import PAIRS
from tests.device.site import NODE

if TYPE_CHECKING:
    from tests.device.rig import Rig

PROFILE = "deepseek-traced"


def run(rig: Rig) -> None:
    with rig.report.part("overlay") as part, rig.site("overlay", shared=True) as site:
        before, idle = site.tree(), gpu.used_mib()
        told = site.must(part, "patch", "apply", NODE, "--profile", PROFILE, "--yes").told
        part.expect("patch apply: states", walk.distinct(each["state"] for each in told["files"]), ["overlaid"])
        part.expect("files of the tree that differ", walk.differing(before, site.tree()), [])
        server = site.must_launch(part, PROFILE)
        ranks = site.kit.tp_size
        part.expect("launch: overlay", server["overlay"], {"ranks": ranks, "served": ranks, "wrong": ""})
        members = site.members()
        expect_acceptance(site, part, PAIRS["deepseek"])
        expect_shapes(site, part, replayed=site.kit.has_gpus)
        walk.expect_explained(site, part, server["log_path"])
        walk.stop(site, part, members)
        told = site.must(part, "patch", "revert", NODE, "--yes").told
        part.expect("patch revert: overlays removed", len(told["overlays_removed"]), 1)
        part.expect("files of the tree that differ after the revert", walk.differing(before, site.tree()), [])
        walk.nothing_left(site, part, idle)
