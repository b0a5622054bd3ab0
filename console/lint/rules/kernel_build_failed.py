"""A kernel could not be compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="kernel-build-failed",
    title="A kernel could not be compiled",
    why="flashinfer and others compile at the first start. It ends as `Capture cuda graph failed`, with advice on "
    "memory that does not apply.",
    source="seen on 1 × H200, SGLang 0.5.12.post1: a source file of flashinfer was missing",
)

_SIGNS = ("Ninja build failed", "Command '['ninja'", "nvcc fatal", "Error building extension")


def explain(log: LogContext) -> Iterator[Finding]:
    thrown = [
        record
        for record in log.trouble("traceback", "failure", "torch_error")
        if any(sign in str(record.fields.get("sentence", "")) for sign in _SIGNS)
    ]
    said = [record for record in log.trouble("kernel_build") if record.fields["part"] == "error"]
    if not thrown:
        return
    why = f": {str(said[0].fields['sentence'])[:200]}" if said else ""
    hint = "Look at the compiler's line above; nvcc, ninja and the package's sources must fit the installed torch. "
    hint += "The log's advice on --mem-fraction-static does not apply."
    yield quoting(RULE.error(f"a kernel could not be compiled{why}", hint), thrown[0], *said[:2])
