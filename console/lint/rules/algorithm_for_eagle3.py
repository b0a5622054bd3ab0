"""The algorithm is not the draft's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.lint import asks, log_wiring
from console.lint.evidence import quoting
from console.lint.rule import Rule
from console.wiring import draft as drafts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="algorithm-for-eagle3",
    title="The algorithm is not the draft's",
    why="EAGLE with an EAGLE-3 draft runs without a word in every release: fc, lm_head and d2t are bypassed, "
    "accept length 1.00.",
    source="models/llama_eagle3.py and the EAGLE workers, 28 releases; seen on 2 × H200, 0.5.12.post1; "
    "sgl-project/sglang PR 21272; case A01",
)


def check(launch: Launch) -> Iterator[Finding]:
    algorithm = asks.full(launch).algorithm
    if launch.draft is None or algorithm is None:
        return
    name, family = drafts.architecture(launch.draft.config), drafts.family(launch.draft.config)
    evidence = f"architectures of {launch.draft.path}: {name}"
    if algorithm in log_wiring.ONE_STATE and family == "eagle3":
        message = f"--speculative-algorithm {algorithm} with an EAGLE-3 draft: no error, no draft token is accepted"
        yield RULE.error(message, "Write --speculative-algorithm EAGLE3.", evidence)
    elif algorithm == "EAGLE3" and family == "eagle":
        message = "--speculative-algorithm EAGLE3 with an EAGLE-1/2 draft: fails when it loads, or at the first extend"
        yield RULE.error(message, "Write --speculative-algorithm EAGLE, or name an EAGLE-3 draft.", evidence)


def explain(log: LogContext) -> Iterator[Finding]:
    if log.algorithm == "EAGLE3":
        yield from _died_in_eagle(log)
    if not log_wiring.is_run_as_eagle(log):
        return
    loaded, length = log.loaded[1], log.history.stats.accept_len
    told = f" (accept len {length.median:.2f} in the median of {length.count} windows)" if length.count else ""
    message = f"{loaded.fields['type']} is run as {log.algorithm}: its fc is skipped and no draft token is accepted"
    hint = f"Write --speculative-algorithm EAGLE3 (now {log.algorithm})."
    yield quoting(RULE.error(f"{message}{told}", hint), loaded)


def _died_in_eagle(log: LogContext) -> Iterator[Finding]:
    """An EAGLE-1 or -2 draft under EAGLE3: the worker misses what it has not, or it ends in its own file."""
    for record in log.trouble("traceback", "torch_error"):
        missed = _MISSED.search(str(record.fields.get("sentence", "")))
        if missed or any(_EAGLE_12_FILE.search(frame) for frame in log.frames(record)):
            message = "the draft is an EAGLE-1/2 one, run as EAGLE3: it cannot take the captured states"
            hint = "Write --speculative-algorithm EAGLE, or name an EAGLE-3 draft."
            yield quoting(RULE.error(message, hint), record)
            return


_MISSED = re.compile(r"'\w{1,60}Eagle' object has no attribute 'hot_token_id'")
_EAGLE_12_FILE = re.compile(r"/models/\w{1,60}_eagle\.py")
