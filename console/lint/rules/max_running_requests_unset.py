"""The limit of running requests is left to SGLang."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.speculation import DEFAULT_MAX_RUNNING_REQUESTS
from console.lint import asks
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="max-running-requests-unset",
    title="The limit of running requests is left to SGLang",
    why=(
        "With speculation it becomes 48 by itself, without it something else: a baseline is only fair where both "
        "say it."
    ),
    source="server_args.py (up to 0.5.13) and arg_groups/speculative_hook.py (from 0.5.14 on), 28 releases",
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    if asked.algorithm is None or asked.has("max-running-requests"):
        return
    other = launch.baseline.number("max-running-requests") if launch.baseline else None
    if other == DEFAULT_MAX_RUNNING_REQUESTS:
        return
    message = f"max_running_requests is not set: with speculation SGLang takes {DEFAULT_MAX_RUNNING_REQUESTS}"
    hint = f"Write {DEFAULT_MAX_RUNNING_REQUESTS} here and in the baseline."
    if launch.baseline is None:
        yield RULE.info(message, hint)
    else:
        yield RULE.warn(message, hint, f"the baseline: {other or 'not set'}")
