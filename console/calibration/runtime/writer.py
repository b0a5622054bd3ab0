"""Writes a pair, a draft of it that is wired otherwise, and the table of what a server must accept of each wiring."""

from __future__ import annotations

import itertools
import json
import os
import shutil

import torch
from forward import MOST_STEPS, Pair
from layout import (
    DEEPSEEK,
    HEAD,
    HEADS,
    HIDDEN,
    INNER,
    LIVE,
    SCALED_DEEPSEEK,
    SCALED_LLAMA,
    SHARED_HEADS,
    SLOTS,
    THETA,
    VOCABULARY,
)
from safetensors.torch import load_file, save_file
from tokens import signatures, successors, witnesses
from weights import draft, swap_slots, target

WEIGHTS = "model.safetensors"
IDS = "eagle_aux_hidden_state_layer_ids"

# A node's cores are others' too; on a busy one, threads of a pair that is seconds of one core wait for each other.
torch.set_num_threads(1)


def write_pair(folder, pair):
    """Target, draft as trained, tokenizer: the folder is there when all of it is."""
    part = _part(folder)
    generator = torch.Generator().manual_seed(pair["seed"])
    rough = torch.Generator().manual_seed(pair["seed"] + 1)
    after = successors(generator)
    moved = signatures(pair["layers"], pair["trained"], generator)
    kept = torch.ones(LIVE, dtype=torch.bool)
    kept[torch.randperm(LIVE, generator=generator)[pair["draft_vocab"] :]] = False
    known = torch.rand(LIVE, generator=generator) < pair["p"]
    witness = witnesses(pair["trained"], generator) if pair["looks_back"] else None

    def noise(*shape):
        return torch.randn(*shape, generator=rough) * 0.02

    tensors = target(pair["arch"], pair["layers"], moved, after, noise, witness)
    _save(os.path.join(part, "target"), tensors, target_config(pair))
    _write_tokenizer(os.path.join(part, "target"))
    _save(os.path.join(part, "draft"), draft(after, known, kept, noise, witness), draft_config(pair, None))
    _write_json(os.path.join(part, "pair.json"), pair)
    os.rename(part, folder)


def write_draft(place, wired):
    """The draft with other ids in its config, fc's slots in another order, without its map: a folder beside `draft`."""
    folder, part = os.path.dirname(place), _part(place)
    with open(os.path.join(folder, "pair.json")) as file:
        pair = json.load(file)
    if wired["slots"] == list(range(SLOTS)) and wired["d2t"]:
        os.makedirs(part)
        os.symlink(os.path.join("..", "draft", WEIGHTS), os.path.join(part, WEIGHTS))
        _write_json(os.path.join(part, "config.json"), draft_config(pair, wired))
    else:
        tensors = swap_slots(load_file(os.path.join(folder, "draft", WEIGHTS)), wired["slots"])
        if not wired["d2t"]:
            del tensors["d2t"]
        _save(part, tensors, draft_config(pair, wired))
    os.rename(part, place)


def write_scaled_target(place):
    """The target with rotary positions halved in its config alone: its attention finds the token two before."""
    folder, part = os.path.dirname(place), _part(place)
    os.makedirs(part)
    for name in os.listdir(os.path.join(folder, "target")):
        os.symlink(os.path.join("..", "target", name), os.path.join(part, name))
    with open(os.path.join(part, "config.json")) as file:
        config = json.load(file)
    os.unlink(os.path.join(part, "config.json"))
    if "kv_lora_rank" in config:
        config["rope_scaling"] = SCALED_DEEPSEEK
    else:
        config["rope_scaling"] = SCALED_LLAMA
        config["max_position_embeddings"] //= 2  # times the factor, it is the same context length
    _write_json(os.path.join(part, "config.json"), config)
    os.rename(part, place)


def write_table(path, about, ask):
    _write_json(path, expected(Pair(os.path.dirname(path)), about, ask))


def expected(pair, about, ask):
    """Every wiring of fc's slots, and other faults, with accept length and histogram."""
    steps, tokens, last = ask["steps"], ask["tokens"], ask["last"]
    most = max(steps, MOST_STEPS)

    def row(accepted, **words):
        length, histogram = pair.walk(accepted, tokens, words.pop("steps", steps), last, words.pop("first", None))
        return dict(words, accept_len=round(length, 4), hist=histogram)

    wirings = list(itertools.product(range(-1, about["layers"]), repeat=SLOTS))
    accepted = pair.every(wirings, most)
    return {
        "pair": about,
        "ask": ask,
        "wirings": [row(found, outputs=list(outputs)) for outputs, found in zip(wirings, accepted)],
        "others": [row(found, id=name, **words) for name, found, words in _others(pair, about, steps, most)],
    }


