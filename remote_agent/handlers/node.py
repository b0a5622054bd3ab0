"""What the node is: facts, the installed SGLang, paths, ports, processes by words in their command line."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import subprocess
import tempfile
from typing import Any, Dict, List, Optional, Set

from remote_agent import git, lock, processes, state_dir
from remote_agent import server_flags as flags_of_server
from remote_agent.node import Node
from remote_agent.protocol import (
    AgentError,
    NodeFacts,
    PathFacts,
    PortFacts,
    ProcessInfo,
    ServerFlags,
    SGLangFacts,
)
from remote_agent.request import Request, method

PYTHON_TIMEOUT_S = 60.0
_LISTEN = "0A"
_WINDING_DOWN = ("04", "05", "06", "08", "09", "0B")
"""FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSE_WAIT, LAST_ACK, CLOSING (include/net/tcp_states.h)."""

# Run by the serving Python. Looks, never imports: importing sglang loads torch.
_LOOK = """
import importlib.metadata as m, importlib.util as u, json, os, platform, re
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
names = ("torch", "sglang-kernel", "sgl-kernel", "flashinfer-python", "transformers", "triton", "nvidia-nccl-cu12")
def places(name):
    spec = u.find_spec(name)
    return list(spec.submodule_search_locations or []) if spec else []
def torch_cuda():
    try: text = open(os.path.join(places("torch")[0], "version.py")).read()
    except (IndexError, OSError, ValueError): return None
    found = re.search(r"^cuda\\b.*?= *[\\x27\\x22]([0-9.]+)", text, re.M)
    return found.group(1) if found else None
root = (places("sglang") or [None])[0]
print(json.dumps({"python_version": platform.python_version(), "version": version("sglang"),
    "root": root, "torch_cuda": torch_cuda(),
    "packages": {n: version(n) for n in names if version(n)}}))
