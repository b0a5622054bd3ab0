"""Sizes of a pair, what each dimension of its residual streams holds, and by what its attention looks."""

BASE, SLOTS = 8, 3
LIVE = BASE**SLOTS
"""512 tokens, each three base-8 digits."""
DEAD = 64
LAST = 300
"""The last token of the prompt."""
GAP = 320
"""Dead tokens come after this many live ones: behind the prompt."""
VOCABULARY = LIVE + DEAD
HIDDEN, INNER = 1024, 512
DIGITS = LIVE
"""Dimensions from here on hold the digits, eight for each slot."""
SEEN = DIGITS + BASE * SLOTS
"""In a draft that looks back: the digits of the token that its attention found."""
CONSTANT = SEEN + BASE * SLOTS
"""In the draft only, from here on: always one."""
ONES = 16
"""So many ones, constant ones too, are given to the draft's MLP: its norm turns them into 8, exactly."""
WITNESSED = 36
"""Tokens that each layer's attention bears witness of, in a pair that looks back."""
WITNESS = CONSTANT + ONES
"""In a pair that looks back, from here on: each token's witness."""
SAID, HEARD = 1 / 64, 1 / 16
"""A witness in the target and in the draft: too small to change a norm, so all else is exact with it or without."""
HEADS, HEAD = 8, 64
SHARED_HEADS = 4
"""Heads of keys and values in a Llama target that looks back (GQA)."""
THETA = 10000.0
FREQUENCIES, SHARP = range(8), 14.0
"""By which rotary frequencies the draft looks, and how long its queries and keys are in each: the position before is
ahead of every other by more than 20 in the exponent of the softmax, up to 8192 positions."""
TARGET_FREQUENCIES, TARGET_SHARP = range(1, 9), 32.0
"""The same of the target, by 50. The yarn of its config leaves these frequencies as they are."""
DEEPSEEK = {
    "q_lora_rank": 64,
    # The four widths of DeepSeek-V3: kernels for MLA are built for no others.
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": INNER,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "n_group": 1,
    "topk_group": 1,
    "norm_topk_prob": True,
    "scoring_func": "sigmoid",
    "topk_method": "noaux_tc",
    "routed_scaling_factor": 2.0,
    "num_nextn_predict_layers": 0,
    "ep_size": 1,
    # As in DeepSeek-V3; SGLang's rope on the CPU asserts that there is one.
    "rope_scaling": {
        "type": "yarn",
        "factor": 2,
        "original_max_position_embeddings": 4096,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}
# Faults made on purpose: positions count half, so that attention finds the token two before.
SCALED_LLAMA = {"rope_type": "linear", "factor": 2.0}
SCALED_DEEPSEEK = dict(DEEPSEEK["rope_scaling"], beta_fast=1400, beta_slow=700)
"""Yarn scales all frequencies but the first."""
