"""What the agent finds out before a launch: of the real machine, and of GPUs by texts that nvidia-smi printed."""

from __future__ import annotations

import os
import resource
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.demo.setup import prepare
from remote_agent.gpu.smi import links_of
from remote_agent.handlers.preflight import memory_limit, numa_node

if TYPE_CHECKING:
    from pathlib import Path

TABS = str.maketrans({"|": "\t"})
# As printed for two servers (`nvidia-smi topo -m`), cut to four GPUs and two NICs; older tools underline the head.
NVLINK = """\
|\x1b[4mGPU0|GPU1|GPU2|GPU3|NIC0|NIC1|CPU Affinity|NUMA Affinity|GPU NUMA ID\x1b[0m
GPU0| X |NV18|NV18|NV18|PXB|NODE|0-63,128-191|0||N/A
GPU1|NV18| X |NV18|NV18|NODE|PXB|0-63,128-191|0||N/A
GPU2|NV18|NV18| X |NV18|NODE|NODE|0-63,128-191|0||N/A
GPU3|NV18|NV18|NV18| X |SYS|SYS|64-127,192-255|1||N/A
NIC0|PXB|NODE|NODE|SYS| X |NODE||||
NIC1|NODE|PXB|NODE|SYS|NODE| X ||||

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
""".translate(TABS)
PCIE = """\
|GPU0|GPU1|GPU2|CPU Affinity|NUMA Affinity|GPU NUMA ID
GPU0| X |SYS|SYS|0-31|0-1||N/A
GPU1|SYS| X |PHB|0-31|0-1||N/A
GPU2|SYS|PHB| X |0-31|0-1||N/A
""".translate(TABS)


def pairs(text: str) -> dict[tuple[int, int], str]:
    return {(link.a, link.b): link.path for link in links_of(text)}


def test_links_of_a_switched_and_of_a_pcie_server():
    assert pairs(NVLINK) == {(a, b): "NV18" for a in range(4) for b in range(a + 1, 4)}
    assert pairs(PCIE) == {(0, 1): "SYS", (0, 2): "SYS", (1, 2): "PHB"}


def test_a_single_gpu_and_what_is_no_matrix_have_no_links():
    assert pairs(PCIE.replace("GPU1", "NIC0").replace("GPU2", "NIC1")) == {}
    assert pairs("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n") == {}


@given(st.text(alphabet=st.sampled_from("GPU0123\t\n XNVSYPHB\x1b[4m"), max_size=300))
def test_a_hostile_matrix_gives_pairs_in_order_or_nothing(text):
    assert all(link.a < link.b and link.path.isalnum() for link in links_of(text))


async def test_limits_shared_memory_and_programs_are_those_of_the_agent(connect, tmp_path):
    for name in ("ninja", "nvcc", "py-spy"):
        tool = tmp_path / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755 if name != "py-spy" else 0o644)
    shm = os.statvfs("/dev/shm")
    async with connect() as agent:
        facts = await agent.preflight({"PATH": str(tmp_path / "bin")}, [], "", "")
        cuda_home = await agent.preflight({"PATH": str(tmp_path / "bin"), "CUDA_HOME": str(tmp_path)}, [], "", "")
        wrong = await agent.preflight({"PATH": str(tmp_path / "bin"), "CUDA_HOME": "/nowhere"}, [], "", "")
        started = time.monotonic()
        await agent.preflight({}, [], "", "")
        assert time.monotonic() - started < 60  # a hang, not a slow machine
    assert facts.limits["nofile"] == list(resource.getrlimit(resource.RLIMIT_NOFILE))
    assert set(facts.limits) == {"nofile", "memlock", "nproc"}
    assert facts.shm_bytes == shm.f_blocks * shm.f_frsize
    assert facts.shm_free_bytes is not None
    bin_ = str(tmp_path / "bin")
    assert facts.programs == {"ninja": f"{bin_}/ninja", "nvcc": f"{bin_}/nvcc", "py-spy": ""}
    assert cuda_home.programs["nvcc"] == f"{bin_}/nvcc"
    assert wrong.programs["nvcc"] == "", "torch takes CUDA_HOME as it is"
    assert facts.hub is None
    assert facts.hardware.gpus == []
    assert facts.hardware.unread == {"gpus": "switched off by --gpu-source none"}


