"""Messages about logs: follow, open at the tail, search, where logs are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional


@dataclass(frozen=True)
class LogBatch:
    """`logs.batch`: bytes [offset, offset + length) of the followed file, base64; `size` is the file's length now.

    `position` is the agent's own word for the place behind these bytes: hand it back as `resume` to go on there.
    """

    offset: int
    length: int
    data: str
    size: int
    position: str


@dataclass(frozen=True)
class LogReset:
    """`logs.reset`: the next batch begins at `offset` of the file `name`, for `reason` (a sentence with the sizes).

    `lost`: bytes that were there and that nobody can read any more. `gone`: bytes before `offset` are of no interest.
    """

    reason: str
    offset: int
    lost: int
    name: str
    position: str


@dataclass(frozen=True)
class LogTail:
    """`logs.tail`: the last lines of a file begin at `offset`; `position` resumes there.

    `local_time` is the node's clock, as SGLang prints it.
    """

    offset: int
    size: int
    position: str
    local_time: str


@dataclass(frozen=True)
class LogHits:
    """`logs.hits`: lines that were found, and how far the search is; `end` is done or limit in the last one.

    `data` holds the first `kept[i]` bytes of each line, one after another, base64.
    """

    offsets: List[int]
    lengths: List[int]
    kept: List[int]
    data: str
    searched: int
    total: int
    matches: int
    end: str


@dataclass(frozen=True)
class LogSource:
    """A log on the node. `kind` is run, process or docker; `problem` says why it cannot be followed, or nothing."""

    kind: str
    path: str
    label: str
    size: Optional[int] = None
    pid: Optional[int] = None
    run_id: str = ""
    problem: str = ""


@dataclass(frozen=True)
class LogPlace:
    """`logs.place`: where what a run wrote to its log is now. `path` is empty where it is nowhere.

    `taken_by`: the launch that took the log's name; empty: none did.
    """

    path: str
    taken_by: str = ""


@dataclass(frozen=True)
class LogSources:
    """`logs.sources`."""

    sources: List[LogSource] = field(default_factory=list)
