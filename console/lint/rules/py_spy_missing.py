"""py-spy is not on the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="py-spy-missing",
    title="py-spy is not on the node",
    why="When a collective hangs, SGLang's watchdog dumps the stacks with py-spy; without it the log says "
    "only that it hangs.",
    source="`Pyspy failed to dump`, case B08",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    facts = hardware.on_gpus(context)
    if facts and facts.programs.get("py-spy") == "":
        hint = "Install it where the server's PATH finds it."
        yield RULE.info("no py-spy on the server's PATH: a hang will leave no stacks", hint)
