"""The runtime files of the patches on a real GPU: nothing waits, nothing breaks a graph's capture, the numbers hold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.unit.patches.served import read_back, runner

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.device, pytest.mark.timeout(300)]

CYCLE = """
import time, torch, warnings
warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
load()
torch.cuda.init()
x = torch.randn(512, 512, device="cuda")
class EAGLEWorkerV2:
    @module.cycle
    def forward_batch_generation(self, batch):
        self.draft(batch)
        self.verify(batch)
        self.extend(batch)
    @module.draft
    def draft(self, batch): torch.cuda._sleep(batch.sleep)
    @module.verify
    def verify(self, batch):
        module.target_start("cycle.target")
        torch.cuda._sleep(3 * batch.sleep)
        module.target_end("cycle.target")
        x @ x
    @module.extend
    def extend(self, batch): torch.cuda._sleep(batch.sleep)
worker = EAGLEWorkerV2()
def call(sleep): worker.forward_batch_generation(Holder(reqs=[0], sleep=sleep))
call(1000)
torch.cuda.synchronize()
torch.cuda.set_sync_debug_mode("error")
"""
DIGEST = """
import torch, warnings
warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
load()
digest = module.digest
OWNER = Holder(config=Holder(architectures=["LlamaForCausalLM"], hidden_size=1024))
state = torch.randn(6, 3072).bfloat16()
"""


def test_cycles_are_timed_without_waiting_for_the_gpu(tmp_path: Path) -> None:
    run = runner("eagle3-cycle", sys.executable, tmp_path, CYCLE)
    lines = run("""
start = time.perf_counter()
for _ in range(5): call(50_000_000)
assert time.perf_counter() - start < 0.05, "the calls waited for the GPU"
torch.cuda.set_sync_debug_mode("default")
torch.cuda.synchronize()
call(1000)
""")
    found = [one.fields for one in read_back(lines)]
    assert [one["seq"] for one in found][:6] == [1, 2, 3, 4, 5, 6]
    assert {one["clock"] for one in found} == {"cuda"}
    for one in found[1:6]:
        draft, verify, target, extend, whole = (
            float(str(one[f"{name}_ms"])) for name in ("draft", "verify", "target", "extend", "cycle")
        )
        assert 10 < draft < 100, "50 million ticks of a clock between 0.5 and 5 GHz"
        assert target == pytest.approx(3 * draft, rel=0.1)
        assert extend == pytest.approx(draft, rel=0.1)
        assert target <= verify
        assert draft + verify + extend == pytest.approx(whole, rel=0.02)
        assert one["gap_ms"] is not None


def test_a_cycle_inside_a_capture_breaks_nothing(tmp_path: Path) -> None:
    run = runner("eagle3-cycle", sys.executable, tmp_path, CYCLE)
    lines = run("""
torch.cuda.set_sync_debug_mode("default")
torch.cuda.synchronize()
call(1000)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    call(1000)
graph.replay()
torch.cuda.synchronize()
assert torch.equal(y, x @ x)
""")
    assert "error=" not in "".join(lines)


def test_a_digest_on_the_gpu_is_that_on_the_cpu_and_copies_once(tmp_path: Path) -> None:
    run = runner("eagle3-digest", sys.executable, tmp_path, DIGEST)
    lines = run("""
digest("target.aux", OWNER, state)
device = state.cuda()
digest("draft.fc_in", OWNER, device, embeds=device[:, :1024])
torch.cuda.synchronize()
torch.cuda.set_sync_debug_mode("warn")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    digest("draft.fc_in", OWNER, device, embeds=device[:, :1024])
torch.cuda.set_sync_debug_mode("default")
waits = [str(one.message) for one in caught if "synchroniz" in str(one.message)]
assert len(waits) == 1, waits
""")
    found = [one.fields for one in read_back(lines)]
    cpu, gpu = found[:3], found[3:6]
    assert [one["sum32"] for one in cpu] == [one["sum32"] for one in gpu]
    assert [one["absmax"] for one in cpu] == [one["absmax"] for one in gpu]
    for left, right in zip(cpu, gpu, strict=True):
        assert left["mean"] == pytest.approx(right["mean"], rel=1e-4)


def test_a_capture_succeeds_is_said_once_and_replays(tmp_path: Path) -> None:
    run = runner("eagle3-digest", sys.executable, tmp_path, DIGEST)
    lines = run("""
device = state.cuda()
out = torch.zeros_like(device)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out.copy_(device * 2)
    for _ in range(3): digest("target.aux", OWNER, out)
graph.replay()
torch.cuda.synchronize()
assert torch.equal(out, device * 2)
digest("target.aux", OWNER, out)
""")
    found = [one.fields for one in read_back(lines)]
    assert [one.get("capturing") for one in found] == [True, None, None, None]
