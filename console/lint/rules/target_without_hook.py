"""The target's class cannot capture states for EAGLE-3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks, wired
from console.lint.evidence import quoting
from console.lint.rule import Rule
from console.wiring import targets
from console.wiring.setter import SETTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="target-without-hook",
    title="The target's class cannot capture states for EAGLE-3",
    why="EAGLE-3 calls set_eagle3_layers_to_capture on the target after minutes of loading. A class without it ends "
    "the launch; a wrapper may lack what the model inside it has.",
    source="models/*.py of 28 releases; sgl-project/sglang PR 19689 (Kimi-K2.5, 0.5.10); an AttributeError up to "
    "0.5.22, a ValueError from 0.5.23 on; case A10",
)


def check(launch: Launch) -> Iterator[Finding]:
    wants = wired.eagle3_draft(launch) is not None or asks.full(launch).algorithm == "EAGLE3"
    name = wired.target_class(launch)
    if not wants or name is None:
        return
    known, hint = targets.target(name), _hint(name)
    if launch.installed.has_hook is False:
        evidence = f"read in the installed {launch.installed.model_file}"
        yield RULE.error(f"the installed {name} has no {SETTER}", hint, evidence)
    elif launch.installed.has_hook is None and known and targets.is_before(known, launch.version):
        # A file that was read and does not decide (a base elsewhere) may still have it.
        tell = RULE.warn if launch.installed.model_file else RULE.error
        yield tell(f"{name} has no {SETTER} in SGLang {launch.version}", hint, "by the table of releases")
    elif launch.installed.has_hook is None and known is None:
        message = f"no release that was read is known to have EAGLE-3 for a target {name}"
        yield RULE.warn(message, f"Look for {SETTER} in its model file.", "by the table of releases")


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.trouble("traceback"):
        sentence = str(record.fields.get("sentence", ""))
        if _MISSING in sentence:
            name = sentence.partition(f" {_MISSING}")[0].rpartition(": ")[2].strip("'")
            yield quoting(RULE.error(f"{name} has no {SETTER} in this release", _hint(name)), record)
            return


_MISSING = f"object has no attribute '{SETTER}'"


def _hint(name: str) -> str:
    known = targets.target(name)
    if known is None:
        return "Run a target that has EAGLE-3 in this release."
    return f"{name} has it from {known.steps[0][0]} on."
