"""What a draft is and what its fc was built for, from its config and tensor shapes (sglang.md 6.1 and 6.2).

SGLang looks for each tensor by its name with and without `model.` before it, so do we.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from console.wiring.checkpoint import DEFAULT_CAPTURES
from console.wiring.layers import KEY, SECTION, draft_ids

if TYPE_CHECKING:
    from console.wiring.checkpoint import Checkpoint, Config, Tensor
    from console.wiring.targets import Release

Family = Literal["eagle3", "eagle"]
"""EAGLE-3, whose fc takes captured states; EAGLE-1 and -2, which take the last one."""

EAGLE_12 = (
    "LlamaForCausalLMEagle",
    "Qwen2ForCausalLMEagle",
    "MistralForCausalLMEagle",
    "MistralLarge3ForCausalLMEagle",
)
FREE_CAPTURES_SINCE = (0, 5, 12, 0)
"""Before it, fc is built for three captures, whatever the config says."""
_CONTEXT_KEYS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")


@dataclass(frozen=True, slots=True)
class Built:
    """For what SGLang builds the draft's fc, and what the checkpoint has."""

    captures: int
    """K: states that the model is built for."""
    why: str
    """Where K comes from."""
    state_width: int | None
    """Width of one state, as the draft's config has it."""
    fc: Tensor | None
    """As it lies in the checkpoint: (hidden_size, K × width of one state)."""

    @property
    def fc_in(self) -> int | None:
        """Columns of fc in the checkpoint."""
        return self.fc.shape[1] if self.fc is not None and len(self.fc.shape) == 2 else None


def architecture(config: Config) -> str | None:
    """The first of `architectures`, which is the one that SGLang takes."""
    names = config.get("architectures")
    first = names[0] if isinstance(names, (list, tuple)) and names else None
    return first if isinstance(first, str) else None


def family(config: Config) -> Family | None:
    """Which EAGLE a draft is; None where its architecture does not tell."""
    name = architecture(config) or ""
    if "eagle3" in name.lower():
        return "eagle3"
    return "eagle" if name in EAGLE_12 else None


def is_mla(checkpoint: Checkpoint) -> bool:
    """Does it attend by latents (`kv_lora_rank`, `q_a_proj`)?"""
    text = text_config(checkpoint.config)
    return bool(number(text, "kv_lora_rank")) or any("kv_a_proj" in name for name in checkpoint.tensors or ())


def text_config(config: Config) -> Config:
    """The part that describes the language model."""
    part = config.get("text_config")
    return part if isinstance(part, Mapping) else config


def number(config: Config, key: str) -> int | None:
    """A positive whole number; None for anything else."""
    value = config.get(key)
    return value if type(value) is int and value > 0 else None


def tensor(checkpoint: Checkpoint, name: str) -> Tensor | None:
    """The tensor of this name, `model.` before it or not."""
    tensors = checkpoint.tensors or {}
    return tensors.get(name) or tensors.get(f"model.{name}")


def query(checkpoint: Checkpoint) -> tuple[str, Tensor] | None:
    """The first layer's query projection: its columns are twice the hidden size."""
    for name, found in (checkpoint.tensors or {}).items():
        if name.endswith((".self_attn.q_proj.weight", ".self_attn.q_a_proj.weight")) and len(found.shape) == 2:
            if "midlayer." in name or "layers.0." in name:
                return name, found
    return None


def built(draft: Checkpoint, at: Release | None) -> Built:
    """What a release builds for this draft."""
    config = draft.config
    width = number(config, "target_hidden_size") or number(config, "hidden_size")
    captures, why = _captures(config, at)
    return Built(captures, why, width, tensor(draft, "fc.weight"))


def _captures(config: Config, at: Release | None) -> tuple[int, str]:
    if at is not None and at < FREE_CAPTURES_SINCE:
        return DEFAULT_CAPTURES, "always, before 0.5.12"
    ids = draft_ids(config).ids
    latent = architecture(config) == "Eagle3DeepseekV2ForCausalLM"
    named = number(config, "num_aux_hidden_states")
    if named and not latent:
        return named, "num_aux_hidden_states"
    if ids:
        return len(ids), f"the number of ids in {SECTION}"
    top = config.get(KEY)
    if latent and isinstance(top, (list, tuple)) and top:
        return len(top), "the number of ids at the top level"
    return DEFAULT_CAPTURES, "the default"


def context_length(config: Config) -> int | None:
    """The longest context that SGLang derives from a config (`get_context_length`); None where it says nothing."""
    text = text_config(config)
    scaling = text.get("rope_scaling")
    factor: float = 1
    if isinstance(scaling, Mapping) and "original_max_position_embeddings" not in scaling:
        said = scaling.get("factor", 1)
        if isinstance(said, (int, float)) and 0 < said < 1e6 and scaling.get("rope_type") != "llama3":
            factor = said
    return next((int(factor * found) for key in _CONTEXT_KEYS if (found := number(text, key))), None)


def dtype(config: Config) -> str | None:
    """The dtype that SGLang loads it in under `--dtype auto`: float32 becomes float16, of Gemma bfloat16."""
    text = text_config(config)
    said = next((each for part in (config, text) for key in ("dtype", "torch_dtype") if (each := part.get(key))), None)
    if not isinstance(said, str):
        return None
    name = said.removeprefix("torch.")
    kind = config.get("model_type")
    gemma = isinstance(kind, str) and kind.startswith("gemma")
    return {"float32": "bfloat16" if gemma else "float16", "float": "float16", "half": "float16"}.get(name, name)
