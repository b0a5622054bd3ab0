"""A patch of the user's own that waits for the GPU in a forward: with CUDA graphs its launch dies in the capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.device.parts import faults, walk
from tests.device.site import NODE

if TYPE_CHECKING:
    from tests.device.rig import Rig
    from tests.device.site import Site

PROFILE, PATCH = "llama-sync", "sync-in-forward"
FORM = """\
id: sync-in-forward
title: Read a captured state on the host in the middle of the forward
env: SYNC_IN_FORWARD
anchors:
  captured:
    kind: if
    forms: [self.capture_aux_hidden_states]
    method: forward
    needs: capture_aux_hidden_states
files:
  - path: srt/models/llama.py
    role: target
    architectures: [LlamaForCausalLM]
    inserts:
      - site: sync.captured
        anchor: captured
        where: after
        call: look(aux_hidden_states)
"""
RUNTIME = '''\
# spec-console runtime: sync-in-forward
"""Waits for the GPU, which nothing may do while a graph is captured."""

import os

ON = os.environ.get("SYNC_IN_FORWARD") == "1"


def look(states):
    if ON and states:
        states[0].sum().item()
'''


def run(rig: Rig) -> None:
    with rig.report.part("sync") as part, rig.site("sync") as site:
        _write(site)
        told = site.must(part, "patch", "apply", NODE, "--profile", PROFILE, "--yes").told
        part.expect("patch apply: states", walk.distinct(each["state"] for each in told["files"]), ["overlaid"])
        done = site.launch(part, PROFILE)
        if rig.kit.has_gpus:
            part.expect("died in the capture: exit code", done.code, 6)
            part.figure("died: what the console said", done.error)
            part.expect("died: a finding", done.rules, "one at least", ok=bool(done.rules))
            part.expect("died: the capture is named", "captur" in done.text.lower(), True)
            site.expect_gone(part, site.members(), "died")
        elif part.expect("without graphs it runs: exit code", done.code, 0):
            faults.stopped(site, part, site.members())
        site.must(part, "patch", "revert", NODE, "--yes")


def _write(site: Site) -> None:
    folder = site.home / "config" / "patches" / PATCH
    folder.mkdir(parents=True)
    (folder / "patch.yaml").write_text(FORM)
    (folder / "runtime.py").write_text(RUNTIME)
