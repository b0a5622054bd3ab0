"""The limit on open files is below what SGLang sets for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="open-files-low",
    title="The limit on open files is below what SGLang sets for itself",
    why="SGLang raises its own limit to 65,535 and only warns where the hard limit forbids it; many "
    "connections then end in `Too many open files`.",
    source="SGLang, set_ulimit, target_soft_limit=65535; read in 0.5.20",
)

WANTED = 65535


def check_node(context: LaunchContext) -> Iterator[Finding]:
    facts = hardware.on_gpus(context)
    _soft, hard = (facts.limits.get("nofile") if facts else None) or (-1, -1)
    if 0 <= hard < WANTED:
        hint = "Raise the hard limit: limits.conf or the container's --ulimit nofile, then connect anew."
        yield RULE.warn(f"the hard limit on open files is {hard}, and SGLang wants {WANTED}", hint)
