"""Acceptance is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="simulate-acc-len",
    title="Acceptance is simulated",
    why="Verify is told how many tokens to accept: the figure is a ceiling, and the text is filler.",
    source=(
        "SIMULATE_ACC_LEN in 0.4.6.post1 to 0.5.2, SGLANG_SIMULATE_ACC_LEN from 0.5.3 on (srt/environ.py; a value "
        "over 0 switches it on); case E12"
    ),
)


def check(launch: Launch) -> Iterator[Finding]:
    for name in ("SGLANG_SIMULATE_ACC_LEN", "SIMULATE_ACC_LEN"):
        value = launch.asked.env.get(name, "").strip()
        if value and not value.startswith("-") and value.strip("0.") != "":
            hint = f"Leave {name} out, but for measuring what a perfect draft would give."
            yield RULE.error("acceptance is simulated: no probe of this server measures the draft", hint, f"{name} set")


def explain(log: LogContext) -> Iterator[Finding]:
    if log.launch is not None and log.history.stats.accept_len.count:
        yield from check(log.launch)
