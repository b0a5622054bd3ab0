"""A tree of drafts (topk > 1) and a worker that takes chains only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.releases import is_within
from console.launch.speculation import EAGLE_LIKE
from console.lint import asks
from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="topk-needs-v1",
    title="A tree of drafts (topk > 1) and a worker that takes chains only",
    why="Worker v2 took chains only up to 0.5.12.post1: a tree with it fails at the start or in the first forward.",
    source=(
        "server_args.py 0.5.7 to 0.5.10.post1 ('Spec v2 currently only supports topk = 1'), 0.5.12 l.3748; sgl-"
        "project/sglang issues 13352, 14077; case A17"
    ),
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    topk = asked.number("speculative-eagle-topk") or 1
    if topk <= 1 or asked.algorithm not in EAGLE_LIKE:
        return
    forced = asked.has("enable-beta-spec") or asked.switched_on("SGLANG_ENABLE_SPEC_V2")
    if forced and is_within(launch.version, last="0.5.10.post1") is not False:
        by = "--enable-beta-spec" if asked.has("enable-beta-spec") else "SGLANG_ENABLE_SPEC_V2"
        hint = "Write --speculative-eagle-topk 1, or leave the switch out."
        yield RULE.error(f"topk {topk} with worker v2 ({by}), which takes topk 1 only", hint)
    elif is_within(launch.version, "0.5.11", "0.5.12.post1") and not asked.has("disable-overlap-schedule"):
        hint = "A baseline is the same engine only with --disable-overlap-schedule."
        yield RULE.info(f"topk {topk} runs on worker v1, without the overlap scheduler", hint)


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.errors("concatenate"):
        rows, got = record.fields["expected"], record.fields["got"]
        topk = log.number("speculative_eagle_topk")
        if record.fields["dimension"] not in (1, -1) or topk == 1:
            continue
        steps, tokens = log.number("speculative_num_steps"), log.number("speculative_num_draft_tokens")
        one = f"{rows} = steps + 1" if steps is None or rows == steps + 1 else f"{rows} (steps are {steps})"
        two = f"{got} = draft tokens" if tokens is None or got == tokens else f"{got} (draft tokens are {tokens})"
        message = f"a chain of {one} met a tree of {two}: spec v2 takes topk 1 only"
        message += f", topk is {topk}" if topk is not None else ""
        hint = "Write --speculative-eagle-topk 1, or switch spec v2 off (SGLANG_ENABLE_SPEC_V2, --enable-beta-spec)."
        yield quoting(RULE.error(message, hint), record)
        return
