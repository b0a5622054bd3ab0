"""One writer at a time: a lock that the kernel frees when its holder dies, and that names the holder.

The writer lock of a node lies where other accounts see it (/run/lock, else the sticky /tmp). The lock of a patched
tree lies beside the tree, so that two nodes that share it exclude each other too (where the file system has flock).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from typing import Iterator, Optional, Tuple

from remote_agent.protocol import AgentError

_SHARED = ("/run/lock", "/tmp")


def node_lock_path(lock_dir: Optional[str], machine_id: str, fallback: str) -> Tuple[str, str]:
    """Where the writer lock lies and who sees it: ("/run/lock/...", "node") or (".../state/...", "user")."""
    name = f"spec-console-{machine_id[:16]}.lock"
    if lock_dir:
        return os.path.join(lock_dir, name), "user"
    for folder in _SHARED:
        if _is_shared(folder):
            return os.path.join(folder, name), "node"
    return os.path.join(fallback, name), "user"


def tree_lock_path(root: str) -> str:
    return os.path.join(os.path.dirname(root), f".{os.path.basename(root)}.spec-console.lock")


@contextlib.contextmanager
def hold(path: str, who: str, what: str) -> Iterator[None]:
    """Hold the lock for a change. Raises AgentError(locked) naming the holder, or permission."""
    fd = _acquire(path)
    try:
        _write_holder(fd, who, what)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(fd)


def holder(path: str) -> str:
    """Who seems to hold a lock, without touching it: what its file says, while that agent lives. Empty: nobody."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read(4096).decode())
            here = value["host"] == os.uname().nodename
            return "" if here and not os.path.exists(f"/proc/{int(value['pid'])}") else _holder(file.fileno())
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _acquire(path: str) -> int:
    while True:
        fd = _open(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _holder(fd)
            os.close(fd)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise AgentError("failed", f"{path} cannot be locked: {error.strerror}") from None
            raise AgentError(
                "locked", f"another console is changing this: {holder}", "Wait for it, or ask its operator."
            ) from None
        if _is_current(fd, path):
            return fd
        os.close(fd)


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags | os.O_CREAT, 0o644)
        except PermissionError:
            if not os.path.lexists(path):
                raise
            # Another account's file in a sticky folder: it can still be locked through a read-only handle.
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise AgentError("permission", f"the lock {path} cannot be opened: {error.strerror}") from None


def _is_current(fd: int, path: str) -> bool:
    """The holder before us may have removed the file between our open and our lock."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(fd), there)


def _write_holder(fd: int, who: str, what: str) -> None:
    text = json.dumps(
        {
            "operator": who,
            "doing": what,
            "pid": os.getpid(),
            "host": os.uname().nodename,
            "since": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        }
    )
    with contextlib.suppress(OSError):
        os.fchmod(fd, 0o644)
        os.ftruncate(fd, 0)
        os.pwrite(fd, text.encode(), 0)


def _holder(fd: int) -> str:
    try:
        value = json.loads(os.pread(fd, 4096, 0).decode())
        since = f", since {value['since']} UTC" if "since" in value else ""
        return f"{value['operator']}, {value['doing']} (agent pid {value['pid']} on {value['host']}{since})"
    except (OSError, ValueError, KeyError, TypeError):
        return "holder unknown"


def _is_shared(folder: str) -> bool:
    try:
        info = os.stat(folder)
    except OSError:
        return False
    return bool(info.st_mode & stat.S_ISVTX) and os.access(folder, os.W_OK)
