"""`spec-console connect` in a real terminal: it paints, quits, and tells its exit code."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

import pytest

LIMIT_S = 30.0
CTRL_Q = b"\x11"
"""Quits from under an open modal too."""
_COLOURS = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:[34][0-7]|9[0-7]|10[0-7]|[34]8;[25])(?:;[0-9;]*)?m")
_ESCAPES = re.compile(rb"\x1b\[[0-9;?<>=$]*[a-zA-Z]")


class Terminal:
    """One command on a terminal of 100 × 30."""

    def __init__(self, *words: str, home: str) -> None:
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(SPEC_CONSOLE_HOME=home, TERM="xterm-256color")
            os.execv(sys.executable, [sys.executable, "-c", "from console.cli import main; main()", *words])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))

    def until(self, text: bytes) -> None:
        """Read until `text` was drawn."""
        deadline = time.monotonic() + LIMIT_S
        while text not in _ESCAPES.sub(b"", self.seen):
            assert time.monotonic() < deadline, self.seen[-2000:]
            assert self._read(), self.seen[-2000:]

    def type(self, text: bytes) -> None:
        os.write(self.fd, text)

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        ready, _, _ = select.select([self.fd], [], [], LIMIT_S)
        try:
            data = os.read(self.fd, 65536) if ready else b""
        except OSError:  # Linux says so when the other side is closed
            data = b""
        self.seen += data
        return bool(data)


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch, request):
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))


def test_the_embedded_node_is_opened_and_left(tmp_path):
    terminal = Terminal("connect", "demo", home=str(tmp_path))
    terminal.until(b"connecting")
    terminal.until(b"GPUs 8/8 free")
    terminal.type(b"q")
    assert terminal.end() == 0


@pytest.mark.slow
def test_read_only_without_colours_and_left_by_a_command(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal("demo", "--readonly", home=str(tmp_path))
    terminal.until(b"READ-ONLY")
    terminal.until(b"GPUs 8/8 free")
    terminal.type(b":quit\r")
    assert terminal.end() == 0
    assert not _COLOURS.search(terminal.seen)
    assert (tmp_path / "state" / "commands").read_text() == "quit\n"


def test_a_connection_that_never_was_ends_in_its_error_and_exit_code(tmp_path):
    config = tmp_path / "config"
    config.mkdir()
    (config / "nodes.yaml").write_text("n:\n  transprt: local\n")
    terminal = Terminal("connect", "n", home=str(tmp_path))
    terminal.until(b"Not connected")
    terminal.type(CTRL_Q)
    assert terminal.end() == 2
    assert b"transport" in terminal.seen.rsplit(b"error:", 1)[1], "the nearest key, after the screen is given back"
