"""A walk as an operator takes it, in a real tmux: connect, the loop, another size, detach, attach again, leave."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from console.tui.modals.plan import ARMED_AFTER_S
from tests.cli import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TMUX = shutil.which("tmux")
PROGRAM = [sys.executable, "-c", "from console.cli import main; main()"]
LOOK_S = 0.2
SEEN = {
    "Node": "GPUs",
    "Logs": "draft.fc_in",
    "Launch": "kimi-k2.5-eagle3-debug",
    "Patches": "eagle3-shapes",
    "Probe": "tok/s",
    "Runs": "valid",
}
"""What a screen shows after the loop."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(TMUX is None, reason="no tmux on this machine (Debian: apt-get install tmux)"),
]


class Tmux:
    """A server and a session of its own; nobody's other sessions are seen or touched."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")
        self._folder = folder

    def do(self, *words: str) -> str:
        assert TMUX
        words = (TMUX, "-S", self._socket, "-f", os.devnull, *words)
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout

    def start(self, *program: str) -> None:
        self.do("new-session", "-d", "-s", "walk", "-x", "80", "-y", "24", *program)
        self.do("set-option", "-t", "walk", "window-size", "manual")

    def press(self, *keys: str) -> None:
        self.do("send-keys", "-t", "walk", *keys)

    def screen(self) -> str:
        return self.do("capture-pane", "-p", "-t", "walk")

    def until(self, is_so: Callable[[str], bool], timeout_s: float = 60.0) -> str:
        """The first screen that is so."""
        deadline = time.monotonic() + timeout_s
        while not is_so(shown := self.screen()):
            assert time.monotonic() < deadline, f"{self.do('list-windows')}{shown}"
            time.sleep(LOOK_S)
        return shown

    def until_shown(self, text: str, timeout_s: float = 60.0) -> str:
        return self.until(lambda shown: text in shown, timeout_s)

    def confirm(self, key: str) -> None:
        """Ask, and answer the plan: a key that comes too soon after it is not taken for an answer."""
        self.press(key)
        while f"{key} again: do it" not in self.screen():
            time.sleep(LOOK_S)
        while f"{key} again: do it" in self.screen():
            self.press(key)
            time.sleep(ARMED_AFTER_S + LOOK_S)

    def attach(self) -> subprocess.Popen[bytes]:
        """A client on a terminal of its own, which `script` reads."""
        attach = shlex.join([str(TMUX), "-S", self._socket, "attach", "-t", "walk"])
        client = subprocess.Popen(
            ["script", "-qec", attach, os.devnull],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        while "walk" not in self.do("list-clients"):
            time.sleep(LOOK_S)
        return client


@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tmux]:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPEC_CONSOLE_DEMO_PORT", str(free_port()))
    made = Tmux(tmp_path)
    yield made
    with contextlib.suppress(subprocess.CalledProcessError):  # it ended with its last program
        made.do("kill-server")
    subprocess.run([*PROGRAM, "free", "demo", "--yes"], check=False, capture_output=True, timeout=120)


def test_a_console_is_walked_resized_left_alone_and_found_again(tmux: Tmux) -> None:
    tmux.start(*PROGRAM, "demo")
    tmux.until_shown("connected")
    tmux.confirm("R")

    client = tmux.attach()
    tmux.do("resize-window", "-t", "walk", "-x", "160", "-y", "50")
    tmux.until(lambda shown: max(map(len, shown.splitlines())) > 100)
    tmux.do("detach-client", "-s", "walk")
    client.communicate(timeout=30)

    tmux.until_shown("7/7", 300)
    client = tmux.attach()
    for number, (name, shown) in enumerate(SEEN.items(), 1):
        tmux.press(str(number))
        tmux.until_shown(f"[{number} {name}]")
        tmux.until_shown(shown)
    tmux.do("resize-window", "-t", "walk", "-x", "80", "-y", "24")
    tmux.until(lambda shown: max(map(len, shown.splitlines())) <= 80)
    tmux.press("1")
    tmux.until_shown("[1 Node]")
    tmux.confirm("S")
    tmux.until_shown("Stop: done")
    tmux.press("q")
    client.communicate(timeout=30)
