"""From a node's configuration to an open session."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from console.errors import STARTED_READONLY
from console.remote import bundle
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session

if TYPE_CHECKING:
    from console.config import NodeConfig
    from console.remote.prompts import Ask
    from console.remote.transport import Transport

_SSH = {
    "auto": "auto.AutoTransport",
    "asyncssh": "asyncssh_.AsyncsshTransport",
    "openssh": "openssh.OpensshTransport",
    "paramiko": "paramiko_.ParamikoTransport",
}


def make_session(
    name: str,
    node: NodeConfig,
    *,
    readonly: bool,
    accept_new_host_key: bool,
    reconnect: bool,
    ask: Ask | None = None,
) -> Session:
    """Build the session; nothing is connected yet. Without `ask` nothing is asked of anybody while connecting."""
    settings = AgentSettings(
        python=node.python[0] if node.python else None,
        exec_prefix=node.exec_prefix,
        cache_dir=node.cache_dir,
        args=node.agent_args(),
        readonly=STARTED_READONLY if readonly else "",
    )
    transport = make_transport(name, node, accept_new_host_key=accept_new_host_key, ask=ask)
    return Session(transport, bundle.build(), settings, reconnect=reconnect)


def make_transport(name: str, node: NodeConfig, *, accept_new_host_key: bool, ask: Ask | None = None) -> Transport:
    """The way to a node, not gone yet."""
    # Each library is imported only where its transport is used: asyncssh alone takes 180 ms.
    if node.transport == "local":
        from console.remote.transports.local import LocalTransport

        return LocalTransport(node.env if node.simulated else None)
    module, _, kind = _SSH[node.transport].partition(".")
    made = getattr(importlib.import_module(f"console.remote.transports.{module}"), kind)
    host, user = node.address(name)
    transport: Transport = made(host, user=user, accept_new_host_key=accept_new_host_key, ask=ask)
    return transport
