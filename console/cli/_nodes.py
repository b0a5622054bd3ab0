"""From a NODE word to a connected node: the embedded node, this machine, or a name that ssh knows."""

from __future__ import annotations

import getpass
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from console import paths
from console.actions.node import Node
from console.cli._ask import terminal_ask
from console.cli._shared import say
from console.config import DEMO, NodeConfig, did_you_mean, load_nodes, node_config
from console.errors import Unreachable, UsageError
from console.launch.library import Library
from console.patches import folders
from console.remote.agent import Agent
from console.remote.connect import make_session
from console.store.journal import Journal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from console.cli._shared import Options
    from console.paths import Paths
    from console.remote.prompts import Ask
    from console.remote.session import Link, Session


@asynccontextmanager
async def open_node(name: str, options: Options, *, reconnect: bool, ask: Ask | None = None) -> AsyncIterator[Node]:
    """Connect to a node; hang up at the end. Raises Unreachable, AgentStartFailed, UsageError."""
    here = paths.locate()
    node = make_node(name, options, here, reconnect=reconnect, ask=ask or terminal_ask())
    session = node.agent.session
    if warning := node.journal.told_once():
        say(f"warning: {warning}")
    try:
        await _open(session, name, here)
        session.watch(lambda link: _tell(name, session, link))
        if node.config.simulated:
            say(f"SIMULATED: no GPU and no SGLang stand behind {name}")
        for why in getattr(session.transport, "why", ()):
            say(f"over {session.transport.name}: {why}")
        yield node
    finally:
        await session.close()
        node.journal.close()


async def _open(session: Session, name: str, here: Paths) -> None:
    """Raises as `open_node`."""
    try:
        await session.open()
    except Unreachable as error:
        did_you_mean(error, name, here.nodes_file)
        raise


def _tell(name: str, session: Session, link: Link) -> None:
    """A verb that goes on by itself over a lost link says so."""
    if link.name == "reconnecting":
        say(f"{name}: reconnecting: {link.reason}")
    elif link.name == "connected":
        say(f"{name}: connected again{f'; {session.meanwhile}' if session.meanwhile else ''}")


def make_node(name: str, options: Options, here: Paths, *, reconnect: bool, ask: Ask | None = None) -> Node:
    """Everything of a node but the connection. `ask` puts questions of the way there to the person."""
    config = configured(name, here)
    session = make_session(
        name,
        config,
        readonly=options.readonly,
        accept_new_host_key=options.accept_new_host_key,
        reconnect=reconnect,
        ask=ask,
    )
    return Node(
        name,
        config,
        Agent(session, operator()),
        Library(here.profiles),
        Journal(here.database),
        patches=folders.read(here.patches),
    )


def configured(name: str, here: Paths) -> NodeConfig:
    """The configuration of a node. Raises UsageError."""
    if name == DEMO:
        return _embedded(here)
    return node_config(load_nodes(here.nodes_file), name)


def profile_of(node: Node, named: str | None) -> str:
    """The profile that is named, else the node's own. Raises UsageError."""
    profile = named or node.config.profile
    if profile is None:
        raise UsageError("no profile is named", f"Name one, or set `profile:` for {node.name} in nodes.yaml.")
    return profile


def operator() -> str:
    """Who this console acts for: its user and host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


def _embedded(here: Paths) -> NodeConfig:
    from console.demo.setup import prepare

    demo = prepare(here.data / "demo")
    return NodeConfig(
        transport="local",
        python=(demo.python,),
        variables=demo.variables,
        sets=(f"port={demo.port}", "host=127.0.0.1"),
        env=demo.env,
        gpu_source="smi",
        nvidia_smi=str(demo.nvidia_smi),
        state_dir=str(demo.state_dir),
        cache_dir=str(demo.home / "cache"),
        lock_dir=str(demo.state_dir),
        simulated=True,
    )
