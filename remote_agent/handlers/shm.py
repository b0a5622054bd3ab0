"""/dev/shm: what lies there, who holds it, and removing what the console chose, each entry checked again.

SGLang, NCCL and loky leave entries behind when they are killed (peers.md 5); a full tmpfs makes the next start die of
SIGBUS. Which names are leftovers is the console's judgement; that nobody holds an entry is checked here.
"""

from __future__ import annotations

import os
import stat
import time
from typing import Dict, List, Set, Tuple

from remote_agent import processes
from remote_agent.gpu.sanity import FIRST_PID_NAMESPACE
from remote_agent.node import Node
from remote_agent.protocol import AgentError, ShmEntry, ShmList, Swept, SweptList
from remote_agent.request import Request, method

ROOT = "/dev/shm"


@method()
def list_(node: Node, request: Request) -> ShmList:
    holders, unreadable = _holders()
    entries = []
    for name in sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []:
        try:
            info = os.lstat(os.path.join(ROOT, name))
        except OSError:
            continue
        if stat.S_ISREG(info.st_mode):
            entries.append(
                ShmEntry(
                    name=name,
                    size=info.st_size,
                    uid=info.st_uid,
                    user=processes.user_name(info.st_uid),
                    inode=info.st_ino,
                    age_s=round(max(0.0, time.time() - info.st_mtime), 1),
                    held_by=sorted(holders.get(name, set())),
                )
            )
    return ShmList(unreadable, _foreign_namespace(), processes.pids(), entries)


@method(mutates=True)
def sweep(node: Node, request: Request) -> SweptList:
    """Remove `entries` ({name, inode}) that are this account's, still the same, and held by nobody that can be seen."""
    why_not = _foreign_namespace()
    if why_not:
        raise AgentError("refused", f"nothing is swept here: {why_not}", "Look at it from the host.")
    holders, unreadable = _holders()
    results = []
    for wanted in request.get("entries", list):
        if not isinstance(wanted, dict) or "/" in str(wanted.get("name", "/")):
            raise AgentError("invalid", "an entry is {name, inode}")
        results.append(_sweep(str(wanted["name"]), wanted.get("inode"), holders, unreadable))
    return SweptList(results)


def _sweep(name: str, inode: object, holders: Dict[str, Set[int]], unreadable: int) -> Swept:
    path = os.path.join(ROOT, name)
    try:
        info = os.lstat(path)
    except OSError:
        return Swept(name, "gone")
    if info.st_ino != inode or not stat.S_ISREG(info.st_mode):
        return Swept(name, "changed", "it is another file now")
    if info.st_uid != os.geteuid():
        return Swept(name, "denied", f"it belongs to {processes.user_name(info.st_uid)}")
    if holders.get(name):
        return Swept(name, "held", f"pids {sorted(holders[name])} hold it")
    if unreadable and os.geteuid() == 0:
        return Swept(name, "held", f"{unreadable} processes could not be looked into")
    os.unlink(path)
    return Swept(name, "removed")


def _holders() -> Tuple[Dict[str, Set[int]], int]:
    """Pids by entry name, from open files and maps; and how many processes could not be looked into."""
    found: Dict[str, Set[int]] = {}
    unreadable = 0
    prefix = ROOT + "/"
    for pid in processes.pids():
        try:
            names = [*processes.open_files(pid), *processes.mapped_files(pid)]
        except PermissionError:
            # A sealed init is no reason to keep what a dead SGLang left: it opens nobody's shared memory.
            unreadable += pid != 1
            continue
        except OSError:
            continue
        for name in names:
            if name.startswith(prefix):
                found.setdefault(name[len(prefix) :].split(" ", 1)[0], set()).add(pid)
    return found, unreadable


def _foreign_namespace() -> str:
    """Why a pid that is not here may still live: ours is not the host's namespace, or another uses this tmpfs."""
    own = processes.pid_namespace(os.getpid())
    if own != FIRST_PID_NAMESPACE:
        return "the agent runs in a pid namespace of its own (a container): pids of the host cannot be seen"
    try:
        device = os.stat(ROOT).st_dev
    except OSError:
        return f"{ROOT} cannot be looked at"
    sharing: List[int] = []
    for pid in processes.pids():
        theirs = processes.pid_namespace(pid)
        if theirs is None or theirs == own:
            continue
        try:
            if os.stat(f"/proc/{pid}/root{ROOT}").st_dev == device:
                sharing.append(pid)
        except OSError:
            continue
    return f"pid {sharing[0]} of another pid namespace shares {ROOT}" if sharing else ""
