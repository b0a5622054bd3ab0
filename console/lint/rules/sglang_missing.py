"""The serving Python must be there and have an sglang: a typo in `python:` shows only as exit 127 otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext


def check(context: LaunchContext) -> Iterator[Finding]:
    facts = context.sglang
    if facts.error:
        hint = "Set `python` of the profile, or the node's variables, to the Python that serves."
        yield Finding("sglang-missing", "error", f"no SGLang for {facts.python}: {facts.error}", hint)
