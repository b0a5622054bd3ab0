"""Messages about an installed tree as a whole: how it differs from what was released or committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional


@dataclass(frozen=True)
class TreeFile:
    """One file that is not as it was released or committed; hashes are SHA-256 in hex.

    `state`: modified, missing, extra (nobody released or committed it), unread (`reason` says why).
    """

    path: str
    """Relative to the package, with forward slashes."""
    state: str
    recorded: Optional[str]
    """What RECORD says; None for a file it does not list, and always for a checkout."""
    now: Optional[str]
    size: int = 0
    reason: str = ""


@dataclass(frozen=True)
class TreeComparison:
    """`trees.compare`. `basis`: record (the wheel's RECORD), git, or none; `reason` says why none, or what is doubtful.

    `left_off` counts differing files that are not listed.
    """

    root: str
    """With links resolved."""
    basis: str
    reason: str
    source: Optional[str] = None
    """The RECORD, or the top folder of the checkout."""
    version: Optional[str] = None
    """From the METADATA beside RECORD."""
    commit: Optional[str] = None
    branch: Optional[str] = None
    """Empty on a detached HEAD."""
    checked: int = 0
    """Files of RECORD that were hashed; 0 for a checkout, where git looks."""
    files: List[TreeFile] = field(default_factory=list)
    left_off: int = 0
