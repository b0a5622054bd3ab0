"""SGLang will use another number of draft tokens than asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.speculation import draft_tokens
from console.lint import asks
from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="draft-tokens-adjusted",
    title="SGLang will use another number of draft tokens than asked for",
    why=(
        "With topk 1 a draft is a chain, whose verify holds steps + 1 tokens; rates reckoned with the number asked"
        " for are wrong."
    ),
    source=(
        "server_args.py 0.5.9 l.2448, 0.5.12 l.3833; arg_groups/speculative_hook.py 0.5.15 l.445, 0.5.23 l.1260; "
        "case B19"
    ),
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    wanted, gets = asked.number("speculative-num-draft-tokens"), draft_tokens(asked)
    if wanted is not None and gets is not None and wanted != gets:
        steps = gets - 1
        message = f"--speculative-num-draft-tokens {wanted} becomes {gets}: with topk 1 it is steps + 1 ({steps} + 1)"
        hint = f"Write {gets}, or --speculative-num-steps {wanted - 1}." if wanted > 1 else f"Write {gets}."
        yield RULE.warn(message, hint, f"steps {steps}, topk 1")


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.of_kind("notice"):
        if record.fields["about"] != "draft_tokens_adjusted":
            continue
        steps, gets = log.number("speculative_num_steps"), log.number("speculative_num_draft_tokens")
        gets = steps + 1 if steps is not None else gets
        asked = log.launch.asked.number("speculative-num-draft-tokens") if log.launch else None
        told = f"{asked} became {gets}" if asked and gets else f"they are {gets} now" if gets else "now steps + 1"
        message = f"SGLang changed the number of draft tokens: {told} (topk is 1)"
        yield quoting(RULE.warn(message, "Reckon rates with that number, and write it into the profile."), record)
        return
