"""Questions of connecting, on a real terminal: the verb asks there, unseen, whichever transport it goes by."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from typing import TYPE_CHECKING

import pytest

from console import yaml_file
from tests.cli import PROGRAM
from tests.e2e.scripted_server import Script, ScriptedServer
from tests.e2e.ways import NODE, by

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.sshd  # for OpenSSH's client
LIMIT_S = 60.0
SECRET = "open sesame"


class Typed:
    """A verb on a terminal of its own."""

    def __init__(self, env: dict[str, str], *words: str) -> None:
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAM[0], [*PROGRAM, *words], {**os.environ, **env})
        self.seen = ""

    def read_until(self, text: str) -> None:
        self._read(lambda: text in self.seen)
        assert text in self.seen, self.seen

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def status(self) -> int:
        """Read on to its end; its exit code."""
        self._read(lambda: False)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self, enough) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not enough() and time.monotonic() < deadline:
            if select.select([self._terminal], [], [], 0.2)[0]:
                try:
                    data = os.read(self._terminal, 4096)
                except OSError:  # its end, on Linux
                    return
                self.seen += data.decode("utf-8", "replace")


@pytest.fixture
def server(tmp_path) -> Iterator[ScriptedServer]:
    made = ScriptedServer(tmp_path / "server", Script(codes=(SECRET, "123456")))
    yield made
    made.stop()


def console(server: ScriptedServer, folder: Path, transport: str) -> dict[str, str]:
    (folder / "config").mkdir(parents=True)
    node = {"host": NODE, "transport": transport, "python": sys.executable}
    (folder / "config" / "nodes.yaml").write_text(yaml_file.dump({"gpu": node}))
    return {**server.environ(), "SPEC_CONSOLE_HOME": str(folder), "XDG_CACHE_HOME": "", "SSH_AUTH_SOCK": ""}


@by("asyncssh", "openssh")
def test_a_password_and_a_code_are_asked_for_and_the_password_is_not_shown(name, server, tmp_path):
    verb = Typed(console(server, tmp_path / "console", name), "agent", "ls", "gpu")
    verb.read_until("Password: ")
    verb.type(SECRET + "\n")
    verb.read_until("Code: ")
    verb.type("123456\n")
    assert verb.status() == 0, verb.seen
    assert SECRET not in verb.seen


@by("openssh")
def test_ctrl_c_at_a_question_ends_the_verb(name, server, tmp_path):
    verb = Typed(console(server, tmp_path / "console", name), "agent", "ls", "gpu")
    verb.read_until("Password: ")
    verb.type("\x03")
    assert verb.status() == 130, verb.seen
