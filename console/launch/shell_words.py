"""A shell line as words and operators, each with its place. Nothing is expanded and nothing is run.

The quoting is that of POSIX sh with bash's $'…' and &>. What only a shell could fill in (variables, commands) stays a
piece of its own kind, for the reader to refuse or to name.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from typing import Literal

from console.errors import UsageError

MAX_CHARACTERS = 100_000
MAX_WORDS = 2_000

PieceKind = Literal["text", "quoted", "variable", "required", "command", "pattern"]
"""text, quoted text, $NAME and ${NAME:?} (the text is the name), a command substitution or arithmetic, a file pattern
or brace."""

_NAMED = ("variable", "required")


@dataclass(frozen=True, slots=True)
class Piece:
    kind: PieceKind
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word; its place is 1-based."""

    pieces: tuple[Piece, ...]
    line: int
    column: int

    @property
    def text(self) -> str:
        """The word as a shell without variables and files would leave it; a variable stands as ${NAME}."""
        return "".join(f"${{{each.text}}}" if each.kind in _NAMED else each.text for each in self.pieces)

    @property
    def bare(self) -> str:
        """The text before anything quoted or filled in: where a keyword, a ~ or NAME= can stand."""
        return self.pieces[0].text if self.pieces and self.pieces[0].kind == "text" else ""

    def has(self, kind: PieceKind) -> bool:
        return any(each.kind == kind for each in self.pieces)


@dataclass(frozen=True, slots=True)
class Operator:
    """A separator (`;`, `&&`, `|`, a line's end as "\\n", …) or a redirection (`>`, `2>&`, …)."""

    text: str
    line: int
    column: int


_REDIRECTION = re.compile(r"(?:\d*(?:<<<|<<-|<<|>>|<>|>\||>&|<&|[<>])|&>>|&>)")
_SEPARATOR = re.compile(r"&&|\|\||\|&|;;|[;|&()\n]")
_LINE_END = re.compile(r"\\\r?\n")
_REQUIRED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*):\?\}")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", "E": "\x1b"}
_SPACE = " \t\r"
_PATTERN = "*?[]{}"


def split(text: str, source: str) -> list[Word | Operator]:
    """Split a text of shell lines. Raises UsageError for a quote that is not closed, and a text too long."""
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"{source}: larger than {MAX_CHARACTERS} characters", "A launch is a few lines.")
    return _Lexer(text, source).run()


class _Lexer:
    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.at = 0
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def run(self) -> list[Word | Operator]:
        found: list[Word | Operator] = []
        while self._skip_blanks():
            if len(found) >= MAX_WORDS:
                raise UsageError(f"{self.source}: more than {MAX_WORDS} words", "A launch is a few lines.")
            line, column = self.place(self.at)
            match = _REDIRECTION.match(self.text, self.at) or _SEPARATOR.match(self.text, self.at)
            if match:
                self.at = match.end()
                found.append(Operator(match.group(), line, column))
            else:
                found.append(Word(self._word(), line, column))
        return found

    def place(self, at: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def _skip_blanks(self) -> bool:
        """Go to the next token; False at the end. A comment and a backslash before a line's end are blanks."""
        while self.at < len(self.text):
            if self.text[self.at] in _SPACE:
                self.at += 1
            elif (joined := self._joined_line()) is not None:
                self.at = joined
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return True
        return False

    def _joined_line(self) -> int | None:
        match = _LINE_END.match(self.text, self.at)
        return match.end() if match else None

    def _word(self) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        while self.at < len(self.text) and self.text[self.at] not in f"{_SPACE}\n;|&()<>":
            if (joined := self._joined_line()) is not None:
                self.at = joined
                continue
            pieces += self._piece()
        return _joined(pieces)

    def _piece(self) -> list[Piece]:
        char = self.text[self.at]
        if char == "'":
            return [Piece("quoted", self._until("'", self.at + 1))]
        if self.text.startswith("$'", self.at):
            return [Piece("quoted", _ansi(self._until("'", self.at + 2, escapes=True)))]
        if char == '"' or self.text.startswith('$"', self.at):
            return self._double_quoted()
        if char == "\\":
            self.at += 2
            return [Piece("quoted", self.text[self.at - 1 : self.at])]
        if char in "$`":
            return [self._filled_in()]
        self.at += 1
        return [Piece("pattern" if char in _PATTERN else "text", char)]

    def _double_quoted(self) -> list[Piece]:
        opened = self.at
        self.at += 2 if self.text[self.at] == "$" else 1
        pieces = [Piece("quoted", "")]
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return pieces
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\"):
                pieces.append(Piece("quoted", self.text[self.at + 1]))
                self.at += 2
            elif (joined := self._joined_line()) is not None:
                self.at = joined
            elif char in "$`":
                pieces.append(self._filled_in("quoted"))
            else:
                self.at += 1
                pieces.append(Piece("quoted", char))
        raise self._unclosed('"', opened)

    def _filled_in(self, plain: PieceKind = "text") -> Piece:
        """A `$…` or a backtick: what a shell would put another text for."""
        match = _VARIABLE.match(self.text, self.at)
        if match:
            self.at = match.end()
            return Piece("variable", match[1] or match[2])
        if required := _REQUIRED.match(self.text, self.at):
            self.at = required.end()
            return Piece("required", required[1])
        start = self.at
        opening = self.text[start : start + 2]
        if opening[0] == "`":
            return Piece("command", f"`{self._until('`', start + 1, escapes=True)}`")
        if opening in ("$(", "${"):
            self.at = self._closing(start + 1)
            return Piece("command", self.text[start : self.at])
        if opening[1:] and opening[1] in "0123456789@*#?$!-":
            self.at += 2
            return Piece("command", opening)
        self.at += 1
        return Piece(plain, "$")

    def _closing(self, at: int) -> int:
        opened = at - 1
        closes, depth = {"(": ")", "{": "}"}[self.text[at]], 0
        for index in range(at, len(self.text)):
            depth += (self.text[index] == self.text[at]) - (self.text[index] == closes)
            if depth == 0:
                return index + 1
        raise self._unclosed(self.text[opened : opened + 2], opened)

    def _until(self, quote: str, start: int, escapes: bool = False) -> str:
        at = start
        while at < len(self.text):
            if escapes and self.text[at] == "\\":
                at += 2
            elif self.text[at] == quote:
                self.at = at + 1
                return self.text[start:at]
            else:
                at += 1
        raise self._unclosed(quote, start - 1)

    def _unclosed(self, what: str, at: int) -> UsageError:
        line, column = self.place(at)
        return UsageError(f"{self.source}:{line}:{column}: {what} is not closed", "Is the line complete?")


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Neighbours of one kind as one piece."""
    joined: list[Piece] = []
    for each in pieces:
        if joined and joined[-1].kind == each.kind and each.kind in ("text", "quoted", "pattern"):
            joined[-1] = Piece(each.kind, joined[-1].text + each.text)
        else:
            joined.append(each)
    return tuple(joined)


def _ansi(text: str) -> str:
    """What $'…' means: C's escapes."""

    def character(match: re.Match[str]) -> str:
        hexadecimal = match[1] or match[2] or match[3]
        if hexadecimal or match[4]:
            code = int(hexadecimal, 16) if hexadecimal else int(match[4], 8)
            return chr(code) if code < 0x110000 else "\ufffd"
        return _ANSI_LETTERS.get(match[5], match[5] if match[5] in "\\'\"?" else match[0])

    return _ANSI.sub(character, text)
