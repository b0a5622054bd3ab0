"""Read back what a launched server really runs: the argv of its launcher, and the environment of each rank's process.

Nothing is believed because it was asked for. SGLang of 0.5.4 and older sets NCCL variables of its own over the user's
(sglang.md 7.1), a wrapper script may drop them, and a rank is another process than the launcher.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.launch.secrets import MASK
from console.node import titles
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from console.actions.node import Node
    from console.launch.command import Command
    from remote_agent.protocol import ProcessEnviron, ProcessInfo, ServerRun

KEEP_ENVIRON = "SPT_NOENV=1"
"""Set for the launches of a sweep: without it setproctitle, by which SGLang names its ranks, writes over what
/proc/PID/environ shows (its documentation; seen with 1.3.8)."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What was read of the processes of one launch."""

    wrong: tuple[str, ...] = ()
    """What is not as it was asked for, one sentence each."""
    ranks: int = 0
    """Processes of ranks that were read and are right."""
    unread: tuple[str, ...] = ()
    """Processes whose environment could not be read, and why."""
    asked: int = 0
    """Variables that were compared in each."""

    @property
    def ok(self) -> bool:
        return not self.wrong

    @property
    def proof(self) -> str:
        if self.wrong:
            return f"the server does not run what was asked for: {'; '.join(self.wrong)}"
        told = f"argv and {self.asked} variables read back: launcher and {self.ranks} ranks"
        return f"{told}; NOT of {'; '.join(self.unread)}" if self.unread else told


async def read_back(node: Node, server: ServerRun, command: Command, chosen: Sequence[str]) -> ReadBack:
    """Compare the processes of a server with the command that it was launched by.

    The launcher must have every variable of the launch; a rank must have the `chosen` ones, for SGLang itself gives
    ranks others. Secrets are compared for being set alone: their values do not leave the node.
    """
    wanted = command.masked_env()
    processes = await node.agent.environ(server.run_id, list(wanted))
    launcher = server.child.pid if server.child else None
    infos = {each.identity.pid: each for each in server.children}
    wrong, unread, ranks = list(_argv(infos.get(launcher or 0), command)), [], 0
    for each in processes:
        is_rank = _is_rank(infos.get(each.pid), each)
        if not is_rank and each.pid != launcher:
            continue
        if each.unread:
            unread.append(f"{_name(each)} ({plain(each.unread)})")
            continue
        names = list(wanted) if each.pid == launcher else [name for name in chosen if name in wanted]
        found = list(_differing(each, {name: wanted[name] for name in names}))
        wrong += found
        ranks += is_rank and not found
    if launcher is None or launcher not in {each.pid for each in processes}:
        wrong.append("its launcher is not there any more")
    return ReadBack(tuple(dict.fromkeys(wrong)), ranks, tuple(unread), len(wanted))


def _argv(launcher: ProcessInfo | None, command: Command) -> Iterator[str]:
    """Masked words are equal to anything; a launcher with a title of its own shows no argv."""
    shown = list(launcher.argv) if launcher else []
    if not shown or (len(shown) == 1 and titles.role(launcher) not in (None, "launcher")):  # type: ignore[arg-type]
        return
    asked = list(command.argv)
    if command.secret_config:
        shown = shown[: len(asked)]
    for at, word in enumerate(asked):
        if at >= len(shown) or shown[at] not in (word, MASK):
            found = plain(shown[at])[:80] if at < len(shown) else "nothing"
            yield f"word {at + 1} of its command is {found!r}, asked for {word[:80]!r}"
            return
    if len(shown) > len(asked):
        yield f"its command goes on with {plain(shown[len(asked)])[:80]!r}"


def _differing(process: ProcessEnviron, wanted: Mapping[str, str]) -> Iterator[str]:
    for name, value in wanted.items():
        found = process.values.get(name)
        if found == value[:4096]:
            continue
        told = "not set" if found is None else repr(plain(found)[:60])
        yield f"{name} is {told} in {_name(process)}, asked for {value[:60]!r}"


def _is_rank(info: ProcessInfo | None, process: ProcessEnviron) -> bool:
    return titles.role(info) == "scheduler" if info else "sglang::scheduler" in process.title


def _name(process: ProcessEnviron) -> str:
    return f"pid {process.pid} {plain(process.title)[:40].strip()}"
