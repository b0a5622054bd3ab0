"""What a calibration pair is made of, and what is asked of it: the order that its writer is given."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.calibration.wirings import Wired

Arch = Literal["llama", "deepseek_v2"]
ARCHITECTURES: Mapping[Arch, str] = {"llama": "LlamaForCausalLM", "deepseek_v2": "DeepseekV3ForCausalLM"}
"""The target's class: plain attention, or MLA with a mixture of experts, which Kimi-K2 and its kin share."""
LIVE_TOKENS = 512
"""Tokens that the pair speaks; the draft's vocabulary is at most these."""
ROUTED_EXPERTS = 4
HEADS = 8
"""Attention heads of target and draft: no more tensor-parallel ranks than these."""
MAX_CONTEXT = 8192
PROMPT = (5, 17, 300)
TOKENS = 400
MOST_STEPS = 32
P = 0.9


@dataclass(frozen=True, slots=True)
class PairSpec:
    """Everything that the weights of a pair follow from, besides the program that writes them."""

    arch: Arch
    layers: int = 8
    trained: tuple[int, ...] = (2, 3, 6)
    """Layers whose outputs the draft was made for, in the order of fc's slots."""
    p: float = P
    """Share of tokens whose successor the draft knows."""
    draft_vocab: int = LIVE_TOKENS
    looks_back: bool = False
    """Attention matters, the target's and the draft's: positions, rotary embedding and KV cache show."""
    seed: int = 4

    def name(self, program_sha256: str) -> str:
        """Its folder on the node: the same pair has the same name."""
        words = json.dumps([asdict(self), program_sha256], sort_keys=True)
        return f"{self.arch}-{hashlib.sha256(words.encode()).hexdigest()[:16]}"

    def target_config(self) -> dict[str, Any]:
        """As much of the target's config as decides which layers are captured."""
        return {"architectures": [ARCHITECTURES[self.arch]], "num_hidden_layers": self.layers}


@dataclass(frozen=True, slots=True)
class Ask:
    """One greedy request: what is counted over it."""

    steps: int = 5
    tokens: int = TOKENS

    @property
    def file(self) -> str:
        """Where the writer puts what is expected."""
        return f"expected-{self.steps}-{self.tokens}-{PROMPT[-1]}.json"


def order(spec: PairSpec, ask: Ask, wired: Wired | None) -> str:
    """The writer's order, as JSON."""
    asked = {"steps": ask.steps, "tokens": ask.tokens, "last": PROMPT[-1]}
    return json.dumps({"pair": asdict(spec), "draft": wired.to_order() if wired else None, "ask": asked})
