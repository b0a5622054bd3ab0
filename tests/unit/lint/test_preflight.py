"""Rules on the node: each finds its fault in what preflight told, and a node that told nothing is left in peace."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from console import lint
from console.launch import asked as asking
from console.launch.command import Command
from console.launch.library import Library
from console.launch.loader import Inputs, resolve
from console.launch.needs import needs
from console.lint.context import Launch, LaunchContext
from console.node.holders import Holder
from console.node.verdict import GpuVerdict
from console.paths import shipped_profiles
from console.wiring.checkpoint import Checkpoint
from remote_agent.protocol import (
    GpuHardware,
    GpuLink,
    Hardware,
    HubFacts,
    Identity,
    PathFacts,
    PortFacts,
    Preflight,
    ProcessInfo,
    SGLangFacts,
)

GIB = 1 << 30
VARIABLES = {"python": "/v/bin/python", "models": "/m", "drafts": "/d", "logs": "/logs"}


def hardware(count: int = 8, path: str = "NV18", **more: Any) -> Hardware:
    """A healthy server: 8 × H200, two NUMA nodes."""
    known: dict[str, Any] = {
        "memory_total_bytes": 140 * GIB,
        "power_limit_w": 700.0,
        "power_default_w": 700.0,
        "clock_app_mhz": 1980,
        "clock_app_default_mhz": 1980,
        "clock_reasons": 1,
        "persistence": True,
    }
    gpus = [GpuHardware(i, "NVIDIA H200", numa_node=i * 2 // count, **known) for i in range(count)]
    links = [GpuLink(a, b, path) for a, b in combinations(range(count), 2)]
    return Hardware(**{"driver": "580.95.05", "cuda": "13.0", "gpus": gpus, "links": links, **more})


def told(**more: Any) -> Preflight:
    given: dict[str, Any] = {
        "hardware": hardware(),
        "limits": {"nofile": [1024, 1048576], "memlock": [65536, 65536], "nproc": [-1, -1]},
        "shm_bytes": 500 * GIB,
        "shm_free_bytes": 499 * GIB,
        "programs": {"nvcc": "/usr/local/cuda/bin/nvcc", "ninja": "/usr/bin/ninja", "py-spy": "/usr/bin/py-spy"},
    }
    return Preflight(**{**given, **more})


@pytest.fixture
def good() -> LaunchContext:
    resolved = resolve("kimi-k2.5-eagle3-debug", Library((shipped_profiles(),)), Inputs(VARIABLES, {}))
    wanted = needs(resolved)
    there: dict[str, Any] = {"readable": True, "writable": True, "creatable": True, "free_bytes": 1 << 40}
    paths = {each: PathFacts(each, "dir", nearest_parent="/", **there) for each in wanted.paths_to_read}
    log = PathFacts(wanted.log_path, "file", nearest_parent="/logs", **there)
    return LaunchContext(
        resolved=resolved,
        command=Command(("python",), {}, wanted.log_path, wanted.port),
        needs=wanted,
        paths={**paths, wanted.log_path: log},
        port=PortFacts(wanted.port, True, ""),
        sglang=SGLangFacts("/v/bin/python", "3.11.7", "0.5.20", "/v/sglang", "", torch_cuda="12.9"),
        gpus=tuple(GpuVerdict(i, "free", 0, "") for i in range(8)),
        patches={"eagle3-shapes": "applied"},
        launch=Launch(asking.read(["--tp-size", "8"])),
        preflight=told(),
    )


def found(context: LaunchContext) -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity) for finding in lint.check_node(context)]


def one(context: LaunchContext) -> Any:
    (finding,) = lint.check_node(context)
    return finding


def with_gpus(context: LaunchContext, told_hardware: Hardware) -> LaunchContext:
    assert context.preflight
    return replace(context, preflight=replace(context.preflight, hardware=told_hardware))


def asking_for(context: LaunchContext, *words: str) -> LaunchContext:
    return replace(context, launch=replace(context.launch, asked=asking.read(["--tp-size", "8", *words])))


def changed(context: LaunchContext, index: int, **facts: Any) -> LaunchContext:
    """One GPU with other facts."""
    assert context.preflight
    known = context.preflight.hardware
    gpus = [replace(gpu, **facts) if gpu.index == index else gpu for gpu in known.gpus]
    return with_gpus(context, replace(known, gpus=gpus))


def test_a_healthy_node_has_no_finding(good):
    assert found(good) == []


def test_a_node_that_told_nothing_is_left_in_peace(good):
    nothing = replace(good, gpus=(), preflight=Preflight(), launch=Launch(asking.read([])))
    assert found(nothing) == []
    assert found(replace(nothing, preflight=None)) == []
    bare = Hardware(gpus=[GpuHardware(index, "SIMULATED H200") for index in range(8)])
    assert found(with_gpus(good, bare)) == []


def test_a_machine_without_gpus_is_not_measured_by_the_needs_of_gpus(good):
    poor = {"nofile": [1024, 4096], "memlock": [65536, 65536]}
    tools = {"nvcc": "", "ninja": "", "py-spy": ""}
    facts = told(hardware=Hardware(), limits=poor, shm_bytes=1 << 26, shm_free_bytes=0, programs=tools)
    assert found(replace(good, gpus=(), preflight=facts)) == []


@pytest.mark.parametrize(
    ("torch", "driver", "cuda", "severity"),
    [
        ("12.9", "570.124.06", "12.8", "info"),
        ("12.9", "580.95.05", "13.0", None),
        ("12.1", "550.54.15", "12.4", None),
        ("12.4", "525.60.13", None, None),
        ("12.4", "470.82.01", "11.4", "error"),
        ("12.4", "470.82.01", None, "error"),
        ("13.0", "570.124.06", "12.8", "error"),
        ("13.0", "570.124.06", "13.0", None),  # a forward compatible libcuda is on the library path
        ("14.0", "600.1", "14.0", None),
        (None, "470.82.01", "11.4", None),
        ("12.4", None, None, None),
        ("12.x", "nonsense", "?", None),
    ],
)
def test_the_driver_against_the_cuda_of_torch(good, torch, driver, cuda, severity):
    context = replace(good, sglang=replace(good.sglang, torch_cuda=torch))
    context = with_gpus(context, hardware(driver=driver, cuda=cuda))
    assert found(context) == ([("driver-too-old", severity)] if severity else [])


def test_an_old_driver_names_both_and_the_way_round(good):
    context = replace(good, sglang=replace(good.sglang, torch_cuda="13.0"))
    finding = one(with_gpus(context, hardware(driver="570.124.06", cuda="12.8")))
    assert "CUDA 13.0, which needs driver 580 or newer; here is 570.124.06" in finding.message
    assert "--allow driver-too-old" in finding.hint


def test_fewer_gpus_than_ranks(good):
    context = replace(with_gpus(good, hardware(4)), gpus=good.gpus[:4])
    assert found(context) == [("gpu-count", "error")]
    assert "8 GPUs are needed; the node has 4" in one(context).message
    shown = replace(good, command=replace(good.command, env={"CUDA_VISIBLE_DEVICES": "0,1"}))
    assert "CUDA_VISIBLE_DEVICES=0,1 shows 2" in one(shown).message
    assert found(asking_for(context, "--device", "cpu")) == []


def test_a_gpu_that_is_not_there(good):
    wanted = replace(good.needs, gpus=(0, 1, 2, 3, 4, 5, 6, 9))
    finding = one(replace(good, needs=wanted, gpus=good.gpus[:7]))
    assert (finding.rule, finding.severity) == ("gpu-count", "error")
    assert "GPU 9 is not on this node, which has 8" in finding.message


def test_gpus_of_different_memory(good):
    context = changed(good, 3, memory_total_bytes=80 * GIB)
    assert found(context) == [("gpu-memory-differs", "warn")]
    assert "GPU 3: 80" in one(context).evidence
    assert found(changed(good, 3, memory_total_bytes=139 * GIB)) == []
    outside = replace(context, gpus=good.gpus[4:], needs=replace(good.needs, gpu_count=4))
    assert ("gpu-memory-differs", "warn") not in found(outside), "GPU 3 is not used"


def test_gpus_on_pcie_turn_the_custom_all_reduce_off(good):
    context = with_gpus(good, hardware(path="PHB"))
    assert ("custom-all-reduce-on-pcie", "info") in found(context)
    assert ("custom-all-reduce-on-pcie", "info") not in found(asking_for(context, "--disable-custom-all-reduce"))
    pair = replace(context, gpus=good.gpus[:2], needs=replace(good.needs, gpu_count=2))
    assert found(pair) == [], "two GPUs: SGLang keeps it where they reach each other"
    unread = with_gpus(good, hardware(links=[GpuLink(0, 1, "PHB")]))
    assert found(unread) == [], "not every link is known"


def test_nvlink_with_the_custom_all_reduce_switched_off(good):
    context = asking_for(good, "--disable-custom-all-reduce")
    assert found(context) == [("custom-all-reduce-unused", "info")]


def test_gpus_of_several_numa_nodes(good):
    few = replace(good, gpus=good.gpus[2:6], needs=replace(good.needs, gpu_count=4))
    assert found(few) == [("numa-split", "info")]
    assert one(few).hint == "NUMA node 0 has enough of its own: 0, 1, 2, 3."
    assert found(with_gpus(few, hardware(path="SYS")))[-1] == ("numa-split", "info")
    assert ("numa-split", "info") in found(with_gpus(good, hardware(path="SYS"))), "all of them, and no NVLink"


@pytest.mark.parametrize(
    ("size", "free", "limit", "words"),
    [
        (64 << 20, 64 << 20, None, "--shm-size=1g"),
        (500 * GIB, 100 << 20, None, "free NODE"),
        (500 * GIB, 499 * GIB, 200 << 20, "free NODE"),
    ],
)
def test_little_shared_memory(good, size, free, limit, words):
    context = replace(good, preflight=told(shm_bytes=size, shm_free_bytes=free, memory_limit_bytes=limit))
    assert found(context) == [("shm-small", "warn")]
    assert words in one(context).hint
    assert found(replace(context, gpus=good.gpus[:1], needs=replace(good.needs, gpu_count=1))) == []


def test_the_hard_limit_on_open_files_counts(good):
    limits = {"nofile": [1024, 4096], "memlock": [-1, -1]}
    assert found(replace(good, preflight=told(limits=limits))) == [("open-files-low", "warn")]
    assert found(replace(good, preflight=told(limits={"nofile": [1024, -1]}))) == []


def test_locked_memory_counts_across_nodes_only(good):
    for words in (["--nnodes", "2"], ["--disaggregation-mode", "decode"]):
        assert found(asking_for(good, *words)) == [("memlock-low", "warn")]
    free = replace(good, preflight=told(limits={"memlock": [-1, -1]}))
    assert found(asking_for(free, "--nnodes", "2")) == []


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"power_limit_w": 500.0}, "power limit 500 W, default 700 W"),
        ({"clock_app_mhz": 1200}, "application clock 1200 MHz, default 1980 MHz"),
        ({"clock_reasons": 0x40 | 0x80}, "slowed now: thermal (hardware), power brake"),
    ],
)
def test_a_gpu_below_its_defaults(good, facts, words):
    context = changed(good, 5, **facts)
    assert found(context) == [("power-capped", "warn")]
    assert one(context).evidence == f"GPU 5: {words}"


def test_clocks_that_are_down_for_idleness_are_no_cap(good):
    assert found(changed(good, 5, clock_reasons=0x1 | 0x2 | 0x4)) == []
    assert found(changed(good, 5, power_default_w=None, clock_app_default_mhz=None)) == []


def test_persistence_mode(good):
    assert found(changed(good, 0, persistence=False)) == [("persistence-off", "info")]


def _holder(pid: int, title: str, gpus: tuple[int, ...], role: str, **more: Any) -> Holder:
    argv = title.split(" ")
    process = ProcessInfo(Identity(pid, 1, "b"), 1, 77, 77, 1000, "anna", "c", argv, "S", 1.0)
    return Holder(pid, "foreign", tuple((gpu, GIB) for gpu in gpus), "nvml", process, role=role, **more)


def test_other_servers_are_told_with_gpus_and_port(good):
    launcher = _holder(70, "python -m sglang.launch_server --model-path /m --port 31000", (), "launcher")
    ranks = [_holder(71 + gpu, f"sglang::scheduler_TP{gpu}", (4 + gpu,), "scheduler") for gpu in range(2)]
    few = replace(good, gpus=good.gpus[:4], needs=replace(good.needs, gpu_count=4))
    finding = one(replace(few, holders=(launcher, *ranks, _holder(90, "python train.py", (7,), ""))))
    assert (finding.rule, finding.severity) == ("other-servers", "info")
    assert finding.evidence == "of session 77: port 31000, GPUs 4, 5, anna"
    assert found(replace(good, holders=(launcher, *ranks))) == [], "on the wanted GPUs it is gpus-held's matter"


def test_a_hub_id_that_is_not_in_the_cache(good):
    hub = HubFacts("HF_HUB_OFFLINE", "/home/a/.cache/huggingface/hub", 9 * GIB, ["org/model"])
    offline = replace(good, preflight=told(hub=hub))
    assert found(offline) == [("hub-offline", "error")]
    assert "HF_HUB_OFFLINE forbids downloads" in one(offline).message
    online = replace(good, preflight=told(hub=replace(hub, offline_by="")))
    assert found(online) == [("hub-download", "warn")]
    assert "which has 9" in one(online).message
    assert found(replace(good, preflight=told(hub=replace(hub, missing=[])))) == []


def test_tools_that_are_missed_later(good):
    tools = {"nvcc": "", "ninja": "", "py-spy": ""}
    context = replace(good, preflight=told(programs=tools))
    assert sorted(found(context)) == [("jit-compiler-missing", "info"), ("py-spy-missing", "info")]
    only = replace(good, preflight=told(programs={**tools, "nvcc": "/n", "py-spy": "/p"}))
    assert one(only).message.startswith("no ninja for this server")


MLA = {"num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "max_position_embeddings": 262144}
HEADS = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}


def _sized(config: dict[str, Any], weights: int, *words: str) -> list[Any]:
    target = Checkpoint("/m", config=config, weight_bytes=weights)
    launch = Launch(asking.read(["--tp-size", "8", *words]), target=target, gpu_memory_bytes=140 * GIB)
    return [each for each in lint.check(launch) if each.rule == "gpu-memory-estimate"]


def test_weights_against_the_static_memory():
    assert _sized(MLA, 595 * GIB, "--mem-fraction-static", "0.85") == []
    (finding,) = _sized(MLA, 595 * GIB, "--mem-fraction-static", "0.5")
    assert finding.severity == "warn"
    assert "weights 595.0 GiB / 8 = 74.4 GiB" in finding.evidence
    assert _sized(MLA, 1300 * GIB)[0].severity == "warn", "more than the whole memory, whatever the fraction"
    assert _sized(MLA, 1000 * GIB) == [], "SGLang's own fraction is not known"
    for words in (["--quantization", "fp8"], ["--cpu-offload-gb", "40"]):
        assert _sized(MLA, 1300 * GIB, *words) == [], "the files do not tell what a rank holds"
    assert _sized({**MLA, "torch_dtype": "float32"}, 1300 * GIB) == []


def test_one_context_against_the_kv_pool():
    fraction = ("--mem-fraction-static", "0.6")
    (finding,) = _sized({"text_config": MLA}, 600 * GIB, *fraction)
    tokens = (int(140 * GIB * 0.6) - 75 * GIB) // ((512 + 64) * 2 * 61)
    assert finding.severity == "info"
    assert f"about {tokens} tokens, less than one context of 262144" in finding.message
    assert _sized(MLA, 600 * GIB, *fraction, "--context-length", "65536") == []
    assert _sized(MLA, 600 * GIB, *fraction, "--kv-cache-dtype", "fp8_e4m3") == []
    long = {**HEADS, "max_position_embeddings": 1 << 20}
    (heads,) = _sized(long, 640 * GIB, *fraction)
    assert f"{2 * 128 * 1 * 2 * 32} bytes a token" in heads.evidence
    for other in ({"sliding_window": 4096}, {"layer_types": ["linear_attention"]}, {"index_topk": 2048}):
        assert _sized({**long, **other}, 640 * GIB, *fraction) == []
    assert _sized(
        {**long, "layer_types": ["full_attention"], "sliding_window": 9, "use_sliding_window": False},
        640 * GIB,
        *fraction,
    )
