"""From a node's configuration to an open session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import UsageError
from console.remote import bundle
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session

if TYPE_CHECKING:
    from console.config import NodeConfig
    from console.remote.transport import Transport


def make_session(name: str, node: NodeConfig, *, readonly: bool, accept_new_host_key: bool, reconnect: bool) -> Session:
    """Build the session; nothing is connected yet. Raises UsageError for a transport that is not built in."""
    settings = AgentSettings(
        python=node.python[0] if node.python else None,
        exec_prefix=node.exec_prefix,
        cache_dir=node.cache_dir,
        args=(*node.agent_args(), *(("--readonly", "the console was started with --readonly") if readonly else ())),
    )
    return Session(_transport(name, node, accept_new_host_key), bundle.build(), settings, reconnect=reconnect)


def _transport(name: str, node: NodeConfig, accept_new_host_key: bool) -> Transport:
    # Each library is imported only where its transport is used: asyncssh alone takes 180 ms.
    if node.transport == "local":
        from console.remote.transports.local import LocalTransport

        return LocalTransport(node.env if node.simulated else None)
    if node.transport == "asyncssh":
        from console.remote.transports.asyncssh_ import AsyncsshTransport

        return AsyncsshTransport(node.ssh_name(name), accept_new_host_key=accept_new_host_key)
    raise UsageError(f"the transport {node.transport!r} of node {name!r} is not built in yet", "Use asyncssh.")
