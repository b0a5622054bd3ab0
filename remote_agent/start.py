"""Serve one connection: claim fd 1 for the wire, say hello, answer until EOF."""

from __future__ import annotations

import hashlib
import os
import platform
import signal
import sys
import traceback
from typing import BinaryIO, List, Optional

from remote_agent import options, processes, state_dir
from remote_agent.node import Node
from remote_agent.protocol import EXIT_CRASHED, MAGIC, PROTOCOL, Hello
from remote_agent.server import Server
from remote_agent.wire import Wire


def main(argv: List[str]) -> int:
    """Run the agent; the exit code is 0 after EOF, EXIT_CRASHED when it could not start."""
    wire_out = _claim_stdout()
    os.umask(0o077)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        node = _open_node(argv)
        wire = Wire(sys.stdin.buffer, wire_out)
        wire.send_hello(_hello(node))
        Server(node, wire).run()
    except Exception:  # noqa: BLE001 - the last line of defence: say why, with a documented exit code
        traceback.print_exc()
        return EXIT_CRASHED
    return 0


def _claim_stdout() -> BinaryIO:
    """Keep the wire for us: a stray print anywhere goes to stderr."""
    wire_fd = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(wire_fd, "wb", buffering=0)


def _open_node(argv: List[str]) -> Node:
    opts = options.parse(argv)
    readonly = opts.readonly
    state: Optional[state_dir.StateDir] = None
    try:
        state = state_dir.open_state_dir(opts.state_dir)
    except state_dir.StateDirError as error:
        readonly = readonly or str(error)
    return Node(opts, state, readonly, own_path())


def own_path() -> Optional[str]:
    """The zip this agent runs from; None when it came through stdin."""
    path = os.path.abspath(sys.argv[0])
    return path if path.endswith(".pyz") else None


def _hello(node: Node) -> Hello:
    return Hello(
        magic=MAGIC,
        protocol=PROTOCOL,
        sha256=_own_hash(node.agent_path),
        pid=os.getpid(),
        python=platform.python_version(),
        boot_id=processes.boot_id(),
        machine_id=state_dir.machine_id(),
        readonly=bool(node.readonly_reason),
        readonly_reason=node.readonly_reason,
    )


def _own_hash(path: Optional[str]) -> str:
    if path is None:
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
