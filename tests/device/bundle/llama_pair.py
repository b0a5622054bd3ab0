"""Write a crafted Llama target and an EAGLE-3 draft whose acceptance is known: llama_pair.py OUT P.

The target's next token is a fixed permutation of the last one; the draft is right for about a share P of the tokens.
P = 0.8 gives an accept length of 3.5714 for 400 greedy tokens after [5, 17, 300], at 5 steps and 6 draft tokens. All
layers add nothing, so the captured states of all layers are the same: which layers are captured does not show.
"""

import json
import os
import sys

import torch
from safetensors.torch import save_file

V, H, LAYERS, HEADS, INNER = 512, 1024, 8, 8, 1024
NORMS = ("input_layernorm", "post_attention_layernorm")
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": H,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "head_dim": H // HEADS,
    "vocab_size": V,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "attention_bias": False,
    "mlp_bias": False,
}
EAGLE = {"eagle_aux_hidden_state_layer_ids": [2, 4, 5], "use_aux_hidden_state": True}


def target(successor, generator):
    """One-hot embeddings, a permuting head, layers whose outputs are multiplied by zero."""

    def noise(rows, columns):
        return torch.randn(rows, columns, generator=generator) * 0.02

    embeddings, head = torch.zeros(V, H), torch.zeros(V, H)
    embeddings[:, :V] = torch.eye(V)
    head[successor, torch.arange(V)] = 1.0
    tensors = {"model.embed_tokens.weight": embeddings, "lm_head.weight": head, "model.norm.weight": torch.ones(H)}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        for name in "qkv":
            tensors[f"{at}self_attn.{name}_proj.weight"] = noise(H, H)
        tensors[f"{at}self_attn.o_proj.weight"] = torch.zeros(H, H)
        tensors[f"{at}mlp.gate_proj.weight"] = noise(INNER, H)
        tensors[f"{at}mlp.up_proj.weight"] = noise(INNER, H)
        tensors[f"{at}mlp.down_proj.weight"] = torch.zeros(H, INNER)
        tensors |= {f"{at}{name}.weight": torch.ones(H) for name in NORMS}
    return tensors


def draft(successor, generator, share):
    """An MLP that turns a token into its successor, and a head that is wrong for some tokens."""
    tokens = torch.arange(V)
    fc = torch.cat([torch.eye(H) / 4 * (2 if state == 0 else 1) for state in range(3)], 1)
    tensors = {"fc.weight": fc, "norm.weight": torch.ones(H)}
    for name in "qkv":
        tensors[f"midlayer.self_attn.{name}_proj.weight"] = torch.randn(H, 2 * H, generator=generator) * 0.02
    tensors["midlayer.self_attn.o_proj.weight"] = torch.zeros(H, H)
    gate, up, down, head = (torch.zeros(*size) for size in ((INNER, H), (INNER, H), (H, INNER), (V, H)))
    gate[:V, :V], up[:V, :V] = torch.eye(V) * 0.5, torch.eye(V) / 32
    down[successor, tokens] += 1 / 16
    down[tokens, tokens] -= 1 / 16
    tensors |= {f"midlayer.mlp.{n}_proj.weight": each for n, each in (("gate", gate), ("up", up), ("down", down))}
    tensors |= {f"midlayer.{name}.weight": torch.ones(H) for name in (*NORMS, "hidden_norm")}
    wrong = torch.rand(V, generator=generator) > share
    head[torch.where(wrong, (successor + 7) % V, successor), tokens] = 1.0
    tensors |= {"lm_head.weight": head, "d2t": torch.zeros(V, dtype=torch.int64)}
    return {**tensors, "t2d": torch.ones(V, dtype=torch.bool)}


def write(folder, tensors, config):
    os.makedirs(folder, exist_ok=True)
    stored = {k: (v.to(torch.bfloat16) if v.is_floating_point() else v).contiguous() for k, v in tensors.items()}
    save_file(stored, f"{folder}/model.safetensors", metadata={"format": "pt"})
    with open(f"{folder}/config.json", "w") as file:
        json.dump(config, file, indent=1)


def write_tokenizer(folder):
    words = {f"t{token}": token for token in range(V)}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "t0"},
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "t1",
        "eos_token": "t2",
        "model_max_length": 8192,
    }
    for name, value in (("tokenizer.json", tokenizer), ("tokenizer_config.json", config)):
        with open(f"{folder}/{name}", "w") as file:
            json.dump(value, file)


def main(out, share):
    generator = torch.Generator().manual_seed(0)
    successor = torch.randperm(V, generator=generator)
    write(f"{out}/target", target(successor, generator), CONFIG)
    write_tokenizer(f"{out}/target")
    of_draft = {"num_hidden_layers": 1, "draft_vocab_size": V, "target_hidden_size": H, "eagle_config": EAGLE}
    weights = draft(successor, generator, share)
    write(f"{out}/draft", weights, {**CONFIG, "architectures": ["LlamaForCausalLMEagle3"], **of_draft})


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
