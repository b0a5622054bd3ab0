"""Facts of wiring that stand in the `config.json` of target and draft.

The draft's `fc` is Linear(K * H, hidden_size): H is the target's hidden size, K the captured states. K is
`num_aux_hidden_states`, else the number of ids in `eagle_config`, else 3 (models/llama_eagle3.py; to 0.5.11 always 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

DEFAULT_CAPTURES = 3
_IDS = "eagle_aux_hidden_state_layer_ids"

Config = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor as a safetensors header tells it."""

    dtype: str
    """The header's word: BF16, F8_E4M3, I64, BOOL…"""
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was read of a checkpoint's folder: no weights."""

    path: str
    config: Config = field(default_factory=dict)
    tensors: Mapping[str, Tensor] | None = None
    """By name, over all shards; None: not read, and `problem` says why."""
    problem: str = ""
    damage: Literal["", "damaged", "no weights"] = ""
    """What `problem` is to SGLang: it cannot load this, or will if it finds weights of another name; empty: no harm."""
    values: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Whole small tensors that a rule reads: `d2t` and `t2d`, where they were read."""
    weight_bytes: int | None = None
    """Of all files together."""


@dataclass(frozen=True, slots=True)
class WiringFacts:
    """What the configs say; None where they do not."""

    hidden_size: int | None
    """H: width of one captured state of the target."""
    captures_expected: int | None
    """K: states that the draft's fc concatenates; None without a draft."""
    draft_hidden_size: int | None = None
    """Width of the draft's embedding and of fc's output."""
    draft_target_hidden_size: int | None = None
    """`target_hidden_size` of the draft: the H that fc was built for."""
    target_architecture: str | None = None
    draft_architecture: str | None = None
    target_layers: int | None = None
    layer_ids: tuple[int, ...] | None = None
    """Ids in the draft's `eagle_config`, where SGLang reads them; what they mean depends on release and target."""
    ignored_layer_ids: tuple[int, ...] | None = None
    """Ids at the top level of the draft's config: SGLang does not read these."""

    @property
    def fc_in_width(self) -> int | None:
        """K * H, or None."""
        if self.hidden_size is None or self.captures_expected is None:
            return None
        return self.hidden_size * self.captures_expected


def facts_from_configs(target_config: Config, draft_config: Config | None = None) -> WiringFacts:
    """Read the facts. Configs come from files that anybody may have written: what has another type counts as absent."""
    text = _part(target_config, "text_config") or target_config
    target_hidden_size = _positive(text.get("hidden_size"))
    target = WiringFacts(
        hidden_size=target_hidden_size,
        captures_expected=None,
        target_architecture=_architecture(target_config),
        target_layers=_positive(text.get("num_hidden_layers")),
    )
    return _with_draft(target, draft_config) if draft_config is not None else target


def _with_draft(target: WiringFacts, draft: Config) -> WiringFacts:
    eagle = _part(draft, "eagle_config")
    ids = _ids(eagle.get(_IDS)) if eagle else None
    draft_hidden_size = _positive(draft.get("hidden_size"))
    draft_target_hidden_size = _positive(draft.get("target_hidden_size"))
    return WiringFacts(
        hidden_size=target.hidden_size or draft_target_hidden_size or draft_hidden_size,
        captures_expected=_positive(draft.get("num_aux_hidden_states")) or len(ids or ()) or DEFAULT_CAPTURES,
        draft_hidden_size=draft_hidden_size,
        draft_target_hidden_size=draft_target_hidden_size or draft_hidden_size,
        target_architecture=target.target_architecture,
        draft_architecture=_architecture(draft),
        target_layers=target.target_layers,
        layer_ids=ids,
        ignored_layer_ids=_ids(draft.get(_IDS)),
    )


def _part(config: Config, name: str) -> Config | None:
    part = config.get(name)
    return part if isinstance(part, Mapping) else None


def _positive(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else None


def _ids(numbers: object) -> tuple[int, ...] | None:
    if not isinstance(numbers, (list, tuple)) or not numbers:
        return None
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        return None
    return tuple(numbers)


def _architecture(config: Config) -> str | None:
    names = config.get("architectures")
    first = names[0] if isinstance(names, (list, tuple)) and names else None
    return first if isinstance(first, str) else None
