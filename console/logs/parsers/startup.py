"""Remarks of a start that change nothing: what was not found, is guessed, deprecated or left out; the server goes on.

Seen on real servers (0.5.12.post1), so that they count as known and drift shows.
"""

import re

from console.logs.parser import Fields, Parser

_REMARKS = {
    "Ignore import error when loading ": "import_skipped",
    "Failed to load generation config for ": "generation_config",
    "Loading tokenizer for ": "tokenizer",
    "Tokenizer for ": "tokenizer",
    "Tokenizer loaded as ": "tokenizer",
    "No HuggingFace chat template found": "chat_template",
    "No chat template found": "chat_template",
    "flashinfer.comm is not available": "flashinfer_comm",
    "Fail to set RLIMIT_": "resource_limit",
    "SPECULATIVE_MOE_A2A_BACKEND is not initialized": "moe_backend",
    "SPECULATIVE_MOE_RUNNER_BACKEND is not initialized": "moe_backend",
    "Using default MoE kernel config.": "moe_config",
    "Using MoE kernel config with ": "moe_config",
    "Disable piecewise CUDA graph because ": "piecewise_graph_off",
    "Compiling a graph for dynamic shape takes ": "graph_compiled",
    "Auto-enabling FlashInfer AllReduce": "all_reduce_fusion",
    "Custom allreduce v": "custom_all_reduce",
    "Config does not support fused shared expert": "shared_experts",
    "DeepSeek MTP does not require": "draft_path",
    "Endpoint '": "endpoint_deprecated",
    "Open an issue on GitHub ": "where_to_ask",
}
_STARTS = tuple(_REMARKS)
_PATH = re.compile(r"(?:for|found at|loading) (/?[\w./-]{1,400}?)(?::? |$)")


def _parse(message: str) -> Fields | None:
    if not message.startswith(_STARTS):
        return None
    about = next(about for start, about in _REMARKS.items() if message.startswith(start))
    what = _PATH.search(message, 0, 1000)
    return {"about": about, "what": what[1] if what else None}


PARSER = Parser(kind="startup", starts=_STARTS, parse=_parse)
