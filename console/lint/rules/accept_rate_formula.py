"""The printed accept rate counts the bonus token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting_windows
from console.lint.rule import Rule
from console.logs.rates import strict_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="accept-rate-formula",
    title="The printed accept rate counts the bonus token",
    why="`accept rate` changed its meaning at 0.5.11. Numbers of both kinds side by side are no comparison: 0.47 of an "
    "old log is 0.36 of a new one at 6 draft tokens.",
    source="read in 22 releases: len/(steps+1) in 0.5.4 and 0.5.5, len/draft_tokens to 0.5.10.post1, "
    "(len-1)/(draft_tokens-1) from 0.5.11; case E10",
)


def explain(log: LogContext) -> Iterator[Finding]:
    stats = log.history.stats
    told, tokens = stats.told_by_rates(), stats.known_draft_tokens
    if told.formula != "with_bonus" or tokens is None or tokens < 2:
        return
    window = next((each for each in reversed(stats.windows) if each.accept_len and each.accept_rate), None)
    if window is None or window.accept_len is None or window.accept_rate is None:
        return
    strict = strict_rate(window.accept_len, tokens)
    message = f"the printed accept rate {window.accept_rate:.2f} is accept len / {tokens}, the formula up to "
    message += f"0.5.10.post1; the strict rate, as printed from 0.5.11 on, is {strict:.2f}"
    hint = "Compare accept len, or the strict rate, across releases."
    yield quoting_windows(RULE.info(message, hint), [window])
