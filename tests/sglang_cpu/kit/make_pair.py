"""Write a calibration pair: a target and an EAGLE-3 draft whose acceptance tells which layer outputs were captured.

    mkpair2.py OUT [--arch llama|deepseek] [--trained 2,3,6] [--ids 2,3,6] [--p 0.9] [--draft-vocab 512] [--layers 8]

How it works. A token t has three base-8 digits. The target's residual stream holds a one-hot of t (the carrier, which no
layer changes, and which alone decides the next token) and three one-hot digits. Each layer moves each digit of its own,
known subset of tokens on by one, so the digits after layer l are a signature of l. The draft's fc takes digit k from
captured state k only, and the stream is laid out so that digit k reads true after the layer that slot k was trained on. All
three digits must be right for the draft to know the token, so a wrong layer in slot k costs exactly the tokens whose digit
k moved between that layer and the trained one. Sizes of those subsets differ, hence so do accept lengths.
"""

import argparse
import json
import os

import torch
from safetensors.torch import save_file

BASE, SLOTS = 8, 3
V = BASE**SLOTS  # 512 tokens
H, I = 1024, 512
DIG = V  # dimensions DIG + 8 * slot + digit hold the digits
CONST = DIG + BASE * SLOTS  # in the draft only: always one
LOW, HIGH = 0.2, 0.5  # smallest and largest share of tokens whose digit a layer moves


