"""SGLang loads everything first and only then finds the port taken: 28 s on a small model, minutes on a big one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.finding import Finding
from console.node.free_plan import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext


def check(context: LaunchContext) -> Iterator[Finding]:
    port = context.port
    if port.free:
        return
    ours = {member.identity: run.run_id for run in context.runs for member in run.children}
    holders = [
        f"server {ours[each.identity]}" if each.identity in ours else describe(each) for each in port.holders
    ] or ["a process that cannot be seen from this account"]
    hint = "Stop it (`stop`), or --set port=…"
    yield Finding("port-in-use", "error", f"port {port.port} is held by {'; '.join(holders)}", hint, port.reason)
