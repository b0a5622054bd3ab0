"""Messages about files: read, hash, swap, restore, compile."""

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
    """One application of patches to a tree. `state`: intent, applied, reverting or drifted (remote_agent/ledger.py)."""

    entry_id: str
    root: str
    patches: List[str]
    operator: str
    at: float
    state: str
    files: List[LedgerFile] = field(default_factory=list)

    @property
    def is_cut_short(self) -> bool:
        """Begun, or being taken back: until that is finished some of its files are original and some are applied."""
        return self.state in ("intent", "reverting")


@dataclass(frozen=True)
class Ledger:
    """`files.ledger`."""

    entries: List[LedgerEntry] = field(default_factory=list)


@dataclass(frozen=True)
class FileOutcome:
    """What became of one file: swapped, restored, removed, original, drifted, replaced.

    drifted: it was changed on top and is left; replaced: nothing of the patch is in it any more, and it is left.
    Where nothing was done, what it is: original, applied, drifted.
    """

    path: str
    outcome: str
    sha256: Optional[str]
    reason: str = ""


@dataclass(frozen=True)
class FileOutcomes:
    """`files.apply`, `files.restore`."""

    files: List[FileOutcome] = field(default_factory=list)


@dataclass(frozen=True)
class CutShort:
    """A change that was begun and is not finished, and each of its files as it is now.

    `holder` names who is at it still; empty when nobody is: the agent or its connection went away.
    """

    entry: LedgerEntry
    files: List[FileOutcome]
    holder: str


@dataclass(frozen=True)
class Unfinished:
    """`files.unfinished`. `leftovers`: temporary files of ours in the state directory."""

    entries: List[CutShort] = field(default_factory=list)
    leftovers: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Recovered:
    """What became of one unfinished change, and of its files.

    `outcome`: finished, undone, left (undone but for files that drifted), busy (somebody is at it), stuck (`reason`).
    """

    entry: LedgerEntry
    outcome: str
    files: List[FileOutcome]
    reason: str = ""


@dataclass(frozen=True)
class Recoveries:
    """`files.recover`, newest change first; `removed`: temporary files."""

    entries: List[Recovered] = field(default_factory=list)
    removed: List[str] = field(default_factory=list)


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
