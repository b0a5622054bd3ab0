"""Questions of connecting (passwords, codes, passphrases), asked on the terminal itself as ssh does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
from typing import TYPE_CHECKING

from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.remote.prompts import Ask, Question

TERMINAL = "/dev/tty"
MAX_ANSWER = 4096
MAX_TEXT = 2000


def terminal_ask() -> Ask | None:
    """Return how to ask, or None where nobody is there to answer."""
    return ask_on_terminal if sys.stdin.isatty() else None


async def ask_on_terminal(question: Question) -> str | None:
    """Show a question and read a line; None at the end of input, or without a terminal."""
    try:
        terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
        with _unseen(terminal) if question.secret and question.answered else contextlib.nullcontext():
            os.write(terminal, shown(question).encode())
            if question.answered:
                return await _line(terminal)
        os.write(terminal, b"\n")
        return ""
    finally:
        os.close(terminal)


def shown(question: Question) -> str:
    """The question as it stands on the terminal; who asks stands before each line, lest a node's text pass for ours."""
    text = plain(question.text[:MAX_TEXT], lines=True)
    return "\n".join(f"({plain(question.asker)}) {line}" for line in text.split("\n")) if question.asker else text


@contextlib.contextmanager
def _unseen(terminal: int) -> Iterator[None]:
    """Show nothing that is typed: from before the question on, whatever happens meanwhile."""
    before = termios.tcgetattr(terminal)
    silent = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(terminal, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        os.write(terminal, b"\n")


async def _line(terminal: int) -> str | None:
    """Wait for a line without blocking: Ctrl-C must end it, and a connection has other work meanwhile."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        if not ready.done():
            ready.set_result(os.read(terminal, MAX_ANSWER))

    loop.add_reader(terminal, read)
    try:
        data = await ready
    finally:
        loop.remove_reader(terminal)
    return data.decode("utf-8", "replace").rstrip("\r\n") if data else None