async def test_the_hubs_cache_is_the_one_that_the_server_would_use(connect, tmp_path):
    hub = tmp_path / "hf" / "hub"
    (hub / "models--org--whole" / "snapshots" / "1a2b").mkdir(parents=True)
    (hub / "models--org--whole" / "snapshots" / "1a2b" / "model.safetensors").touch()
    (hub / "models--org--config" / "snapshots" / "1a2b").mkdir(parents=True)
    (hub / "models--org--config" / "snapshots" / "1a2b" / "config.json").touch()
    (tmp_path / "work" / "local").mkdir(parents=True)
    ids = ["org/whole", "org/config", "org/none", "local"]
    home = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""}
    async with connect() as agent:
        online = (await agent.preflight(home, ids, str(tmp_path / "work"), "")).hub
        offline = (await agent.preflight({**home, "TRANSFORMERS_OFFLINE": "yes"}, ids, "", "")).hub
        allowed = {**home, "HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "1"}
        shielded = (await agent.preflight(allowed, ids, "", "")).hub
        elsewhere = (await agent.preflight(home, ids, "", str(tmp_path / "other"))).hub
        modelscope = (await agent.preflight({**home, "SGLANG_USE_MODELSCOPE": "true"}, ids, "", "")).hub
    assert online is not None
    assert (online.cache, online.offline_by) == (str(hub), "")
    assert online.missing == ["org/config", "org/none"]
    assert online.free_bytes
    assert offline is not None
    assert offline.offline_by == "TRANSFORMERS_OFFLINE"
    assert shielded is not None
    assert shielded.offline_by == "", "HF_HUB_OFFLINE goes before, whatever it says"
    assert elsewhere is not None
    assert (elsewhere.cache, elsewhere.missing) == (str(tmp_path / "other"), ids)
    assert modelscope is None


async def test_the_embedded_nodes_gpus_and_what_its_tool_does_not_tell(connect, tmp_path):
    demo = prepare(tmp_path / "demo")
    async with connect("--gpu-source", "smi", "--nvidia-smi", str(demo.nvidia_smi)) as agent:
        hardware = (await agent.preflight({}, [], "", "")).hardware
    assert [gpu.index for gpu in hardware.gpus] == list(range(8))
    first = hardware.gpus[0]
    assert (first.power_limit_w, first.power_default_w, first.persistence) == (700.0, 700.0, True)
    assert (first.clock_max_mhz, first.clock_app_mhz, first.clock_app_default_mhz) == (1980, 1980, 1980)
    assert first.bus_id == "0000:0f:00.0"
    assert hardware.driver == "580.95.05"
    assert hardware.links == []
    assert "Invalid combination" in hardware.unread["links"]
    assert {"cuda", "clock_reasons", "numa"} <= set(hardware.unread)


OLD_TOOL = """#!/bin/sh
case "$*" in
  *topo*) cat {topo};;
  *clocks.applications*) echo 'Field "clocks.applications.graphics" is not a valid field to query.'; exit 2;;
  *pci.bus_id*) for i in 0 1 2; do echo "$i, NVIDIA H200, 143771, 550.144.03, 00000000:1${{i}}:00.0"; done;;
  *index,uuid,name*) echo '0, GPU-0, NVIDIA H200, 143771, 0, 0, 30, 70.0, [N/A], 345, Disabled, 550.144.03';;
esac
"""


async def test_a_driver_that_does_not_know_a_field_still_tells_the_rest(connect, tmp_path):
    (tmp_path / "topo.txt").write_text(PCIE)
    tool = tmp_path / "nvidia-smi"
    tool.write_text(OLD_TOOL.format(topo=tmp_path / "topo.txt"))
    tool.chmod(0o755)
    async with connect("--gpu-source", "smi", "--nvidia-smi", str(tool)) as agent:
        hardware = (await agent.preflight({}, [], "", "")).hardware
    assert [gpu.name for gpu in hardware.gpus] == ["NVIDIA H200"] * 3
    assert {(gpu.power_limit_w, gpu.clock_app_mhz, gpu.persistence) for gpu in hardware.gpus} == {(None, None, None)}
    assert "not a valid field" in hardware.unread["power"]
    assert [(link.a, link.b, link.path) for link in hardware.links] == [(0, 1, "SYS"), (0, 2, "SYS"), (1, 2, "PHB")]


@pytest.mark.parametrize(
    ("line", "cuda"),
    [
        ("cuda: Optional[str] = '12.9'", "12.9"),
        ('cuda = "13.0"', "13.0"),
        ("cuda: Optional[str] = None", None),
        ("cuda_home = '12.9'", None),
    ],
)
async def test_torch_is_read_and_never_imported(connect, python, tmp_path, line, cuda):
    for name in ("torch", "sglang"):
        (tmp_path / "site" / name).mkdir(parents=True)
        (tmp_path / "site" / name / "__init__.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "site" / "torch" / "version.py").write_text(f"from typing import Optional\n__version__ = '2'\n{line}\n")
    async with connect() as agent:
        facts = await agent.sglang(python, {"PYTHONPATH": str(tmp_path / "site")})
    assert (facts.error, facts.torch_cuda) == ("", cuda)
    assert facts.root == str(tmp_path / "site" / "sglang")


def test_numa_nodes_as_sysfs_tells_them(tmp_path):
    for bus, text in (("0000:0f:00.0", "1\n"), ("0000:1f:00.0", "-1\n"), ("0000:2f:00.0", "one\n")):
        (tmp_path / bus).mkdir()
        (tmp_path / bus / "numa_node").write_text(text)
    assert numa_node("0000:0f:00.0", str(tmp_path)) == 1
    assert numa_node("0000:1f:00.0", str(tmp_path)) is None
    assert numa_node(None, str(tmp_path)) is None
    with pytest.raises(ValueError, match="invalid literal"):
        numa_node("0000:2f:00.0", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        numa_node("0000:3f:00.0", str(tmp_path))


def _cgroup(folder: Path, row: str, limits: dict[str, str]) -> int | None:
    (folder / "cgroup").write_text(row)
    for path, text in limits.items():
        file = folder / "fs" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return memory_limit(str(folder / "cgroup"), str(folder / "fs"))


def test_the_memory_limit_is_the_lowest_from_the_own_cgroup_up(tmp_path):
    nested = {"a/memory.max": "2000\n", "a/b/memory.max": "max\n", "memory.max": "9000\n"}
    assert _cgroup(tmp_path / "2", "0::/a/b\n", nested) == 2000
    assert _cgroup(tmp_path / "2n", "0::/\n", {"memory.max": "max\n"}) is None
    old = {"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/x/memory.limit_in_bytes": "4096\n"}
    assert _cgroup(tmp_path / "1", "7:cpu:/x\n5:memory:/x\n", old) == 4096
    # A container sees its own cgroup as the root, whatever /proc says.
    assert _cgroup(tmp_path / "c", "0::/system.slice/docker-1.scope\n", {"memory.max": "77\n"}) == 77


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    for name in ("1", "2", "2n", "c"):
        (tmp_path / name).mkdir()
