"""Processes by /proc: identity that survives pid reuse, trees and sessions, signals by pidfd.

A pid alone names nobody: an identity is (pid, start ticks, boot id), and every signal re-checks it.
"""

from __future__ import annotations

import functools
import os
import pwd
import re
import signal
from typing import Dict, List, Optional, Sequence, Set

from remote_agent.protocol import Identity, ProcessInfo

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
MAX_CMDLINE = 16 * 1024
MAX_ENVIRON = 1024 * 1024
_SECRET_FLAG = re.compile(r"^--?(?:.*[-_])?(?:api[-_]?key|token|password|secret)$", re.IGNORECASE)


@functools.lru_cache(maxsize=1)
def boot_id() -> str:
    return _read("/proc/sys/kernel/random/boot_id").strip()


def pids() -> List[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def identity(pid: int) -> Optional[Identity]:
    """Who has this pid now; None when nobody has."""
    stat = _stat(pid)
    return Identity(pid, int(stat[19]), boot_id()) if stat else None


def is_same(who: Identity) -> bool:
    """Is the process of this identity still there (a zombie counts as there)?"""
    return identity(who.pid) == who


def is_alive(who: Identity) -> bool:
    """Is it there and not a zombie? A zombie holds no memory and cannot be signalled away."""
    stat = _stat(who.pid)
    return bool(stat) and int(stat[19]) == who.start_ticks and stat[0] not in "ZX" and who.boot_id == boot_id()


def info(pid: int) -> Optional[ProcessInfo]:
    """Everything /proc says of a process; None when it is gone."""
    stat = _stat(pid)
    if not stat:
        return None
    uid = _uid(pid)
    if uid is None:
        return None
    raw = _read_bytes(f"/proc/{pid}/cmdline", MAX_CMDLINE)
    argv = masked([part.decode("utf-8", "replace") for part in raw.rstrip(b"\0 ").split(b"\0")] if raw else [])
    comm = _read(f"/proc/{pid}/comm").rstrip("\n")
    loginuid = _read(f"/proc/{pid}/loginuid").strip()
    return ProcessInfo(
        identity=Identity(pid, int(stat[19]), boot_id()),
        ppid=int(stat[1]),
        pgid=int(stat[2]),
        sid=int(stat[3]),
        uid=uid,
        user=user_name(uid),
        comm=comm,
        argv=argv,
        state=stat[0],
        age_s=round(max(0.0, _uptime() - int(stat[19]) / _TICKS), 2),
        cwd=_link(f"/proc/{pid}/cwd"),
        loginuid=int(loginuid) if loginuid.isdigit() and loginuid != "4294967295" else None,
        cgroup=_cgroup(pid),
        rss_bytes=int(stat[21]) * _PAGE,
        pid_namespace=pid_namespace(pid),
    )


def _uid(pid: int) -> Optional[int]:
    """The account that it acts as. /proc/PID itself is root's for one that changed its account and is not dumpable."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[2])
    return None


def environ(pid: int) -> Optional[Dict[str, str]]:
    """The environment that a process was started with; None where its title was written over it.

    setproctitle puts a title into the memory of argv and environment, and zeros behind it, unless SPT_NOENV was set
    when the process started (its documentation; seen with 1.3.8). Raises OSError when we may not look or it is gone.
    """
    with open(f"/proc/{pid}/environ", "rb") as file:
        raw = file.read(MAX_ENVIRON)
    entries = [part.decode("utf-8", "replace").partition("=") for part in raw.rstrip(b"\0").split(b"\0")]
    if not raw.rstrip(b"\0") or not (entries[0][0] and entries[0][1]):
        return None
    return {name: value for name, equals, value in entries if equals}


def masked(argv: List[str]) -> List[str]:
    """A command line without the values of flags that carry secrets: they do not leave the node."""
    shown = list(argv)
    for index, word in enumerate(argv):
        flag, equals, _value = word.partition("=")
        if not _SECRET_FLAG.search(flag):
            continue
        if equals:
            shown[index] = flag + "=***"
        elif index + 1 < len(argv):
            shown[index + 1] = "***"
    return shown


def pid_namespace(pid: int) -> Optional[int]:
    link = _link(f"/proc/{pid}/ns/pid")
    return int(link[5:-1]) if link and link.startswith("pid:[") else None


def mapped_files(pid: int) -> List[str]:
    """Paths that a process has mapped. Raises PermissionError when we may not look."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n").split(None, 5)[5] for line in file if line.count(" ") >= 5 and "/" in line]
    except FileNotFoundError:
        return []
    except ProcessLookupError:
        return []


