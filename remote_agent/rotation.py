"""Know a log again after it was renamed, copied and cut, or replaced, and tell which file was written after it.

A place in a file is known by device and inode, and by the first bytes of the file and those before it: inodes are used
again at once (ext4), a file that was cut and has grown again keeps its own, and a copy (copytruncate) has
another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from dataclasses import astuple, dataclass
from typing import Callable, List, Optional, Tuple

from remote_agent.protocol import AgentError

OVERLAP = 256
"""Bytes at the begin of a file, and before a place in it, by which they are known."""
_ENOUGH = 16
"""Fewer bytes do not tell one log from another by themselves."""
_NUMBERED = re.compile(r"[.-](\d{1,5})")
_DATED = re.compile(r"[.-](\d[\dT:_.-]{5,}(?:-[0-9a-f]{6})?)")  # the last part: our run ids


@dataclass(frozen=True)
class Place:
    """How far a file was read, and what the file was then: `size` and `mtime_ns` as last seen."""

    offset: int
    size: int
    mtime_ns: int
    device: int
    inode: int
    digest: str
    """Of the file's first bytes and those before `offset`; empty at 0."""

    def to_text(self) -> str:
        return " ".join(str(each) for each in astuple(self))

    @staticmethod
    def from_text(text: str) -> Place:
        """Raises AgentError(invalid)."""
        numbers, _, digest = text.rpartition(" ")
        try:
            offset, size, mtime_ns, device, inode = (int(each) for each in numbers.split(" "))
        except ValueError:
            raise AgentError("invalid", f"not a position of a log: {text[:80]!r}") from None
        return Place(offset, size, mtime_ns, device, inode, digest)


class LogFile:
    """One open log. Reads by offset; OSError (ESTALE, EIO) where the file system lets go of it."""

    def __init__(self, path: str) -> None:
        """Raises FileNotFoundError, AgentError."""
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise AgentError("permission", f"{path} cannot be read: {error.strerror}") from None
        self.path = path
        try:
            info = os.fstat(self.fd)
        except OSError as error:
            self.close()
            raise AgentError("permission", f"{path} cannot be read: {error.strerror}") from None
        if not stat.S_ISREG(info.st_mode):
            self.close()
            raise AgentError("invalid", f"{path} is no plain file")
        self.device, self.inode = info.st_dev, info.st_ino

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.fd)

    def __enter__(self) -> LogFile:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def known_by(self, offset: int) -> Tuple[bytes, bytes]:
        """The file's first bytes, as far as they lie before an offset, and the last ones before it."""
        length = min(OVERLAP, offset)
        return os.pread(self.fd, length, 0), os.pread(self.fd, length, offset - length)

    def place(self, offset: int) -> Place:
        info = os.fstat(self.fd)
        digest = digest_of(*self.known_by(offset))
        return Place(offset, info.st_size, info.st_mtime_ns, self.device, self.inode, digest)

    def data_from(self, offset: int) -> int:
        """Where data begins: a writer that kept its offset leaves a hole of zeros in a file that was cut."""
        with contextlib.suppress(OSError, AttributeError):
            return max(offset, os.lseek(self.fd, offset, os.SEEK_DATA))
        return offset

    def holds(self, place: Place) -> bool:
        """Are the bytes by which the place is known the same as then?"""
        if os.fstat(self.fd).st_size < place.offset:
            return False
        return digest_of(*self.known_by(place.offset)) == place.digest

    def is_at(self, path: str) -> bool:
        """Has this file that name now?"""
        try:
            info = os.stat(path)
        except OSError:
            return False
        return (info.st_dev, info.st_ino) == (self.device, self.inode)


def digest_of(first: bytes, last: bytes) -> str:
    return hashlib.blake2b(first + last, digest_size=8).hexdigest() if last else ""


def find(path: str, place: Place) -> Optional[LogFile]:
    """The file that was being read, open: itself under whatever name in its folder, or else a copy of it."""
    folder, base = os.path.split(os.path.realpath(path))

    def is_itself(info: os.stat_result, _name: str) -> bool:
        return info.st_ino == place.inode and info.st_dev == place.device

    def may_be_copy(info: os.stat_result, name: str) -> bool:
        enough = place.digest and place.offset >= _ENOUGH
        return bool(enough) and name.startswith(base) and info.st_mtime_ns >= place.mtime_ns

    for is_meant in (is_itself, is_itself, may_be_copy):  # twice: it may be renamed during the look
        others = [name for name in _names(folder) if name.startswith(base) or place.digest]
        for name in [path] + [os.path.join(folder, other) for other in others]:
            found = _open_if(name, place, is_meant)
            if found:
                return found
    return None


def after(path: str, last: Place) -> Optional[LogFile]:
    """The file that was written after the one of `last`, open; the log itself when nothing lies between.

    By the names of rotation (`log.1` after `log.2`, `log-20260102` after `log-20260101`), or, where the last file is
    under no such name, by the time of the last write. None when there is no file.
    """
    folder, base = os.path.split(os.path.realpath(path))
    for _ in range(10):  # the names may change between the look and the opening
        rotated = []
        for name in _names(folder):
            scheme = _scheme(base, name)
            info = _stat(os.path.join(folder, name)) if scheme else None
            if scheme and info and stat.S_ISREG(info.st_mode):
                rotated.append((scheme, info, name))
        own = [scheme for scheme, info, _name in rotated if (info.st_dev, info.st_ino) == (last.device, last.inode)]
        if own:
            later = [each for each in rotated if each[0][0] == own[0][0] and each[0] > own[0]]
        else:
            later = [each for each in rotated if each[1].st_mtime_ns > last.mtime_ns]
        chosen = min(later, key=lambda each: (each[1].st_mtime_ns, each[0]) if not own else each[0], default=None)
        name = os.path.join(folder, chosen[2]) if chosen else path
        try:
            found = LogFile(name)
        except FileNotFoundError:
            if chosen is None:
                return None
            continue
        if chosen is None or (found.device, found.inode) == (chosen[1].st_dev, chosen[1].st_ino):
            return found
        found.close()
    return None


def _scheme(base: str, name: str) -> Optional[Tuple[str, Tuple[int, str]]]:
    """How a rotated file is named, and its age in that scheme: the older the smaller."""
    if not name.startswith(base):
        return None
    numbered = _NUMBERED.fullmatch(name[len(base) :])
    if numbered:
        return "numbered", (-int(numbered.group(1)), "")
    dated = _DATED.fullmatch(name[len(base) :])
    return ("dated", (0, dated.group(1))) if dated else None


def _open_if(name: str, place: Place, is_meant: Callable[[os.stat_result, str], bool]) -> Optional[LogFile]:
    info = _stat(name)
    if info is None or not is_meant(info, os.path.basename(name)):
        return None
    try:
        file = LogFile(name)
    except (FileNotFoundError, AgentError):
        return None
    with contextlib.suppress(OSError):
        if file.holds(place):
            return file
    file.close()
    return None


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _stat(path: str) -> Optional[os.stat_result]:
    try:
        return os.stat(path)
    except OSError:
        return None