"""


@method()
def ping(node: Node, request: Request) -> None:
    """Answer: the heartbeat."""


@method()
def facts(node: Node, request: Request) -> NodeFacts:
    fallback = node.state_path or "/tmp"
    path, scope = lock.node_lock_path(node.options.lock_dir, state_dir.machine_id(), fallback)
    return NodeFacts(
        hostname=socket.gethostname(),
        user=processes.user_name(os.geteuid()),
        uid=os.geteuid(),
        kernel=platform.release(),
        os=_os_name(),
        cpu_count=os.cpu_count() or 0,
        memory_total_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        machine_id=state_dir.machine_id(),
        boot_id=processes.boot_id(),
        state_dir=node.state_path,
        cache_dir=os.path.dirname(node.agent_path) if node.agent_path else None,
        home=os.path.expanduser("~"),
        lock_scope=scope,
        pidfd=processes.has_pidfd(),
        gpu_source=node.gpu.name,
        gpu_source_reason=node.gpu.reason,
        pid_namespace=processes.pid_namespace(os.getpid()),
        lock_holder=lock.holder(path),
    )


@method()
def sglang(node: Node, request: Request) -> SGLangFacts:
    """The SGLang that `python` would import under `env`."""
    python, env = request.get("python", str), request.get("env", dict, {})
    try:
        told = json.loads(_run([python, "-c", _LOOK], dict(os.environ, **env)))
    except (_RunError, ValueError) as error:
        return SGLangFacts(python=python, python_version="", version=None, root=None, error=str(error))
    why = "" if told["root"] else "no package sglang on its path"
    return SGLangFacts(python=python, error=why, **dict(told, **_git(told["root"])))


@method()
def server_flags(node: Node, request: Request) -> ServerFlags:
    """The flags of the SGLang in `root`, as far as they were asked for already; never waits."""
    python, root, env = request.get("python", str), request.get("root", str), request.get("env", dict, {})
    state = None if node.readonly_reason else node.state
    return flags_of_server.read(state, python, root, {str(key): str(value) for key, value in env.items()})


@method()
def paths(node: Node, request: Request) -> List[PathFacts]:
    return [_path_facts(str(path)) for path in request.get("paths", list)]


@method()
def ports(node: Node, request: Request) -> List[PortFacts]:
    return [_port_facts(_port(value)) for value in request.get("ports", list)]


@method()
def processes_(node: Node, request: Request) -> List[ProcessInfo]:
    """Processes whose command line or name contains one of `words`; our own agent left out."""
    words = [str(word) for word in request.get("words", list)]
    found = (processes.info(pid) for pid in processes.pids() if pid != os.getpid() and processes.says(pid, words))
    return [each for each in found if each]


@method()
def inspect(node: Node, request: Request) -> List[ProcessInfo]:
    """The processes of `pids` that are there now."""
    found = (processes.info(pid) for pid in request.get("pids", list) if isinstance(pid, int))
    return [each for each in found if each]


def _os_name() -> str:
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            lines = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        return lines.get("PRETTY_NAME", "Linux").strip('"')
    except (OSError, UnicodeDecodeError):
        return "Linux"


class _RunError(Exception):
    pass


def _run(argv: List[str], env: Optional[Dict[str, str]] = None) -> str:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PYTHON_TIMEOUT_S,
            env=env,
        )
    except OSError as error:
        raise _RunError(f"{argv[0]} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _RunError(f"{argv[0]} did not answer within {PYTHON_TIMEOUT_S:.0f} s") from None
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise _RunError(f"{argv[0]} exited {done.returncode}: {''.join(last)[:300]}")
    return done.stdout.decode("utf-8", "replace")


def _git(root: Optional[str]) -> Dict[str, Any]:
    """A checkout may carry commits and edits that no version number tells."""
    if root is None:
        return {}
    folder = os.path.realpath(root)
    top = git.checkout_of(folder)
    try:
        if top is None or not git.tracks(top, folder):
            return {}
        head = git.ask(top, "rev-parse", "HEAD").decode().strip()
        told = git.ask(top, "status", "--porcelain", "--untracked-files=no", "--", git.inside(top, folder))
        dirty = bool(told.strip())
    except git.GitError:
        return {}
    return {"git_head": head, "git_dirty": dirty}


def _path_facts(path: str) -> PathFacts:
    parent = os.path.dirname(os.path.abspath(path)) or "/"
    while not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    try:
        usage = os.statvfs(parent)
        free: Optional[int] = usage.f_bavail * usage.f_frsize
    except OSError:
        free = None
    exists = os.path.lexists(path)
    kind = "dir" if os.path.isdir(path) else "file" if os.path.isfile(path) else "other" if exists else "missing"
    return PathFacts(
        path=path,
        kind=kind,
        readable=os.access(path, os.R_OK),
        writable=os.access(path, os.W_OK),
        creatable=not exists and _can_create_in(parent),
        nearest_parent=parent,
        free_bytes=free,
        size=os.path.getsize(path) if kind == "file" else None,
        real_path=os.path.realpath(path),
    )


def _can_create_in(folder: str) -> bool:
    """Try it: the mode bits say yes to root on file systems that say no."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _port(value: Any) -> int:
    if not isinstance(value, int) or not 0 < value < 65536:
        raise AgentError("invalid", f"not a TCP port: {value!r}")
    return value


def _port_facts(port: int) -> PortFacts:
    """Free means: a server could bind it now, on all addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
            return PortFacts(port=port, free=True, reason="", draining=_draining(port))
        except OSError as error:
            holders = [each for each in map(processes.info, _listeners(port)) if each]
            return PortFacts(
                port=port, free=False, reason=error.strerror or str(error), holders=holders, draining=_draining(port)
            )


def _listeners(port: int) -> List[int]:
    """Pids with a listening socket on the port, as far as their descriptors can be read."""
    inodes = _listening_inodes(port)
    found = []
    for pid in processes.pids() if inodes else []:
        with contextlib.suppress(PermissionError):
            if inodes.intersection(processes.open_files(pid)):
                found.append(pid)
    return found


def _listening_inodes(port: int) -> Set[str]:
    return {f"socket:[{row[9]}]" for row in _sockets(port) if row[3] == _LISTEN}


def _draining(port: int) -> int:
    return sum(row[3] in _WINDING_DOWN for row in _sockets(port))


def _sockets(port: int) -> List[List[str]]:
    """Rows of the kernel's TCP tables with this local port; [3] is the state, [9] the inode (proc(5))."""
    wanted = f":{port:04X}"
    rows: List[List[str]] = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table, encoding="ascii") as file:
            rows += [row for row in (line.split() for line in file) if len(row) > 9 and row[1].endswith(wanted)]
    return rows
