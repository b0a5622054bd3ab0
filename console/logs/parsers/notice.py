"""Remarks by which SGLang tells what it made of one's arguments, or what it waits for or lacks; the server goes on.

Read in arg_groups, server_args.py and managers of 0.5.9 to 0.5.23, and seen on a real server (0.5.12.post1).
"""

from console.logs.parser import Fields, Parser
from console.logs.sentences import HOLDER, sentence

_NOTICES = (
    ("draft_tokens_adjusted", sentence("speculative_num_draft_tokens is adjusted to")),
    ("overlap_off", sentence("Overlap scheduler is disabled")),
    ("spec_v2", sentence("Spec v2 is enabled by default")),
    (
        "max_running_requests",
        sentence("Max running requests is reset to", r"reset to <to:int> for speculative decoding"),
    ),
    ("custom_all_reduce_off", sentence("Custom allreduce is disabled because")),
    (
        "port_wait",
        sentence(
            "is in use. Waiting for",
            rf"port <port:int> is in use\. Waiting for \d{{1,6}} seconds for <what:word> to be available\.{HOLDER}",
        ),
    ),
    ("py_spy_missing", sentence("py-spy: command not found")),
    ("cache_flushed", sentence("Cache flushed successfully!")),
)


def _parse(message: str) -> Fields | None:
    for about, known in _NOTICES:
        if (numbers := known.read(message)) is not None:
            return {"about": about, "sentence": message.strip(), **numbers}
    return None


PARSER = Parser(
    kind="notice",
    starts=(
        "speculative_num_draft_tokens is",
        "Overlap scheduler",
        "Spec v2 is",
        "Max running requests is reset",
        "Custom allreduce",
        "Pyspy failed",
        "Cache flushed",
    ),
    hints=("is in use. Waiting for",),
    parse=_parse,
)
