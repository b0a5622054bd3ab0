"""Messages about files: read, hash, swap, restore, compile, follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional


@dataclass(frozen=True)
class FileContent:
    """`files.read`: one part of a file, bytes in base64, and what the whole file was then."""

    path: str
    data: str
    offset: int
    size: int
    sha256: str
    mode: int


@dataclass(frozen=True)
class FileHash:
    """`files.hash`: None when the file does not exist."""

    path: str
    sha256: Optional[str]
    mode: Optional[int]


@dataclass(frozen=True)
class FileHashes:
    """`files.hash`."""

    files: List[FileHash] = field(default_factory=list)


@dataclass(frozen=True)
class FileChange:
    """One file of a patch: `sha256_before` None means it must not exist yet; the new content was `put` before."""

    path: str
    sha256_before: Optional[str]
    sha256_after: str
    mode: int


@dataclass(frozen=True)
class LedgerFile:
    """One file that was changed; `sha256_before` None means it was created."""

    path: str
    sha256_before: Optional[str]
    sha256_after: str
    mode: int


@dataclass(frozen=True)
class LedgerEntry:
    """One application of patches to a tree. `state`: intent (begun, not finished) or applied."""

    entry_id: str
    root: str
    patches: List[str]
    operator: str
    at: float
    state: str
    files: List[LedgerFile] = field(default_factory=list)


@dataclass(frozen=True)
class Ledger:
    """`files.ledger`."""

    entries: List[LedgerEntry] = field(default_factory=list)


@dataclass(frozen=True)
class FileOutcome:
    """What became of one file: swapped, restored, removed, original, drifted."""

    path: str
    outcome: str
    sha256: Optional[str]
    reason: str = ""


@dataclass(frozen=True)
class FileOutcomes:
    """`files.apply`, `files.restore`."""

    files: List[FileOutcome] = field(default_factory=list)


@dataclass(frozen=True)
class Compiled:
    """One file compiled by the serving Python, in memory."""

    path: str
    ok: bool
    error: str


@dataclass(frozen=True)
class CompiledFiles:
    """`files.compile`."""

    python: str
    files: List[Compiled] = field(default_factory=list)


@dataclass(frozen=True)
class OverlayInfo:
    """`overlays.write`: one overlay; `broken` names copies that are not what the manifest says."""

    name: str
    path: str
    manifest: Dict[str, Any]
    broken: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class OverlayList:
    """`overlays.list`."""

    overlays: List[OverlayInfo] = field(default_factory=list)


@dataclass(frozen=True)
class LogBatch:
    """`logs.batch`: bytes [offset, offset + length) of the followed file, base64; `size` is the file's length now."""

    offset: int
    length: int
    data: str
    size: int
    inode: int


@dataclass(frozen=True)
class LogReset:
    """`logs.reset`: the file was truncated or replaced; the next batch begins at 0 of `inode`."""

    reason: str
    offset: int
    inode: int