def says(pid: int, words: Sequence[str]) -> bool:
    """Is one of the words in its command line or name? Cheaper than `info`, for a look through all processes."""
    line = _read_bytes(f"/proc/{pid}/cmdline", MAX_CMDLINE).replace(b"\0", b" ").decode("utf-8", "replace")
    name = _read(f"/proc/{pid}/comm")
    return any(word in line or word in name for word in words)


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


Stats = Dict[int, List[str]]
"""By pid the fields of /proc/PID/stat after the name: 0 state, 1 ppid, 2 pgrp, 3 session, 19 start, 21 rss."""


def stats() -> Stats:
    """All processes, read once: a node has thousands."""
    found = ((pid, _stat(pid)) for pid in pids())
    return {pid: stat for pid, stat in found if stat}


def session_members(sid: int, since_ticks: int, among: Stats) -> List[int]:
    """Living processes of a session that began at or after `since_ticks` (a session id can be reused)."""
    return [
        pid
        for pid, stat in among.items()
        if int(stat[3]) == sid and int(stat[19]) >= since_ticks and stat[0] not in "ZX"
    ]


def descendants(root: int, among: Stats) -> List[int]:
    """The tree below a pid, without it."""
    children: Dict[int, List[int]] = {}
    for pid, stat in among.items():
        children.setdefault(int(stat[1]), []).append(pid)
    found: List[int] = []
    seen: Set[int] = {root}
    queue = [root]
    while queue:
        for child in children.get(queue.pop(), []):
            if child not in seen:
                seen.add(child)
                found.append(child)
                queue.append(child)
    return found


def ancestors(pid: int) -> List[int]:
    """The processes above a pid, the nearest first; PID 1 last, where it is one of them."""
    found: List[int] = []
    stat = _stat(pid)
    while stat and int(stat[1]) > 0 and int(stat[1]) not in found:
        found.append(int(stat[1]))
        stat = _stat(found[-1])
    return found


def open_files(pid: int) -> List[str]:
    """What the descriptors of a process point to. Raises PermissionError when we may not look."""
    try:
        folder = os.open(f"/proc/{pid}/fd", os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return []
    try:
        links = (_link(name, folder) for name in os.listdir(folder))
        return [link for link in links if link]
    except ProcessLookupError:
        return []
    finally:
        os.close(folder)


def send_signal(who: Identity, number: int) -> bool:
    """Signal exactly this process. False when it is gone. Raises PermissionError when we may not.

    With a pidfd (Linux 5.3, Python 3.9) the identity is checked after the handle is held, so that a reused pid
    cannot be hit; without one the check comes immediately before the signal.
    """
    if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
        if not is_same(who):
            return False
        return _kill(who.pid, number)
    try:
        fd = os.pidfd_open(who.pid)
    except ProcessLookupError:
        return False
    except OSError:
        return _kill(who.pid, number) if is_same(who) else False
    try:
        if not is_same(who):
            return False
        signal.pidfd_send_signal(fd, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)


def has_pidfd() -> bool:
    if not hasattr(os, "pidfd_open"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _kill(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _stat(pid: int) -> List[str]:
    text = _read(f"/proc/{pid}/stat")
    return text[text.rfind(")") + 2 :].split() if text else []


def _cgroup(pid: int) -> Optional[str]:
    lines = _read(f"/proc/{pid}/cgroup").splitlines()
    return lines[-1].split(":", 2)[-1] if lines else None


def _uptime() -> float:
    return float(_read("/proc/uptime").split()[0])


def _link(path: str, folder: Optional[int] = None) -> Optional[str]:
    try:
        return os.readlink(path, dir_fd=folder)
    except OSError:
        return None


def _read(path: str) -> str:
    return _read_bytes(path, 1 << 20).decode("utf-8", "replace")


def _read_bytes(path: str, limit: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(limit)
    except OSError:
        return b""
