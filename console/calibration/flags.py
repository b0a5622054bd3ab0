"""From a profile's own flags to those that a tiny pair can be launched with, and what had to be left out."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.calibration.pair import HEADS, MAX_CONTEXT, ROUTED_EXPERTS
from console.errors import UsageError
from console.launch.speculation import EAGLE_LIKE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.calibration.pair import PairSpec
    from console.calibration.wirings import Wired
    from console.launch.profile import Profile

DEFAULT_STEPS = 5
_OF_THE_MODEL = {
    "tokenizer_path": "the pair has its own",
    "revision": "the pair has none",
    "load_format": "the pair is safetensors",
    "trust_remote_code": "the pair has no code",
    "quantization": "the pair is bfloat16",
    "dtype": "the pair is bfloat16",
    "context_length": f"the pair has {MAX_CONTEXT}",
    "speculative.draft_model_revision": "the pair has none",
    "speculative.draft_load_format": "the pair is safetensors",
    "speculative.draft_model_quantization": "the pair is bfloat16",
    "speculative.token_map": "the draft has its own map",
}
_ARGS = {
    "quantization": "the pair is bfloat16",
    "modelopt": "the pair is bfloat16",
    "torchao": "the pair is bfloat16",
    "fp8-gemm": "the pair is bfloat16",
    "fp4-gemm": "the pair is bfloat16",
    "moe-runner-backend": "kernels for the quantised experts of a big model",
    "moe-a2a-backend": f"the pair has {ROUTED_EXPERTS} experts",
    "deepep": f"the pair has {ROUTED_EXPERTS} experts",
    "enable-eplb": f"the pair has {ROUTED_EXPERTS} experts",
    "eplb": f"the pair has {ROUTED_EXPERTS} experts",
    "ep-": f"the pair has {ROUTED_EXPERTS} experts",
    "init-expert-location": f"the pair has {ROUTED_EXPERTS} experts",
    "json-model-override-args": "it changes a model's config",
    "model-loader-extra-config": "it is of another format",
    "tool-call-parser": "the pair's text is no language",
    "reasoning-parser": "the pair's text is no language",
    "chat-template": "the pair's text is no language",
    "hf-chat-template": "the pair's text is no language",
    "completion-template": "the pair's text is no language",
    "enable-multimodal": "the pair has no images",
    "mm-": "the pair has no images",
    "limit-mm": "the pair has no images",
    "enable-lora": "the pair has no adapters",
    "lora": "the pair has no adapters",
    "max-lora": "the pair has no adapters",
}
"""By the beginning of a flag's name."""
_OF_THE_RECORD = ("expect", "baseline")


@dataclass(frozen=True, slots=True)
class Flags:
    """`sets` go behind the user's own; `dropped` says of each flag why."""

    sets: tuple[str, ...]
    dropped: tuple[str, ...]
    steps: int
    algorithm: str


def flags_for(profile: Profile, folder: str, spec: PairSpec, wired: Wired) -> Flags:
    """The --set words that turn a profile into a launch of the pair in `folder`. Raises UsageError."""
    _check(profile)
    dropped = [*_dropped(profile)]
    speculative = profile.speculative
    steps = speculative.num_steps if speculative and speculative.num_steps else DEFAULT_STEPS
    own = speculative.algorithm if speculative and speculative.algorithm in EAGLE_LIKE else "EAGLE3"
    algorithm = wired.algorithm or own
    chain = {"algorithm": algorithm, "eagle_topk": 1, "num_steps": steps, "num_draft_tokens": steps + 1}
    sets = [f"{key}=" for key, _why in dropped]
    sets += [f"{key}=" for key in _OF_THE_RECORD]
    sets += [
        f"model_path={folder}/{wired.target}",
        f"speculative.draft_model_path={folder}/{wired.folder}",
        *(f"speculative.{key}={value}" for key, value in chain.items()),
        f"training.capture_layer_outputs={list(spec.trained)}",
        f"log_path={log_path(profile.log_path)}",
    ]
    told = [f"{key}: {why}" for key, why in dropped]
    if speculative and (speculative.eagle_topk or 1) > 1:
        told.append(
            f"speculative.eagle_topk {speculative.eagle_topk}: what a tree accepts is not predicted, a chain is"
        )
    if speculative and speculative.algorithm not in EAGLE_LIKE:
        told.append(f"speculative.algorithm {speculative.algorithm}: the pair's draft is for EAGLE3")
    return Flags(tuple(sets), tuple(told), steps, algorithm)


def log_path(own: str) -> str:
    """A log of its own beside the profile's."""
    folder, name = posixpath.split(own)
    stem, dot, ending = name.rpartition(".")
    return posixpath.join(folder, f"{stem}.calibrate.{ending}" if dot else f"{name}.calibrate")


def _check(profile: Profile) -> None:
    if (profile.nnodes or 1) > 1:
        raise UsageError(
            "the pair lies on one node, and the profile wants several", "Add --set nnodes=1 and a tp_size."
        )
    if HEADS % profile.tp_size:
        raise UsageError(f"the pair has {HEADS} heads: tp_size {profile.tp_size} does not divide them")


def _dropped(profile: Profile) -> Iterator[tuple[str, str]]:
    for key, why in _OF_THE_MODEL.items():
        value = _value(profile, key)
        if value and not (key == "dtype" and value in ("auto", "bfloat16")):
            yield key, why
    if ROUTED_EXPERTS % (profile.ep_size or 1):
        yield "ep_size", f"the pair has {ROUTED_EXPERTS} experts"
    for flag in profile.args:
        why = next((words for beginning, words in _ARGS.items() if flag.startswith(beginning)), "")
        if why:
            yield f"args.{flag}", why


def _value(profile: Profile, key: str) -> Any:
    found: Any = profile
    for part in key.split("."):
        found = getattr(found, part, None)
    return found
