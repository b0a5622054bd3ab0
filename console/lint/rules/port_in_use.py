"""The HTTP port is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule
from console.node.holders import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="port-in-use",
    title="The HTTP port is taken",
    why="SGLang loads everything first and only then finds the port taken: half a minute on a small model.",
    source="uvicorn's bind error, seen on 2 × H200, SGLang 0.5.12.post1, and on 0.5.20; cases B01, B03",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    port = context.port
    if port.free:
        return
    ours = {member.identity: run.run_id for run in context.runs for member in run.children}
    holders = [
        f"server {ours[each.identity]}" if each.identity in ours else describe(each) for each in port.holders
    ] or ["a process that cannot be seen from this account"]
    hint = "Stop it (`stop NODE`), or --set port=…"
    yield RULE.error(f"port {port.port} is held by {'; '.join(holders)}", hint, port.reason)


def explain(log: LogContext) -> Iterator[Finding]:
    bound = [record for record in log.of_kind("uvicorn") if record.fields["event"] == "bind_error"]
    refused = [*bound, *log.failures("port_in_use")]
    waited = [record for record in log.of_kind("notice") if record.fields["about"] == "port_wait"]
    for record in refused or waited:
        port, what = record.fields.get("port"), record.fields.get("what") or "port"
        message = f"{what} {port} is taken" if port else "a port is taken"
        if holder := record.fields.get("holder_pid"):
            message += f" by pid {holder} ({record.fields.get('holder_status')}): {_argv(record.fields.get('holder'))}"
        if bound:
            message += "; it was tried only after everything was loaded"
        hint = "See who holds it (`status NODE`), stop that and wait until ports and memory are free (`free NODE`), "
        hint += "or take another port."
        made = RULE.error(message, hint) if refused else RULE.warn(f"{message}; the server waits for it", hint)
        yield quoting(made, record)
        return


def held_by(port: int, holders: str) -> Finding:
    """Of a server that said it was ready, while others answer at its port: its warm-up has asked them."""
    hint = "Stop that one (`status NODE` shows ours), or take another port: --set port=…"
    return RULE.error(f"port {port} is held by {holders}, which is what answers there", hint)


def _argv(printed: object) -> str:
    """`'python3', 'sglang', 'serve'` as a line, cut."""
    return " ".join(word.strip("'\"") for word in str(printed).split(", "))[:200]
