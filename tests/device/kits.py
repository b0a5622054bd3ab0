"""What a run stands on: a serving Python with a real SGLang, the crafted pairs, and the flags that this machine needs.

`h200`: SGLang 0.5.12.post1 of the bundle (`bundle/make_bundle.sh`) on CUDA GPUs. `cpu` and `cpu-v1`: the SGLang of
tests/sglang_cpu (0.5.20; 0.5.12.post1 with worker v1), to find the faults of these scripts where no GPU waits for them;
their nvidia-smi is SIMULATED.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.device.report import PartFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = Path(__file__).parent
DEEPSEEK_PAIR, LLAMA_PAIR = HERE / "bundle" / "deepseek_pair.py", HERE / "bundle" / "llama_pair.py"
SECONDS = 300.0
FOUR_IDS = [1, 2, 4, 5]
WEIGHTS, IDS = "model.safetensors", "eagle_aux_hidden_state_layer_ids"


@dataclass(frozen=True)
class Kit:
    """The ground of a run."""

    name: str
    python: Path
    packages: Path
    """The folder that holds the package `sglang`."""
    env: dict[str, str]
    pairs: Path
    """{deepseek,llama}/{target,draft}, and llama/four: a draft that asks for four layers."""
    tp_size: int
    flags: dict[str, Any]
    """Keys of every profile."""
    eager: dict[str, Any]
    """Keys of a profile that is to run every layer's Python."""
    eagle3: dict[str, Any] = field(default_factory=dict)
    speculative: dict[str, Any] = field(default_factory=dict)
    node: dict[str, Any] = field(default_factory=dict)
    """Further keys of nodes.yaml."""
    blocks: int = 2
    warmup: int = 1
    launch_s: float = 240.0
    at_once: int = 8
    """Servers that may start at the same time."""
    has_gpus: bool = True
    demo: Path | None = None
    """Home of the simulated nvidia-smi."""


def h200(work: Path, bundle: Path, packages: Path, gpus: int) -> Kit:
    """Unpack the bundle where that is not done yet, and write the pairs. Raises PartFailed."""
    if not (packages / "sglang").is_dir():
        packages.mkdir(parents=True, exist_ok=True)
        _run(["tar", "xJf", str(bundle / "site.tar.xz"), "-C", str(packages)])
    python, pairs, env = Path(sys.executable), work / "pairs", {"PYTHONPATH": str(packages), "HF_HUB_OFFLINE": "1"}
    _write_pairs(pairs, python, lambda folder: _make_deepseek(python, folder))
    return Kit(
        name="h200",
        python=python,
        packages=packages,
        env=env,
        pairs=pairs,
        tp_size=gpus,
        flags={
            "attention_backend": "triton",
            "sampling_backend": "pytorch",
            "grammar_backend": "none",
            "mem_fraction_static": 0.3,
            "max_total_tokens": 131072,
            "max_running_requests": 8,
            "args": {"disable-piecewise-cuda-graph": True, "cuda-graph-max-bs": 8},
        },
        eager={"disable_cuda_graph": True, "disable_custom_all_reduce": True},
    )


def cpu(work: Path, *, v1: bool) -> Kit:
    """The SGLang of tests/sglang_cpu. Raises PartFailed where it cannot be had."""
    from console.demo.setup import prepare as prepare_demo
    from tests.sglang_cpu import environment

    try:
        found = environment.prepare_v1() if v1 else environment.prepare()
    except environment.Unavailable as error:
        raise PartFailed(str(error)) from None
    demo = prepare_demo(work / "demo")
    pairs = work / "pairs"
    trained = found.pair / ("early" if v1 else "draft")  # ids 2, 3, 6 mean those layers up to 0.5.12.post1
    _write_pairs(pairs, found.python, lambda folder: _link_pair(found.pair / "target", trained, folder))
    verify = {"attention_backend": None, "prefill_attention_backend": "torch_native"}
    v2 = {"eagle3": {**verify, "decode_attention_backend": "intel_amx"}, "speculative": {"attention_mode": "decode"}}
    return Kit(
        name="cpu-v1" if v1 else "cpu",
        python=found.python,
        packages=found.root.parent,
        env={**found.env(), "SPEC_CONSOLE_DEMO": str(demo.home)},
        pairs=pairs,
        tp_size=2,
        flags={
            "attention_backend": "torch_native",
            "sampling_backend": "pytorch",
            "grammar_backend": "none",
            "mem_fraction_static": 0.3,
            "max_total_tokens": 4096,
            "max_running_requests": 8,
            "device": "cpu",
            "disable_cuda_graph": True,
        },
        eager={"disable_cuda_graph": True},
        **({"eagle3": {"disable_overlap_schedule": True}} if v1 else v2),
        node={"gpu_source": "smi", "nvidia_smi": str(demo.nvidia_smi)},
        blocks=1,
        warmup=0,
        launch_s=400.0,
        at_once=1,
        has_gpus=False,
        demo=demo.home,
    )


def _write_pairs(pairs: Path, python: Path, deepseek: Callable[[Path], None]) -> None:
    if (pairs / "done").exists():
        return
    shutil.rmtree(pairs, ignore_errors=True)
    pairs.mkdir(parents=True)
    deepseek(pairs / "deepseek")
    _run([str(python), str(LLAMA_PAIR), str(pairs / "llama"), "0.8"])
    another_draft(pairs / "llama", "four", FOUR_IDS)
    (pairs / "done").write_text("")


def _make_deepseek(python: Path, folder: Path) -> None:
    _run([str(python), str(DEEPSEEK_PAIR), str(folder)])


def _link_pair(target: Path, draft: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / "target").symlink_to(target)
    (folder / "draft").symlink_to(draft)


def another_draft(pair: Path, name: str, ids: Sequence[int] | None) -> Path:
    """Write the draft of a pair with other layer ids, or with none in its config."""
    folder = pair / name
    folder.mkdir(exist_ok=True)
    if not (folder / WEIGHTS).is_symlink():
        (folder / WEIGHTS).symlink_to(f"../draft/{WEIGHTS}")
    config = json.loads((pair / "draft" / "config.json").read_text())
    config["eagle_config"].pop(IDS, None)
    if ids is not None:
        config["eagle_config"][IDS] = list(ids)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    return folder


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise PartFailed(f"{' '.join(argv[:4])} failed: {done.stderr.strip()[-500:]}")
