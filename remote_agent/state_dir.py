"""State on the node: one private folder by machine id, atomic writes, content-addressed blobs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import tempfile
from typing import Any, Dict, List, Optional

from remote_agent.protocol import AgentError
from remote_agent.steps import reached

_TEMPORARY = ".spec-console-"
_LEFTOVER = re.compile(re.escape(_TEMPORARY) + r"[a-z0-9_]{8}")
"""What `tempfile` makes of the prefix."""


class StateDirError(Exception):
    """The state directory cannot be used; the text says why."""


def machine_id() -> str:
    """The node's own id; homes are often on NFS, so everything is keyed by it."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text and all(c in "0123456789abcdef" for c in text):
            return text
    name = hashlib.sha256(os.uname().nodename.encode()).hexdigest()[:16]
    return f"host-{name}"


def default_path() -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "spec-console", machine_id())


def open_state_dir(path: Optional[str]) -> StateDir:
    """Create or check the folder: a real folder, ours, 0700, writable. Raises StateDirError."""
    path = os.path.abspath(path or default_path())
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        info = os.lstat(path)
        if not stat.S_ISDIR(info.st_mode):
            raise StateDirError(f"{path} is not a folder")
        if info.st_uid != os.geteuid():
            raise StateDirError(f"{path} belongs to uid {info.st_uid}, not to us")
        os.chmod(path, 0o700)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise StateDirError(f"{path} cannot be written: {error.strerror}") from None
    return StateDir(path)


class StateDir:
    """Paths and atomic files below the state directory."""

    def __init__(self, path: str) -> None:
        self.path = path

    def join(self, *parts: str) -> str:
        return os.path.join(self.path, *parts)

    def make(self, *parts: str) -> str:
        path = self.join(*parts)
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700, exist_ok=True)
            sync_folder(self.path)
        return path

    def names(self, *parts: str) -> List[str]:
        try:
            return sorted(os.listdir(self.join(*parts)))
        except FileNotFoundError:
            return []

    def blob_path(self, sha256: str) -> str:
        if len(sha256) != 64 or not all(c in "0123456789abcdef" for c in sha256):
            raise AgentError("invalid", f"not a sha256: {sha256[:80]!r}")
        return os.path.join(self.make("blobs"), sha256)

    def put_blob(self, data: bytes) -> str:
        """Keep bytes under their hash."""
        sha256 = hashlib.sha256(data).hexdigest()
        path = self.blob_path(sha256)
        if not os.path.exists(path):
            write_atomic(path, data)
        return sha256

    def get_blob(self, sha256: str) -> bytes:
        """Raises AgentError(not_found) for a blob that is not here, hash_mismatch for one that is not itself."""
        try:
            with open(self.blob_path(sha256), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            raise AgentError("not_found", f"no content {sha256[:12]} on the node") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise AgentError("hash_mismatch", f"the kept content {sha256[:12]} is damaged")
        return data


def write_atomic(path: str, data: bytes, mode: int = 0o600) -> None:
    """Write a file whole or not at all; it is on the disk afterwards. Its folder must exist."""
    move_in(stage(path, data, mode), path)


def stage(path: str, data: bytes, mode: int = 0o600) -> str:
    """Write what a file is to hold to a temporary file beside it; `move_in` takes that file's path."""
    fd, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=os.path.dirname(path))
    try:
        reached("write.opened")
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
    except BaseException:
        os.unlink(temporary)
        raise
    reached("write.staged")
    return temporary


def move_in(temporary: str, path: str) -> None:
    """Give a staged file its name, on the disk too; on a failure it is removed."""
    try:
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    reached("write.renamed")
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    """Bring a folder's names to the disk, where its file system can."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def leftovers(folder: str) -> List[str]:
    """Temporary files of ours that a crash left in a folder; others may be under way where nobody holds its lock."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        return sorted(each.path for each in found if _LEFTOVER.fullmatch(each.name) and _is_ours(each))
    return []


def remove_leftovers(folder: str) -> List[str]:
    """Remove them, as far as that is allowed; the caller holds the lock under which the folder is written."""
    removed = []
    for path in leftovers(folder):
        with contextlib.suppress(OSError):
            os.unlink(path)
            removed.append(path)
    return removed


def _is_ours(entry: os.DirEntry[str]) -> bool:
    info = entry.stat(follow_symlinks=False)
    return stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid()


def write_json(path: str, value: Dict[str, Any]) -> None:
    write_atomic(path, json.dumps(value, indent=1).encode() + b"\n")


def read_json(path: str) -> Optional[Dict[str, Any]]:
    """A JSON object from a file; None when it is not there or not one."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