def digits(tokens):
    return torch.stack([tokens // BASE**k % BASE for k in range(SLOTS)], -1)


def code(d):
    """[n, 3] digits -> [n, H] with three ones."""
    out = torch.zeros(d.shape[0], H)
    for k in range(SLOTS):
        out[torch.arange(d.shape[0]), DIG + BASE * k + d[:, k] % BASE] = 1
    return out


def cycle(n, g):
    """A permutation of 0..n-1 that is one cycle: the greedy text visits every token before it repeats."""
    order = torch.randperm(n, generator=g)
    perm = torch.empty(n, dtype=torch.long)
    perm[order] = order.roll(-1)
    return perm


def signatures(layers, trained, g):
    """moved[s][t, k]: how far digit k of token t is from its own value in state s (0: embeddings, s: after layer s - 1)."""
    share = torch.linspace(LOW, HIGH, layers * SLOTS)[torch.randperm(layers * SLOTS, generator=g)].view(layers, SLOTS)
    steps = torch.zeros(layers + 1, V, SLOTS, dtype=torch.long)
    for l in range(layers):
        for k in range(SLOTS):
            steps[l + 1, torch.randperm(V, generator=g)[: round(float(share[l, k]) * V)], k] = 1
    moved = steps.cumsum(0)
    for k in range(SLOTS):  # at the trained layer of slot k, digit k reads true
        moved[:, :, k] -= moved[trained[k] + 1, :, k].clone()
    return moved % BASE


def neurons(delta, share=1.0, tokens=None):
    """gate, up, down of an MLP that adds `share * delta[t]` when the carrier holds t. The norm turns a one into 16."""
    t = torch.arange(V)
    gate, up, down = torch.zeros(I, H), torch.zeros(I, H), torch.zeros(H, I)
    gate[t, t], up[t, t] = 1.0, 1 / 16  # silu(16) * 1 = 16 in bfloat16
    keep = torch.ones(V) if tokens is None else tokens.float()
    down[:, t] = (delta * keep[:, None]).T * (share / 16)
    return gate, up, down


def put_mlp(out, prefix, mlp):
    for name, w in zip(("gate", "up", "down"), mlp):
        out[f"{prefix}{name}_proj.weight"] = w


def target(arch, layers, moved, perm, g):
    t = {}
    where = digits(torch.arange(V))
    emb = code(where + moved[0])
    emb[torch.arange(V), torch.arange(V)] = 1
    t["model.embed_tokens.weight"] = emb
    head = torch.zeros(V, H)
    head[perm, torch.arange(V)] = 1
    t["lm_head.weight"] = head
    t["model.norm.weight"] = torch.ones(H)
    noise = lambda *s: torch.randn(*s, generator=g) * 0.02
    for l in range(layers):
        b = f"model.layers.{l}."
        for n in ("input_layernorm", "post_attention_layernorm"):
            t[b + n + ".weight"] = torch.ones(H)
        delta = code(where + moved[l + 1]) - code(where + moved[l])
        a = b + "self_attn."
        if arch == "llama":
            t[a + "q_proj.weight"], t[a + "o_proj.weight"] = noise(512, H), torch.zeros(H, 512)
            t[a + "k_proj.weight"], t[a + "v_proj.weight"] = noise(512, H), noise(512, H)
            put_mlp(t, b + "mlp.", neurons(delta))
            continue
        c = DEEPSEEK
        heads, nope, rope, vd = c["num_attention_heads"], c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
        t[a + "q_a_proj.weight"], t[a + "q_a_layernorm.weight"] = (
            noise(c["q_lora_rank"], H),
            torch.ones(c["q_lora_rank"]),
        )
        t[a + "q_b_proj.weight"] = noise(heads * (nope + rope), c["q_lora_rank"])
        t[a + "kv_a_proj_with_mqa.weight"] = noise(c["kv_lora_rank"] + rope, H)
        t[a + "kv_a_layernorm.weight"] = torch.ones(c["kv_lora_rank"])
        t[a + "kv_b_proj.weight"] = noise(heads * (nope + vd), c["kv_lora_rank"])
        t[a + "o_proj.weight"] = torch.zeros(H, heads * vd)
        if l < c["first_k_dense_replace"]:
            put_mlp(t, b + "mlp.", neurons(delta))
            continue
        # Mixture of experts: the shared expert moves digit 0; digits 1 and 2 are moved by the two experts a token is routed
        # to (t and t + 1 modulo their number, equal scores, so weights are 1/2 each, times the scaling factor).
        first = torch.zeros(H)
        first[DIG : DIG + BASE] = 1
        put_mlp(t, b + "mlp.shared_experts.", neurons(delta * first))
        n = c["n_routed_experts"]
        router = torch.zeros(n, H)
        for e in range(n):
            mine = (torch.arange(V) % n == e) | ((torch.arange(V) + 1) % n == e)
            router[e, :V] = mine.float() / 4
            put_mlp(t, b + f"mlp.experts.{e}.", neurons(delta * (1 - first), 1 / c["routed_scaling_factor"], mine))
        t[b + "mlp.gate.weight"] = router
        t[b + "mlp.gate.e_score_correction_bias"] = torch.zeros(n)
    return t


def draft(perm, p, kept, g, rough):
    d = {}
    fc = torch.zeros(H, SLOTS * H)
    for k in range(SLOTS):
        at = torch.arange(DIG + BASE * k, DIG + BASE * (k + 1))
        fc[at, k * H + at] = 1
    fc[CONST, :V] = 1  # the carrier of slot 0 sums to one
    d["fc.weight"] = fc
    noise = lambda *s: torch.randn(*s, generator=rough) * 0.02
    for n in ("q", "k", "v"):
        d[f"midlayer.self_attn.{n}_proj.weight"] = noise(512, 2 * H)
    d["midlayer.self_attn.o_proj.weight"] = torch.zeros(H, 512)
    t = torch.arange(V)
    own, nxt = code(digits(t)), code(digits(perm))
    gate = own.clone()
    gate[:, CONST] = -2  # opens only when all three digits are those of the neuron's token
    up = torch.zeros(V, H)
    up[:, CONST] = 1 / 16
    d["midlayer.mlp.gate_proj.weight"], d["midlayer.mlp.up_proj.weight"] = gate, up
    d["midlayer.mlp.down_proj.weight"] = (nxt - own).T / 16
    for n in ("input_layernorm", "hidden_norm", "post_attention_layernorm"):
        d[f"midlayer.{n}.weight"] = torch.ones(H)
    d["norm.weight"] = torch.ones(H)
    guess = perm.clone()
    wrong = torch.nonzero(torch.rand(V, generator=g) >= p).flatten()
    guess[wrong] = guess[wrong.roll(1)]
    # One row for each token the draft can say. The digits weigh differently and a row has a small handicap, so that there is
    # never a tie, not even for a token whose successor the draft cannot say.
    knows = torch.zeros(V, H)
    for k, w in enumerate((1.0, 1.25, 1.5)):
        at = slice(DIG + BASE * k, DIG + BASE * (k + 1))
        knows[:, at] = own[:, at] * w
    knows[:, CONST] = -digits(t)[:, 0].float() / BASE / 2
    head = torch.zeros(V, H)
    head[guess] = knows
    said = torch.nonzero(kept).flatten()
    d["lm_head.weight"] = head[said]
    d["d2t"], d["t2d"] = said - torch.arange(len(said)), kept
    return d, len(wrong)


DEEPSEEK = dict(
    q_lora_rank=64,
    kv_lora_rank=64,
    qk_nope_head_dim=32,
    qk_rope_head_dim=32,
    v_head_dim=32,
    num_attention_heads=8,
    n_routed_experts=4,
    n_shared_experts=1,
    num_experts_per_tok=2,
    moe_intermediate_size=I,
    first_k_dense_replace=1,
    moe_layer_freq=1,
    n_group=1,
    topk_group=1,
    norm_topk_prob=True,
    scoring_func="sigmoid",
    topk_method="noaux_tc",
    routed_scaling_factor=2.0,
    num_key_value_heads=8,
    num_nextn_predict_layers=0,
    ep_size=1,
    # As in DeepSeek-V3; SGLang's rope on the CPU asserts that there is one.
    rope_scaling=dict(
        type="yarn",
        factor=2,
        original_max_position_embeddings=4096,
        beta_fast=32,
        beta_slow=1,
        mscale=1.0,
        mscale_all_dim=1.0,
    ),
)


def write(folder, tensors, config):
    os.makedirs(folder, exist_ok=True)
    tensors = {
        k: (
            v.to(torch.float32 if "correction_bias" in k else torch.bfloat16) if v.is_floating_point() else v
        ).contiguous()
        for k, v in tensors.items()
    }
    save_file(tensors, folder + "/model.safetensors", metadata={"format": "pt"})
    json.dump(config, open(folder + "/config.json", "w"), indent=1)


def tokenizer(folder):
    words = {f"t{i}": i for i in range(V)}
    json.dump(
        dict(
            version="1.0",
            truncation=None,
            padding=None,
            added_tokens=[],
            normalizer=None,
            post_processor=None,
            decoder=None,
            pre_tokenizer={"type": "WhitespaceSplit"},
            model=dict(type="WordLevel", vocab=words, unk_token="t0"),
        ),
        open(folder + "/tokenizer.json", "w"),
    )
    json.dump(
        dict(tokenizer_class="PreTrainedTokenizerFast", bos_token="t1", eos_token="t2", model_max_length=8192),
        open(folder + "/tokenizer_config.json", "w"),
    )


def main():
    a = argparse.ArgumentParser()
    a.add_argument("out")
    a.add_argument("--arch", choices=("llama", "deepseek"), default="llama")
    a.add_argument("--layers", type=int, default=8)
    a.add_argument("--trained", default="2,3,6", help="the layers whose outputs the draft was made for, in order")
    a.add_argument(
        "--ids", help="what to write as eagle_aux_hidden_state_layer_ids; default: as --trained; 'none' for none"
    )
    a.add_argument("--p", type=float, default=0.9, help="share of tokens whose successor the draft knows")
    a.add_argument("--draft-vocab", type=int, default=V)
    a.add_argument("--seed", type=int, default=4)
    o = a.parse_args()
    g, noise = torch.Generator().manual_seed(o.seed), torch.Generator().manual_seed(o.seed + 1)
    trained = [int(x) for x in o.trained.split(",")]
    perm = cycle(V, g)
    moved = signatures(o.layers, trained, g)
    kept = torch.ones(V, dtype=torch.bool)
    kept[torch.randperm(V, generator=g)[o.draft_vocab :]] = False
    common = dict(
        hidden_size=H,
        intermediate_size=I,
        vocab_size=V,
        max_position_embeddings=8192,
        rms_norm_eps=1e-6,
        rope_theta=10000.0,
        hidden_act="silu",
        tie_word_embeddings=False,
        torch_dtype="bfloat16",
        bos_token_id=1,
        eos_token_id=2,
        attention_bias=False,
    )
    heads = dict(num_attention_heads=8, num_key_value_heads=8, head_dim=64, mlp_bias=False, model_type="llama")
    if o.arch == "llama":
        config = dict(common, **heads, architectures=["LlamaForCausalLM"], num_hidden_layers=o.layers)
    else:
        config = dict(
            common,
            **DEEPSEEK,
            architectures=["DeepseekV3ForCausalLM"],
            model_type="deepseek_v3",
            num_hidden_layers=o.layers,
        )
    write(o.out + "/target", target(o.arch, o.layers, moved, perm, noise), config)
    tokenizer(o.out + "/target")
    weights, wrong = draft(perm, o.p, kept, g, noise)
    eagle = dict(use_aux_hidden_state=True)
    if o.ids != "none":
        eagle["eagle_aux_hidden_state_layer_ids"] = [int(x) for x in (o.ids or o.trained).split(",")]
    write(
        o.out + "/draft",
        weights,
        dict(
            common,
            **heads,
            architectures=["LlamaForCausalLMEagle3"],
            num_hidden_layers=1,
            draft_vocab_size=o.draft_vocab,
            target_hidden_size=H,
            eagle_config=eagle,
        ),
    )
    json.dump(dict(trained=trained, layers=o.layers, arch=o.arch), open(o.out + "/pair.json", "w"))
    print(
        f"{o.arch} pair in {o.out}: trained on outputs of layers {trained}; {wrong} of {V} successors unknown to the draft,"
        f" {V - o.draft_vocab} not in its vocabulary"
    )


if __name__ == "__main__":
    main()
