"""What SGLang makes of the speculative flags: values it changes, and the worker that runs them (sglang.md 3.3, 3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from console.launch.releases import is_within

if TYPE_CHECKING:
    from console.launch.asked import Asked

EAGLE_LIKE = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})
"""Algorithms that take steps, topk and draft tokens; NEXTN is rewritten to EAGLE."""

STEP_FLAGS = ("speculative-num-steps", "speculative-eagle-topk", "speculative-num-draft-tokens")
"""SGLang chooses all three or none of them."""

DEFAULT_MAX_RUNNING_REQUESTS = 48
"""With any of the algorithms, in every release read (0.4.6.post1 to 0.5.23), where the flag is not given."""

NO_EFFECT = "num-continuous-decode-steps"
"""Declared in every release read, and read by no line of any of them (sglang.md 3.2)."""

SINCE = {
    **dict.fromkeys(("EAGLE", "EAGLE3", "NEXTN"), "0.4.6.post1"),
    **{"STANDALONE": "0.5.2", "NGRAM": "0.5.3", "DFLASH": "0.5.11", "FROZEN_KV_MTP": "0.5.12", "DSPARK": "0.5.16"},
    "UNO": "0.5.20",
}
"""The first release read that has an algorithm."""

REGISTERED_SINCE = "0.5.12"
"""From it on the flag takes any name that a plugin registers; before, argparse refuses what it does not list."""

Worker = Literal["v1", "v2"]


def draft_tokens(asked: Asked) -> int | None:
    """The draft tokens that a verify will hold; with topk 1 SGLang sets steps + 1, whatever was asked for."""
    steps, topk = asked.number("speculative-num-steps"), asked.number("speculative-eagle-topk")
    if asked.algorithm in EAGLE_LIKE and topk == 1 and steps is not None:
        return steps + 1
    return asked.number("speculative-num-draft-tokens")


def worker(asked: Asked, version: str | None) -> Worker | None:
    """Which of SGLang's two speculative workers runs an EAGLE-like algorithm; None: not known, or no such algorithm."""
    if asked.algorithm not in EAGLE_LIKE or is_within(version) is None:
        return None
    if is_within(version, last="0.5.3"):
        return "v1"
    if is_within(version, last="0.5.4"):
        return "v2" if asked.has("enable-beta-spec") else "v1"
    if is_within(version, last="0.5.10.post1"):
        return "v2" if asked.switched_on("SGLANG_ENABLE_SPEC_V2") else "v1"
    if is_within(version, last="0.5.12.post1"):
        off = "SGLANG_ENABLE_SPEC_V2" in asked.env and not asked.switched_on("SGLANG_ENABLE_SPEC_V2")
        wide = (asked.number("speculative-eagle-topk") or 1) > 1
        return "v1" if off or wide or asked.has("disable-overlap-schedule") else "v2"
    return "v2"


def overlaps(asked: Asked, version: str | None) -> bool | None:
    """Does the overlap scheduler run? None: not known. Worker v1 turns it off by itself."""
    if asked.has("disable-overlap-schedule"):
        return False
    if asked.algorithm is None:
        return True
    runs = worker(asked, version)
    return None if runs is None else runs == "v2"
