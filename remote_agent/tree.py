"""Files of a tree that may be changed: each path is checked to lie in it, none is a link, none is huge.

A tree is the package folder of an installed sglang, or a checkpoint's folder, of which only config.json may change.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from typing import Iterator, Tuple

from remote_agent.protocol import AgentError, FileHash

MAX_FILE = 8 * 1024 * 1024
CHECKPOINT = "config.json"


def root_of(root: str) -> str:
    """The real path of a tree. Raises AgentError(invalid) for a folder that is none."""
    if not os.path.isabs(root) or not (_is_package(root) or os.path.lexists(os.path.join(root, CHECKPOINT))):
        raise AgentError("invalid", f"{root[:200]!r} is not the folder of an installed sglang, nor of a checkpoint")
    return os.path.realpath(root)


def inside(root: str, path: str) -> str:
    """The full path of a file of the tree. Raises AgentError(refused) for one that leads out of it."""
    full = os.path.join(root, path)
    parts = path.split("/")
    if os.path.isabs(path) or ".." in parts or "" in parts or os.path.realpath(full) != full:
        raise AgentError("refused", f"{path[:200]!r} leads out of the tree, or is a link")
    if path != CHECKPOINT and not _is_package(root) and os.path.lexists(os.path.join(root, CHECKPOINT)):
        raise AgentError("refused", f"{path[:200]!r}: of a checkpoint only {CHECKPOINT} may be changed")
    return full


def _is_package(root: str) -> bool:
    return os.path.isdir(os.path.join(root, "srt"))


def read(path: str) -> Tuple[bytes, int]:
    """Content and mode of a plain file. Raises AgentError."""
    with errors_of(path), open(path, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE:
            raise AgentError("refused", f"{path} is no plain file of at most {MAX_FILE} bytes")
        return file.read(), info.st_mode & 0o7777


def hash_of(path: str) -> FileHash:
    """Hash and mode of a file; None for both when there is none. Raises AgentError for one that cannot be read."""
    if not os.path.lexists(path):
        return FileHash(path, None, None)
    data, mode = read(path)
    return FileHash(path, sha256_of(data), mode)


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_KINDS = {errno.ENOENT: "not_found", errno.EACCES: "permission", errno.EPERM: "permission", errno.EROFS: "permission"}


@contextlib.contextmanager
def errors_of(path: str) -> Iterator[None]:
    """What the operating system says about a file becomes an error of ours."""
    try:
        yield
    except OSError as error:
        raise os_error(path, error) from None


def os_error(path: str, error: OSError) -> AgentError:
    return AgentError(_KINDS.get(error.errno or 0, "failed"), f"{path}: {error.strerror}")