def _others(pair, about, steps, most):
    """(id, accepted, more words) of faults that are not in what the slots get."""
    every, state = torch.arange(LIVE), pair.state(about["trained"])
    right, rows = pair.count(state, every, most), len(pair.tensors["lm_head.weight"])
    plain = torch.zeros(rows, dtype=torch.long)
    yield "d2t-not-applied", pair.count(state, every, most, pair.draft_with(d2t=plain)), {}
    if about["looks_back"]:
        yield "attention-finds-nothing", pair.count(state, every, most, looks=0), {}
        for looks in range(1, steps):
            yield f"attention-lost-after-step-{looks}", pair.count(state, every, most, looks=looks), {}
        blind = [("target-attention-finds-nothing", pair.looking)]
        blind += [(f"target-attention-finds-nothing-in-layer-{layer}", [layer]) for layer in pair.looking]
        for name, layers in blind:
            yield name, pair.count(pair.state(about["trained"], pair.blind_in(layers)), every, most), {}
    # Without captures the draft gets the target's last state, as wide as its own, and fc is not run.
    width, head = pair.final.shape[1], pair.target["lm_head.weight"][:rows]
    eagle = pair.draft_with(head, plain, width)
    yield "algorithm-eagle", pair.count(pair.final, every, most, eagle), {}
    yield "nothing-captured", pair.count(pair.final, every, most, pair.draft_with(width=width)), {}
    # Up to 0.5.10.post1 graphs replay a verify with the default ids, whatever the config says.
    middle, late = about["layers"] // 2, about["layers"] - 3
    for name, default in (("default", [1, middle - 1, late - 1]), ("default-plus-one", [2, middle, late])):
        replayed = pair.count(pair.state(default), every, most)
        yield "graphs-replay-" + name, replayed, {"first": right}
    for number in range(1, most + 1):
        if number != steps:
            yield f"steps-{number}", right, {"steps": number}


def target_config(pair):
    common = _common()
    if pair["arch"] == "llama":
        heads = _llama(SHARED_HEADS if pair["looks_back"] else HEADS)
        return dict(common, **heads, architectures=["LlamaForCausalLM"], num_hidden_layers=pair["layers"])
    names = {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3"}
    return dict(common, **DEEPSEEK, **names, num_hidden_layers=pair["layers"])


def draft_config(pair, wired):
    eagle = {"use_aux_hidden_state": wired["use_aux"] if wired else True}
    if wired and wired["ids"] is not None:
        eagle[IDS] = wired["ids"]
    factor = wired["rope_factor"] if wired else 1
    return dict(
        _common(),
        **_llama(HEADS),
        **({"rope_scaling": {"rope_type": "linear", "factor": float(factor)}} if factor != 1 else {}),
        architectures=["LlamaForCausalLMEagle3"],
        num_hidden_layers=1,
        draft_vocab_size=pair["draft_vocab"],
        target_hidden_size=HIDDEN,
        eagle_config=eagle,
    )


def _common():
    return {
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-6,
        "rope_theta": THETA,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "attention_bias": False,
    }


def _llama(key_heads):
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": key_heads, "head_dim": HEAD}
    return dict(heads, mlp_bias=False, model_type="llama")


def _save(folder, tensors, config):
    os.makedirs(folder)
    kept = {}
    for name, tensor in tensors.items():
        kind = torch.float32 if "correction_bias" in name else torch.bfloat16
        kept[name] = (tensor.to(kind) if tensor.is_floating_point() else tensor).contiguous()
    save_file(kept, os.path.join(folder, WEIGHTS), metadata={"format": "pt"})
    _write_json(os.path.join(folder, "config.json"), config)


def _write_tokenizer(folder):
    model = {"type": "WordLevel", "vocab": {f"t{i}": i for i in range(VOCABULARY)}, "unk_token": "t0"}
    blank = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    words = dict(blank, version="1.0", added_tokens=[], pre_tokenizer={"type": "WhitespaceSplit"}, model=model)
    _write_json(os.path.join(folder, "tokenizer.json"), words)
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "t1", "eos_token": "t2"}
    _write_json(os.path.join(folder, "tokenizer_config.json"), dict(about, model_max_length=8192))


def _write_json(path, value):
    with open(path + ".part", "w") as file:
        json.dump(value, file)
    os.replace(path + ".part", path)


def _part(place):
    """An unfinished folder's name, of this process alone."""
    part = f"{place}.{os.getpid()}.part"
    shutil.rmtree(part, ignore_errors=True)
    return part
