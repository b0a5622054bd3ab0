"""Bytes of a log, in any chunks, to lines: the only place where log bytes become text.

A line ends at LF, at CRLF, or at CR: tqdm redraws its bar after a CR, so each state of a bar is a line of its own.
"""

from __future__ import annotations

import codecs
import re
from typing import Literal, NamedTuple

from console.logs import docker

TEXT_LIMIT = 65_536
"""Bytes of a line that become text. SGLang's longest useful line, `server_args=`, has 9 kB; a watchdog's dump may have
megabytes."""

_ENDS = re.compile(rb"\r\n|\n|\r")
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-~]|$)"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC and other strings, only when they are closed: nothing is hidden
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-~]"
)
_DOCKER = docker.START.decode()
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")

End = Literal["\n", "\r", "", "gap"]
GAP: End = "gap"
"""Ends a line that no log wrote: it says that the file began anew, or that bytes of it are missing."""


class RawLine(NamedTuple):
    """One line of a log."""

    offset: int
    """Byte offset in the file of the line's first byte."""
    length: int
    """Bytes of the whole line, without its end."""
    text: str
    """The line without escapes and control characters: plain text, never markup."""
    end: End = "\n"
    """How it ended: `\\r` is a line that the next one overwrites, empty one that was never finished.

    Of a gap: `length` is the number of bytes that are lost, `text` says why.
    """
    cut: bool = False
    """True when the text holds only the first TEXT_LIMIT bytes."""


class LineSplitter:
    """Turns chunks of a file into lines; the same bytes give the same lines in whatever chunks they come."""

    def __init__(self, text_limit: int = TEXT_LIMIT) -> None:
        self._limit = text_limit
        self._next: int | None = None
        self._start = 0
        self._length = 0
        self._kept: list[bytes] = []
        self._kept_size = 0
        self._cut = False
        self._held_cr = False
        self._partial = ""
        """The begin of a line that docker wrote in parts."""
        self.missed_bytes = 0
        """Bytes that were jumped over, because a chunk began behind the end of the one before."""

    def feed(self, offset: int, data: bytes) -> list[RawLine]:
        """Return the lines that `data`, found at byte `offset`, completes.

        Bytes that were seen already are skipped, as after a reconnect. A jump forward ends the half line that was held.
        A file that shrank needs `reset`: its low offsets would be taken for bytes seen before.
        """
        lines: list[RawLine] = []
        data = self._align(offset, data, lines)
        if not data:
            return lines
        position = self._plain(data, self._settle_cr(data, lines), lines)
        for match in _ENDS.finditer(data, position):
            begin, end = match.span()
            self._take(data[position:begin])
            position = end
            if match[0] != b"\r":
                self._end("\n", end - begin, lines)
            elif end < len(data):
                self._end("\r", 1, lines)
            else:
                self._held_cr = True  # an LF may follow
        self._take(data[position:])
        self._next = (self._next or 0) + len(data)
        return lines

    def finish(self) -> list[RawLine]:
        """Return the half line that is held, if any: no more bytes will come."""
        lines: list[RawLine] = []
        if self._held_cr:
            self._end("\r", 1, lines)
        elif self._length:
            self._end("", 0, lines)
        if self._partial:
            lines.append(RawLine(self._start, 0, _clean(self._partial), ""))
            self._partial = ""
        return lines

    def reset(self, offset: int, reason: str = "", lost: int = 0) -> list[RawLine]:
        """Start anew at `offset` (a truncated or replaced file); return the half line that was held, and a gap.

        The gap stands for `reason` and for `lost` bytes that nobody can read any more; without a reason there is none.
        """
        lines = self.finish()
        self._next = self._start = offset
        if reason:
            told = f"{reason}; {lost:,} bytes are lost" if lost else reason
            lines.append(RawLine(offset, lost, _CONTROLS.sub("", told), GAP))
        return lines

    def _align(self, offset: int, data: bytes, lines: list[RawLine]) -> bytes:
        if self._next is None:
            self._next = self._start = offset
        if offset < self._next:
            return data[self._next - offset :]
        if offset > self._next:
            missed = offset - self._next
            self.missed_bytes += missed
            lines += self.reset(offset, "the log goes on further down", missed)
        return data

    def _settle_cr(self, data: bytes, lines: list[RawLine]) -> int:
        """End the line whose CR was the last byte of the chunk before; return how many bytes of `data` that takes."""
        if not self._held_cr:
            return 0
        is_crlf = data.startswith(b"\n")
        self._end("\n" if is_crlf else "\r", 1 + is_crlf, lines)
        return int(is_crlf)

    def _plain(self, data: bytes, position: int, lines: list[RawLine]) -> int:
        """Take whole lines of printable ASCII, the most there are, at once; return where the rest of `data` begins."""
        end = data.rfind(b"\n") + 1
        begin = data.find(b"\n", position) + 1 if self._length else position
        if end <= begin or not data.isascii():
            return position
        texts = data[begin : end - 1].decode("ascii").split("\n")
        if texts[0].startswith(_DOCKER):
            return position
        if not "".join(texts).isprintable() or max(map(len, texts)) > self._limit:
            return position
        if begin > position:
            if b"\r" in data[position:begin]:
                return position
            self._take(data[position : begin - 1])
            self._end("\n", 1, lines)
        start = self._start
        for text in texts:
            length = len(text)
            lines.append(RawLine(start, length, text))
            start += length + 1
        self._start = start
        return end

    def _take(self, piece: bytes) -> None:
        self._length += len(piece)
        if b"\0" in piece:  # a file truncated under its writer begins with a hole of zeros
            piece = piece.replace(b"\0", b"")
        room = self._limit - self._kept_size
        if len(piece) > room:
            self._cut = True
            piece = piece[:room]
        if piece:
            self._kept.append(piece)
            self._kept_size += len(piece)

    def _unwrap(self, raw: bytes, lines: list[RawLine]) -> bool:
        """Take a line of docker's JSON: its text stands at the place of the whole. False: it is none."""
        text = docker.unwrap(raw)
        if text is None:
            return False
        text = self._partial + text
        is_whole = text.endswith("\n") or len(text) > self._limit
        self._partial = "" if is_whole else text
        if is_whole:
            bars = [bar for bar in text.rstrip("\r\n").split("\r") if bar] or [""]
            lines += [RawLine(self._start, self._length, _clean(bar)) for bar in bars]
        return True

    def _end(self, end: End, end_length: int, lines: list[RawLine]) -> None:
        if self._length or end != "\r":  # tqdm puts its CR before the bar: the empty line in front of it says nothing
            raw = b"".join(self._kept)
            if not (raw.startswith(docker.START) and self._unwrap(raw, lines)):
                lines.append(RawLine(self._start, self._length, _text(raw, self._cut), end, self._cut))
        self._start += self._length + end_length
        self._length = self._kept_size = 0
        self._kept.clear()
        self._cut = self._held_cr = False


def _text(raw: bytes, is_cut: bool) -> str:
    text, _ = codecs.utf_8_decode(raw, "replace", not is_cut)
    return _clean(text)


def _clean(text: str) -> str:
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text if text.isprintable() else _CONTROLS.sub("", text)
