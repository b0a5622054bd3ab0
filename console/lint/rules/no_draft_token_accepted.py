"""No draft token is accepted, or hardly one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting_windows
from console.lint.log_wiring import ONE_STATE, is_run_as_eagle
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="no-draft-token-accepted",
    title="No draft token is accepted, or hardly one",
    why="`accept len` counts the bonus token: 1.00 is nothing accepted, at the full price of drafting. A rate printed "
    "beside it may still be above 0: up to 0.5.10.post1 it has a floor of 1 / draft tokens.",
    source="the EAGLE flag tried on 2 × H200, SGLang 0.5.12.post1: accept len 1.00, no message; cases A01, A22, E10",
)

WINDOWS = 3
"""`Decode batch` lines that must agree."""
HARDLY = 1.2
"""Median accept len below which a draft costs more than it gives at any setting seen."""


def explain(log: LogContext) -> Iterator[Finding]:
    length = log.history.stats.accept_len
    if not length.count or is_run_as_eagle(log):
        return
    if length.highest <= 1.0:
        yield _nothing(log)
    elif length.count >= WINDOWS and (middle := length.median) is not None and middle < HARDLY:
        message = f"hardly a draft token is accepted: accept len {middle:.2f} in the median of {length.count} windows"
        hint = "Look at which layer outputs the draft gets (`draft show`, `lint`) before the draft itself is blamed; "
        yield RULE.warn(message, f"{hint}1.00 would be none.")


def _nothing(log: LogContext) -> Finding:
    count = log.history.stats.accept_len.count
    told = f"accept len 1.00 in {'every one of ' if count > 1 else ''}{count} window{'s' * (count != 1)}"
    message = f"no draft token is accepted: {told}{_floor(log)}"
    hint = (
        "Wiring before drafter quality: --speculative-algorithm must be EAGLE3 for an EAGLE-3 draft (EAGLE skips its "
        "fc without a word), then layer ids, d2t, the weights that were loaded."
    )
    if log.algorithm in ONE_STATE:
        hint = f"The algorithm is {log.algorithm}: for an EAGLE-3 draft write --speculative-algorithm EAGLE3."
    finding = RULE.error(message, hint) if count >= WINDOWS else RULE.warn(message, hint)
    windows = [each for each in log.history.stats.windows if each.accept_len is not None]
    return quoting_windows(finding, windows[-WINDOWS:])


def _floor(log: LogContext) -> str:
    """Explain a printed rate that is not 0 although nothing was accepted."""
    printed = next((each.accept_rate for each in reversed(log.history.stats.windows) if each.accept_len == 1.0), None)
    if not printed:
        return ""
    tokens = log.history.stats.known_draft_tokens
    one_of = f" 1/{tokens}" if tokens else ""
    return f"; the printed rate {printed:.2f} is the old formula's floor{one_of}, the strict rate is 0"
