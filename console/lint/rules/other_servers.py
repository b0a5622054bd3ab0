"""Other SGLang servers run on the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch import asked as asking
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding
    from console.node.holders import Holder

RULE = Rule(
    id="other-servers",
    title="Other SGLang servers run on the node",
    why="They share its CPUs, PCIe, power and /dev/shm: a number measured beside them is not the node's.",
    source="processes by SGLang's titles (`sglang::scheduler_TP0`), and run records of the node",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    groups: dict[str, list[Holder]] = {}
    for each in context.holders:
        if each.role and each.process and each.process.state not in ("Z", "X"):
            groups.setdefault(each.run_id or f"of session {each.process.sid}", []).append(each)
    mine = {gpu.index for gpu in context.gpus}
    told = [_told(context, name, group) for name, group in groups.items() if not mine & _gpus(group)]
    if told:
        more = f"; and {len(told) - 1} more" if told[1:] else ""
        message = f"another SGLang server runs on this node: {told[0]}{more}"
        yield RULE.info(message, "Measure when it is idle or gone.", "\n".join(told))


def _gpus(group: Iterable[Holder]) -> set[int]:
    return {index for each in group for index in each.gpus}


def _told(context: LaunchContext, name: str, group: list[Holder]) -> str:
    ports = [run.port for run in context.runs if run.run_id == name] or [port for port in map(_port, group) if port]
    port = f"port {ports[0]}, " if ports else ""
    indexes = ", ".join(map(str, sorted(_gpus(group))))
    gpus = f"GPUs {indexes}" if indexes else "no GPU"
    owner = group[0].operator or (group[0].process.user if group[0].process else "?")
    return f"{name}: {port}{gpus}, {owner}"


def _port(holder: Holder) -> int | None:
    """As the launcher's command line has it; SGLang's default where it says none."""
    if holder.role != "launcher" or holder.process is None:
        return None
    return asking.read(holder.process.argv).number("port") or 30000
