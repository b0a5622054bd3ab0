"""The server flags that profiles have keys for, in the order in which they are emitted, always by their full names.

A key is its flag with underscores: `tp_size` is `--tp-size`, `speculative.num_steps` is `--speculative-num-steps`.
The order is that of a launch line as people write it: model, parallelism, memory, address, kernels, then speculation.
Names read in SGLang 0.4.6.post1 to 0.5.23; which release has which flag is not decided here.
"""

from __future__ import annotations

SERVER_KEYS = (
    "model_path",
    "tokenizer_path",
    "served_model_name",
    "revision",
    "load_format",
    "trust_remote_code",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "context_length",
    "device",
    "tp_size",
    "pp_size",
    "dp_size",
    "ep_size",
    "nnodes",
    "node_rank",
    "dist_init_addr",
    "mem_fraction_static",
    "max_running_requests",
    "max_total_tokens",
    "chunked_prefill_size",
    "page_size",
    "host",
    "port",
    "num_continuous_decode_steps",
    "attention_backend",
    "prefill_attention_backend",
    "decode_attention_backend",
    "sampling_backend",
    "grammar_backend",
    "disable_custom_all_reduce",
    "disable_overlap_schedule",
    "disable_radix_cache",
    "disable_cuda_graph",
    "skip_server_warmup",
    "enable_metrics",
    "decode_log_interval",
    "watchdog_timeout",
    "log_level",
    "log_level_http",
)

SPECULATIVE_KEYS = (
    "algorithm",
    "draft_model_path",
    "draft_model_revision",
    "draft_load_format",
    "draft_model_quantization",
    "draft_attention_backend",
    "attention_mode",
    "eagle_topk",
    "num_draft_tokens",
    "num_steps",
    "token_map",
    "accept_threshold_single",
    "accept_threshold_acc",
)

SECRET_KEYS = ("api_key", "admin_api_key")
"""Keys whose value is a reference to the console's environment, and reaches the server by a 0600 `--config` file."""

ALIASES = {
    "model": "model_path",
    "tensor-parallel-size": "tp_size",
    "pipeline-parallel-size": "pp_size",
    "data-parallel-size": "dp_size",
    "expert-parallel-size": "ep_size",
    "ep": "ep_size",
    "nccl-init-addr": "dist_init_addr",
    "speculative-draft-model": "speculative.draft_model_path",
}
"""Second names that SGLang declares for flags with a key here."""

_SECRET_FLAGS = ("api-key", "admin-api-key", "ssl-keyfile-password")
_OWN_NAMES = ("ssl-keyfile",)
"""Flags in their own right that are also the beginning of a secret one."""


def flag_of(key: str) -> str:
    """Return the flag name, without its dashes, of a dotted profile key."""
    return key.replace(".", "-").replace("_", "-")


TYPED_FLAGS = {flag_of(key): key for key in (*SERVER_KEYS, *(f"speculative.{key}" for key in SPECULATIVE_KEYS))}
"""Flag name → profile key."""


def key_for(flag: str) -> str:
    """Return the profile key that stands for `flag`: by name, alias or abbreviation; "" when none does.

    argparse takes any unambiguous beginning of a flag, so `tp` would be `--tp-size` a second time.
    """
    if flag in TYPED_FLAGS or flag in ALIASES:
        return TYPED_FLAGS.get(flag) or ALIASES[flag]
    return next((key for name, key in TYPED_FLAGS.items() if name.startswith(flag)), "")


def is_secret(flag: str) -> bool:
    """Tell whether `flag`, or what argparse would complete it to, carries a secret."""
    return flag not in _OWN_NAMES and any(name.startswith(flag) for name in _SECRET_FLAGS if len(flag) > 2)
