"""A pasted launch, taken apart: what changes directory, sets variables, starts the server and takes its output.

It reads, and runs nothing. What a shell alone could know, and what is not a launch, is refused with its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.launch.shell_words import Operator, Piece, Word, split
from console.validation import Invalid, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HOME = "${home}"
"""The node variable that stands for ~ and $HOME."""

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PASSED_OVER = ("nohup", "setsid", "exec", "time")
_LEFT_OUT = ("set", "echo", "printf", "mkdir", "sleep", "tail", "wait", "true", ":", "date", "pwd", "touch")
"""Commands around a launch that change nothing of what the server gets."""
_PYTHON = re.compile(r"(?:.*/)?python(?:\d+(?:\.\d+)?)?")
_TAKES_OUTPUT = re.compile(r"1?>>?|1?>\||&>>?|>&")


@dataclass(slots=True)
class ShellLaunch:
    """The parts of one launch."""

    env: dict[str, Word] = field(default_factory=dict)
    """By name; the word holds the value alone."""
    cwd: Word | None = None
    program: Word | None = None
    """The interpreter, or the `sglang` script."""
    module: str = ""
    """Empty: `sglang serve`."""
    words: list[Word] = field(default_factory=list)
    """What follows the module, or `serve`."""
    log: Word | None = None
    notes: list[str] = field(default_factory=list)


def take_apart(text: str, source: str) -> ShellLaunch:
    """Find the one launch in a text of shell lines.

    Raises:
        UsageError: a quote is not closed.
        Invalid: there is no launch or a second one, or something stands there that a profile cannot say.
    """
    launch, problems = look(text, source)
    if problems:
        raise Invalid(f"{source}: no launch that can be read", problems)
    return launch


def look(text: str, source: str) -> tuple[ShellLaunch, list[Problem]]:
    """The launch, as far as there is one, and everything that is wrong; raises UsageError as `take_apart` does."""
    return _Reader(source).run(_statements(split(text, source)))


@dataclass(slots=True)
class _Statement:
    tokens: list[Word | Operator] = field(default_factory=list)
    ended_by: str = "\n"
    end: Operator | None = None


def _statements(tokens: Iterable[Word | Operator]) -> list[_Statement]:
    found = [_Statement()]
    for token in tokens:
        if isinstance(token, Operator) and not _is_redirection(token):
            found[-1].ended_by, found[-1].end = token.text, token
            found.append(_Statement())
        else:
            found[-1].tokens.append(token)
    return found


def _is_redirection(token: Operator) -> bool:
    return "<" in token.text or ">" in token.text


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.launch = ShellLaunch()
        self.exported: dict[str, Word] = {}
        self.variables: dict[str, Word] = {}
        self.problems: list[Problem] = []

    def run(self, statements: Sequence[_Statement]) -> tuple[ShellLaunch, list[Problem]]:
        piped = False
        for each in statements:
            if piped:
                self._tee(each)
            elif each.tokens:
                self._statement(each)
            piped = each.ended_by in ("|", "|&")
            if each.end is not None and each.ended_by in ("||", "(", ")", ";;"):
                self.refuse(each.end, f"{each.ended_by} is for a shell: leave the launch alone in the text")
        if self.launch.program is None and not self.problems:
            told = "no launch in it (python -m sglang.launch_server …, or sglang serve …)"
            self.problems.append(Problem((), self.source, told))
        self.launch.env = {**self.exported, **self.launch.env}
        return self.launch, self.problems

    def refuse(self, token: Word | Operator, text: str) -> None:
        self.problems.append(Problem((), f"{self.source}:{token.line}:{token.column}", text))

    def note(self, text: str) -> None:
        self.launch.notes.append(text)

    def _statement(self, statement: _Statement) -> None:
        words, redirections = self._redirections(statement)
        env, words = self._assignments(words)
        command = words[0].text if words else ""
        if not words:
            self.variables |= env
            self.exported |= {name: word for name, word in env.items() if name in self.exported}
        elif command == "export":
            self._export(words[1:])
        elif command == "cd" and not env:
            self._cd(words)
        elif command in _LEFT_OUT and statement.ended_by not in ("|", "|&"):
            self.note(f"line {words[0].line}: {command} is left out: it is no part of a launch")
        elif self.launch.program is not None and self._starts(words):
            self.refuse(words[0], "a second launch: import one at a time")
        else:
            self._launch(env, words, redirections, piped=statement.ended_by in ("|", "|&"))

    def _redirections(self, statement: _Statement) -> tuple[list[Word], list[tuple[Operator, Word]]]:
        words: list[Word] = []
        redirections: list[tuple[Operator, Word]] = []
        tokens = iter(statement.tokens)
        for token in tokens:
            if isinstance(token, Word):
                words.append(token)
                continue
            target = next(tokens, None)
            if not isinstance(target, Word) or token.text.lstrip("0123456789").startswith("<<"):
                self.refuse(token, f"{token.text} cannot be taken into a profile")
            else:
                redirections.append((token, target))
        return words, redirections

    def _assignments(self, words: list[Word]) -> tuple[dict[str, Word], list[Word]]:
        env: dict[str, Word] = {}
        rest = list(words)
        while rest and _ASSIGNMENT.match(rest[0].bare):
            name, value = _assignment(rest.pop(0))
            env[name] = self.filled(value)
        return env, rest

    def _export(self, words: list[Word]) -> None:
        for word in words:
            if _ASSIGNMENT.match(word.bare):
                name, value = _assignment(word)
                self.exported[name] = self.variables[name] = self.filled(value)
            elif word.text in self.variables:
                self.exported[word.text] = self.variables[word.text]
            else:
                self.refuse(word, f"export {word.text}: its value is not known here")

    def _cd(self, words: list[Word]) -> None:
        if len(words) != 2:
            self.refuse(words[0], "cd wants one folder")
        else:
            self.launch.cwd = self.filled(words[1])

    def _starts(self, words: list[Word]) -> bool:
        names = [each.text for each in words]
        return any(_PYTHON.fullmatch(name) or name.rpartition("/")[2] == "sglang" for name in names[:6])

    def _launch(
        self, env: dict[str, Word], words: list[Word], redirections: list[tuple[Operator, Word]], piped: bool
    ) -> None:
        words = list(words)
        while words and words[0].text in (*_PASSED_OVER, "env"):
            words.pop(0)
            more, words = self._assignments(words)
            env |= more
        program = words[0] if words else None
        if program is None or not self._program(program, words[1:], env):
            return
        self.launch.program = self.filled(program)
        self.launch.env |= env
        self.launch.words = [self.filled(each) for each in self.launch.words]
        for operator, target in redirections:
            self._redirect(operator, self.filled(target))
        if self.launch.log is None and not piped:
            self.note("no log is named: the profile's default is used")

    def _program(self, program: Word, words: list[Word], env: dict[str, Word]) -> bool:
        name = program.text
        if _PYTHON.fullmatch(name) or [each.text for each in words[:2]] == ["-m", "sglang.launch_server"]:
            while words and words[0].text in ("-u", "-B", "-O"):
                if words.pop(0).text == "-u":
                    env["PYTHONUNBUFFERED"] = Word((Piece("text", "1"),), program.line, program.column)
            if len(words) > 1 and words[0].text == "-m":
                self.launch.module, self.launch.words = words[1].text, words[2:]
                return True
            self.refuse(program, "a profile starts a module: python -m sglang.launch_server")
        elif name.rpartition("/")[2] == "sglang" and words and words[0].text == "serve":
            self.launch.words = words[1:]
            return True
        else:
            self.refuse(program, f"{name} is no launch of SGLang, and nothing here is run: leave it out")
        return False

    def _redirect(self, operator: Operator, target: Word) -> None:
        text = operator.text
        if text.endswith("&") and target.text in ("1", "2"):
            return
        if text.startswith("2>"):
            self.note(f"stderr goes to the log too, not to {target.text}")
        elif _TAKES_OUTPUT.fullmatch(text):
            self._log(target, ">>" in text)
        elif not text.endswith("<"):
            self.refuse(operator, f"{text} cannot be taken into a profile")

    def _tee(self, statement: _Statement) -> None:
        words, _ = self._redirections(statement)
        files = [self.filled(each) for each in words[1:] if not each.text.startswith("-")]
        if words and words[0].text == "tee" and len(files) == 1:
            self.note("tee is left out: the output goes to the log, which `logs --follow` shows")
            self._log(files[0], any(each.text == "-a" for each in words))
        else:
            at = words[0] if words else statement.end
            if at is not None:
                self.refuse(at, "a pipe, but one into tee FILE, cannot be taken into a profile")

    def _log(self, target: Word, appends: bool) -> None:
        if target.text == "/dev/null":
            self.note("the output went to /dev/null: the profile's default log is used")
            return
        self.launch.log = target
        if appends:
            self.note(f"the line appends to {target.text}")

    def filled(self, word: Word) -> Word:
        """The word with variables that the text itself sets filled in; what only a shell knows is refused."""
        pieces: list[Piece] = []
        for each in word.pieces:
            if each.kind in ("variable", "required") and each.text in self.variables:
                pieces += self.variables[each.text].pieces
            elif each.kind == "required":  # as `profiles show --shell` writes a variable of the node
                pieces.append(Piece("quoted", f"${{{each.text}}}"))
            elif each.kind == "variable" and each.text == "HOME":
                pieces.append(Piece("quoted", HOME))
            elif each.kind == "command":
                self.refuse(word, f"{each.text[:60]} is for a shell to run: write what it gives")
            else:
                pieces.append(each)
        filled = Word(tuple(pieces), word.line, word.column)
        return self._home(filled)

    def _home(self, word: Word) -> Word:
        bare = word.bare
        if not bare.startswith("~"):
            return word
        if bare != "~" and not bare.startswith("~/"):
            self.refuse(word, f"{bare.partition('/')[0]} is for a shell: write the folder")
            return word
        rest = Piece("text", bare[1:])
        return Word((Piece("quoted", HOME), rest, *word.pieces[1:]), word.line, word.column)


def _assignment(word: Word) -> tuple[str, Word]:
    first = word.pieces[0]
    name, _, value = first.text.partition("=")
    pieces = (Piece("text", value), *word.pieces[1:]) if value else word.pieces[1:]
    return name, Word(pieces, word.line, word.column)
