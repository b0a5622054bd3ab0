"""Public EAGLE-3 drafts as small fixtures: a true config, and a safetensors file whose weights are holes.

`data/drafts/*.json` hold provenance, the configs of draft and target, and the style of the tensors' names; shapes are
as SGLang's model files build them (H, T, D, V: draft width, state width, draft and target vocabulary).
"""

from __future__ import annotations

import json
import math
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "drafts"
SIZES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "BOOL": 1}
Tensors = dict[str, tuple[str, list[int]]]


@dataclass(frozen=True)
class Pair:
    """A draft and its target, not written anywhere yet."""

    name: str
    draft: dict[str, Any]
    target: dict[str, Any]
    tensors: Tensors

    def with_draft(self, **changes: Any) -> Pair:
        """The same with other keys in the draft's config; `...` in place of a value takes a key out."""
        config = {**deepcopy(self.draft), **changes}
        return replace(self, draft={key: value for key, value in config.items() if value is not ...})

    def with_ids(self, *ids: int, **more: Any) -> Pair:
        return self.with_draft(eagle_config={"eagle_aux_hidden_state_layer_ids": list(ids), **more})

    def with_target(self, **changes: Any) -> Pair:
        return replace(self, target={**self.target, **changes})

    def with_tensors(self, **changes: tuple[str, list[int]] | None) -> Pair:
        """Other tensors; `__` in a name stands for a dot, None takes one out."""
        changed = {**self.tensors, **{name.replace("__", "."): value for name, value in changes.items()}}
        return replace(self, tensors={name: value for name, value in changed.items() if value is not None})

    def write(self, folder: Path) -> Pair:
        """Write folder/draft and folder/target."""
        for name, config in (("draft", self.draft), ("target", self.target)):
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / "config.json").write_text(json.dumps(config))
        write_sparse(folder / "draft" / "model.safetensors", self.tensors, self.draft.get("draft_vocab_size") or 0)
        return self


def names() -> list[str]:
    return sorted(path.stem for path in DATA.glob("*.json"))


def load(name: str) -> Pair:
    said = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    assert said["provenance"]
    return Pair(name, said["draft"], said["target"], tensors_of(said["draft"], said["target"], said["style"]))


def tensors_of(draft: dict[str, Any], target: dict[str, Any], style: str) -> Tensors:
    """Shapes by the configs; h: the draft's width, t: of one captured state, d: draft vocabulary, v: the target's."""
    text = target.get("text_config", target)
    h, t, v = draft["hidden_size"], text["hidden_size"], draft["vocab_size"]
    d, inter, heads = draft.get("draft_vocab_size"), draft["intermediate_size"], draft["num_attention_heads"]
    layer = "midlayer" if style.startswith("midlayer") else "layers.0"
    found: dict[str, list[int]] = {"fc.weight": [h, 3 * t], "norm.weight": [h]}
    found |= {f"{layer}.{n}.weight": [h] for n in ("input_layernorm", "hidden_norm", "post_attention_layernorm")}
    if style == "mla":
        rank, rope = draft["kv_lora_rank"], draft["qk_rope_head_dim"]
        found[f"{layer}.self_attn.q_a_proj.weight"] = [draft["q_lora_rank"], 2 * h]
        found[f"{layer}.self_attn.kv_a_proj_with_mqa.weight"] = [rank + rope, 2 * h]
    else:
        width = draft.get("head_dim") or h // heads
        found[f"{layer}.self_attn.q_proj.weight"] = [heads * width, 2 * h]
        for name in "kv":
            found[f"{layer}.self_attn.{name}_proj.weight"] = [draft["num_key_value_heads"] * width, 2 * h]
        found[f"{layer}.self_attn.o_proj.weight"] = [h, heads * width]
    found |= {f"{layer}.mlp.{name}_proj.weight": [inter, h] for name in ("gate", "up")}
    found[f"{layer}.mlp.down_proj.weight"] = [h, inter]
    if "fc_norm" in style:
        found |= {f"fc_norm.{k}.weight": [t] for k in range(3)}
    if "embed_tokens" in style:
        found["embed_tokens.weight"] = [v, h]
    tensors: Tensors = {name: ("BF16", shape) for name, shape in found.items()}
    if d:
        tensors["lm_head.weight"] = ("BF16", [d, h])
    if d and d < v:
        tensors |= {"d2t": ("I64", [d]), "t2d": ("BOOL", [v])}
    return tensors


def header(tensors: Tensors) -> bytes:
    """Length and JSON, as safetensors writes them."""
    at, entries = 0, {}
    for name, (dtype, shape) in tensors.items():
        end = at + SIZES[dtype] * math.prod(shape)
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    raw = json.dumps(entries).encode()
    return len(raw).to_bytes(8, "little") + raw


def write_sparse(path: Path, tensors: Tensors, marked: int = 0, values: dict[str, bytes] | None = None) -> None:
    """A file of holes, but for `values` and the first `marked` of t2d."""
    head = header(tensors)
    spans = {name: entry["data_offsets"] for name, entry in json.loads(head[8:]).items()}
    given = dict(values or {})
    if "t2d" in tensors:
        given.setdefault("t2d", b"\x01" * marked)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + max((end for _, end in spans.values()), default=0))
        for name, data in given.items():
            file.seek(len(head) + spans[name][0])
            file.write(data)
