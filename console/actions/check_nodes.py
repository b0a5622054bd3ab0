"""What the configuration of nodes leads to, without connecting: the place, the transport and why, the profile."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.config import DEMO, LOCAL, node_config
from console.errors import Unreachable
from console.remote.transports import ssh_config
from console.remote.transports.auto import needs_openssh
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from console.config import NodeConfig
    from console.launch.library import Library


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found for one node."""

    name: str
    transport: str
    place: str = ""
    """user@host:port, behind which jump hosts; empty for this machine, or where `ssh` is not there to ask."""
    why: tuple[str, ...] = ()
    """What the configuration needs OpenSSH's client for."""
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


async def check_nodes(nodes: Mapping[str, NodeConfig], names: Sequence[str], library: Library) -> list[Checked]:
    """Check the named nodes, or all that have an entry. Raises UsageError for what is no node's name."""
    wanted = names or tuple(nodes)
    profiles = tuple(library.names())
    return [await check_node(name, node_config(dict(nodes), name), profiles) for name in wanted]


async def check_node(name: str, node: NodeConfig, profiles: Iterable[str]) -> Checked:
    """Check one node; `profiles` are the names that there are."""
    problems = _profile_problems(node, profiles)
    if name in (DEMO, LOCAL) or node.transport == "local":
        return Checked(name, "local", problems=problems)
    host, user = node.address(name)
    try:
        why = await needs_openssh(host, user)
        place = await _place(host, user)
    except Unreachable as error:
        return Checked(name, node.transport, problems=(*problems, error.message))
    transport = node.transport if node.transport != "auto" else "openssh" if why else "asyncssh"
    overlooked = why if transport not in ("auto", "openssh") else ()
    ignored = tuple(f"{transport} was chosen, and {each}: that needs openssh" for each in overlooked)
    return Checked(name, transport, place, why, (*problems, *ignored))


def _profile_problems(node: NodeConfig, profiles: Iterable[str]) -> tuple[str, ...]:
    if node.profile is None or node.profile in profiles:
        return ()
    near = nearest(node.profile, profiles)
    return (f"there is no profile {node.profile!r}{f' (nearest: {near})' if near else ''}",)


async def _place(host: str, user: str | None) -> str:
    if ssh_config.ssh_program() is None:
        return ""
    config = await ssh_config.effective(host, ("-l", user) if user else ())
    there = "{}@{}:{}".format(*(ssh_config.first(config, option) for option in ("user", "hostname", "port")))
    jumps = ssh_config.first(config, "proxyjump")
    return f"{there} through {jumps}" if jumps else there
