"""The KV pool was full and requests were put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="requests-retracted",
    title="The KV pool was full and requests were put back",
    why="A retracted request is computed again: a benchmark with one in it is not the server's speed.",
    source="SGLang's `KV cache pool is full. Retract requests.`, from 0.4.8 on",
)


def explain(log: LogContext) -> Iterator[Finding]:
    records = log.failures("retracted")
    if records:
        hint = "Send fewer or shorter requests at once, or raise --mem-fraction-static; drop what was measured."
        yield quoting(RULE.warn("the KV pool was full, requests were put back and computed again", hint), *records[:1])
