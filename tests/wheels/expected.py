"""What each release takes of each patch: sglang.md 2.1, 2.4 and 2.5 as data, from the 28 wheels that were read.

A file is named by its stem. Where a patch does not apply to a file of a release, the release has no such feature there;
the one known conflict is a release's own mistake.
"""

from __future__ import annotations

RELEASES = (
    *("0.4.6.post1", "0.4.7", "0.4.8", "0.4.10", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.5.5", "0.5.6", "0.5.7"),
    *("0.5.8", "0.5.8.post1", "0.5.9", "0.5.10", "0.5.10.post1", "0.5.11", "0.5.12", "0.5.12.post1", "0.5.13"),
    *("0.5.14", "0.5.15", "0.5.16", "0.5.17", "0.5.19", "0.5.20", "0.5.22", "0.5.23"),
)
FEW = ("0.4.6.post1", "0.5.12.post1", "0.5.20")
"""For a run that should not take long: the oldest, the last with worker v1, the one that runs on a CPU."""

FIRST_TARGET = {
    "llama": "0.4.6.post1",
    "qwen3": "0.4.10",
    "qwen3_moe": "0.4.10",
    "gpt_oss": "0.5.1",
    "qwen2": "0.5.2",
    "qwen2_moe": "0.5.2",
    "qwen2_5_vl": "0.5.2",
    "apertus": "0.5.3",
    "deepseek_v2": "0.5.5",
    "glm4_moe": "0.5.5",
    "longcat_flash": "0.5.6",
    "minimax_m2": "0.5.6",
    "bailing_moe": "0.5.9",
    "exaone_moe": "0.5.9",
    "qwen3_next": "0.5.9",
    "qwen3_vl": "0.5.11",
    "gemma3_causal": "0.5.12",
    "gemma4_causal": "0.5.12",
    "gemma4_mm": "0.5.12",
    "glm4_moe_lite": "0.5.13",
    "minimax_m3": "0.5.16",
    "minimax_m3_vl": "0.5.19",
    "glm5_next": "0.5.20",
}
"""Target → the first of RELEASES whose forward hands on captured states."""
FIRST_DRAFT = {"llama_eagle3": "0.4.6.post1", "kimi_k25_eagle3": "0.5.12"}
WORKERS = {
    "eagle_worker": ("0.4.6.post1", "0.5.12.post1"),
    "eagle_worker_v2": ("0.5.4", "0.5.23"),
    "eagle_worker_common": ("0.5.16", "0.5.23"),
}
"""Worker file → the first and the last release that has it with what is timed."""
A4_IN_V2 = ("0.5.4", "0.5.15")

CONFLICTS = {("qwen2", "0.5.2")}
"""This forward takes the pair apart twice, and EAGLE-3 cannot run with it: nobody can say which of the two is meant."""


def python_of(version: str) -> tuple[int, int]:
    """Return the oldest Python that the release supports (sglang.md 1)."""
    index = RELEASES.index(version)
    if index <= RELEASES.index("0.4.10"):
        return (3, 8)
    return (3, 10) if index <= RELEASES.index("0.5.20") else (3, 11)


def states(patch_id: str, version: str) -> dict[str, str]:
    """Return what each file of the patch is in that release, by stem, without the runtime file."""
    if patch_id == "eagle3-cycle":
        return {name: _state(name, version, first, last) for name, (first, last) in WORKERS.items()}
    models = {name: _state(name, version, first) for name, first in (FIRST_TARGET | FIRST_DRAFT).items()}
    return models if patch_id == "eagle3-digest" else {"logits_processor": "appliable"} | models


def _state(name: str, version: str, first: str, last: str = RELEASES[-1]) -> str:
    if (name, version) in CONFLICTS:
        return "conflict"
    return "appliable" if is_between(version, first, last) else "not-applicable"


def is_between(version: str, first: str, last: str) -> bool:
    """Say whether `version` is of that range, both ends included."""
    return RELEASES.index(first) <= RELEASES.index(version) <= RELEASES.index(last)
