"""Owns recordings as files: written privately, never over another; read as far as they are whole."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console import new_file
from console.errors import UsageError
from console.state.codec import DecodeError
from console.state.recording import LINE_LIMIT, Reader, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from console.state.events import Event

BYTES_LIMIT = 512 * 1024 * 1024
"""Bytes of a recording; what happens after that is not recorded, and that is said."""


class Recorder:
    """A recording that is being written. `known`: secrets by their values. Raises Refused, UsageError."""

    def __init__(
        self,
        path: Path,
        facts: dict[str, Any],
        known: Sequence[str],
        *,
        overwrite: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.problem = ""
        """Why it ended before its time; empty while it goes on."""
        self._writer = Writer(known)
        self._clock = clock
        self._file = _create(path, overwrite=overwrite)
        self._written = 0
        self._began = clock()
        self._put([self._writer.header(facts)])

    def take(self, events: Iterable[Event]) -> None:
        """Write what was folded. It never raises: a full disk ends the recording, not the console."""
        t = self._clock() - self._began
        for event in events:
            self._put(self._writer.lines(t, event))

    def close(self) -> None:
        """Write what is held back and the end. A recording that ended before its time has none."""
        self._put(self._writer.end(self._clock() - self._began))
        self._end("closed")

    def _put(self, lines: Iterable[str]) -> None:
        if self.problem:
            return
        try:
            for line in lines:
                data = line.encode("ascii") + b"\n"
                if self._written + len(data) > BYTES_LIMIT or len(data) > LINE_LIMIT:
                    self._end(f"the recording ends here: {self.path} would be larger than allowed")
                    return
                self._written += len(data)
                self._file.write(data)
            self._file.flush()
        except OSError as error:
            self._end(f"the recording ends here: {self.path} cannot be written: {error.strerror}")

    def _end(self, why: str) -> None:
        if not self.problem:
            self.problem = why
            try:
                self._file.close()
            except OSError as error:
                self.problem = f"{self.path} cannot be written: {error.strerror}"


@dataclass
class Recording:
    """A recording that is read. `line` and `byte` say how far; `ended` and `is_whole` how it ended."""

    path: Path
    header: dict[str, Any] = field(default_factory=dict)
    line: int = 0
    byte: int = 0
    ended: str = ""
    is_whole: bool = False
    unknown: Counter[str] = field(default_factory=Counter)
    """Events that this version does not know, by name: they were left out."""

    def __post_init__(self) -> None:
        """Read the header. Raises UsageError for what is no recording that can be read."""
        try:
            with self.path.open("rb") as file:
                self.header = Reader().header(file.readline(LINE_LIMIT + 1))
        except DecodeError as error:
            raise UsageError(f"{self.path}: {error}.", "`connect NODE --record FILE` writes one.") from None
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {error.strerror}.") from error

    def events(self) -> Iterator[tuple[float, Event]]:
        """Each event with its time, as far as the file is whole; then `ended` says where that was."""
        reader = Reader()
        with self.path.open("rb") as file:
            self.line, self.byte = 1, len(file.readline(LINE_LIMIT + 1))
            while line := file.readline(LINE_LIMIT + 1):
                if not line.endswith(b"\n"):
                    self._end("is cut" if len(line) <= LINE_LIMIT else "is longer than a line may be")
                    return
                try:
                    row = reader.read(line)
                except (DecodeError, OverflowError) as error:
                    self._end(f"cannot be read ({error})")
                    return
                if row.unknown:
                    self.unknown[row.unknown] += 1
                if row.event is not None:
                    yield row.t, row.event
                self.line, self.byte = self.line + 1, self.byte + len(line)
                if row.is_end:
                    self._whole()
                    return
        self._end("is missing: the console that wrote it was ended")

    def failed(self, error: Exception) -> None:
        """The event that was given last could not be folded: the recording ends before it."""
        self._end(f"cannot be shown ({type(error).__name__}: {error})"[:300])

    def _end(self, why: str) -> None:
        self.ended = f"line {self.line + 1:,} (byte {self.byte:,}) {why}"
        self.is_whole = False

    def _whole(self) -> None:
        self.is_whole = not self.unknown
        left = ", ".join(f"{name[:40]} ×{count}" for name, count in self.unknown.most_common(5))
        self.ended = f"whole, but for events that this version does not know: {left}" if left else "whole"


def _create(path: Path, *, overwrite: bool) -> Any:
    if not overwrite:
        return new_file.create(path, "Choose another name, or add --record-over to replace it.", 0o600)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_TRUNC
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no file")
        descriptor = os.open(path, flags, 0o600)
        os.fchmod(descriptor, 0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return os.fdopen(descriptor, "wb")
