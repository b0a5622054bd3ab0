"""The profiles of a site: both crafted pairs, as baseline, with their draft, eager, and with patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.device.kits import Kit

TOKENS = 400
STEPS, DRAFT_TOKENS = 5, 6
HIDDEN, STATES = 1024, 3
PAIRS: dict[str, dict[str, Any]] = {
    "deepseek": {"outputs": [2, 3, 6], "accept_len": 4.6512, "hist": [8, 10, 7, 4, 5, 52]},
    "llama": {"outputs": [2, 4, 5], "accept_len": 3.5714, "hist": [32, 15, 12, 4, 8, 41]},
}
"""What the weights predict for 400 greedy tokens after [5, 17, 300]."""
VARIES = (
    "speculative",
    "patches",
    "attention_backend",
    "prefill_attention_backend",
    "decode_attention_backend",
    "disable_overlap_schedule",
)


def profiles(kit: Kit, home: Path, port: int) -> dict[str, dict[str, Any]]:
    """Profiles by name: {deepseek,llama}-{baseline,baseline-eager,eagle3,eager,debug,traced}, and llama-sync."""
    found: dict[str, dict[str, Any]] = {}
    for arch in PAIRS:
        made = _of_pair(kit, arch, port)
        found |= {f"{arch}-{name}": {**made[name], "log_path": f"{home}/logs/{arch}-{name}.log"} for name in made}
    found["llama-sync"] = {
        "extends": "llama-eagle3",
        "log_path": f"{home}/logs/llama-sync.log",
        "patches": ["sync-in-forward"],
        "env": {"SYNC_IN_FORWARD": "1"},
    }
    return found


def _of_pair(kit: Kit, arch: str, port: int) -> dict[str, dict[str, Any]]:
    pair, known = kit.pairs / arch, PAIRS[arch]
    baseline = {
        "model_path": str(pair / "target"),
        "tp_size": kit.tp_size,
        "gpus": list(range(kit.tp_size)),
        "host": "127.0.0.1",
        "port": port,
        "enable_metrics": True,
        **kit.flags,
        "probe": {
            "prompt": [5, 17, 300],
            "max_new_tokens": TOKENS,
            "requests_per_block": 1,
            "blocks": kit.blocks,
            "warmup": kit.warmup,
        },
        "ready_timeout_s": kit.launch_s - 20,
    }
    speculative = {
        "algorithm": "EAGLE3",
        "draft_model_path": str(pair / "draft"),
        "eagle_topk": 1,
        "num_steps": STEPS,
        "num_draft_tokens": DRAFT_TOKENS,
        **kit.speculative,
    }
    traced = {"env": {"EAGLE3_DEBUG": "1"}, "patches": ["eagle3-shapes"]}
    width = {"expect": {"accept_len": known["accept_len"], "widths": {"draft.fc_in": STATES * HIDDEN}}}
    held = {"baseline": {"profile": f"{arch}-baseline-eager", "varies": list(VARIES)}}
    return {
        "baseline": baseline,
        "baseline-eager": {"extends": f"{arch}-baseline", **kit.eager},
        "eagle3": {
            "extends": f"{arch}-baseline",
            **kit.eagle3,
            "speculative": speculative,
            "training": {"capture_layer_outputs": known["outputs"]},
        },
        "eager": {"extends": f"{arch}-eagle3", **kit.eager},
        "debug": {"extends": f"{arch}-eager", **traced, **width, **held},
        "traced": {"extends": f"{arch}-eagle3", **traced, **width},
    }
