"""Run the command line as a user does: a process of its own, a home of its own, JSON read back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_S = 110.0
SMALL_LOAD = ("probe.blocks=2", "probe.requests_per_block=1", "probe.max_new_tokens=48", "probe.warmup=0")
PROGRAM = (sys.executable, "-c", "from console.cli import main; main()")


@dataclass(slots=True)
class Console:
    """A console with its home under `home`, and the demo server on a port of its own."""

    home: Path
    port: int
    env: dict[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        own = {"SPEC_CONSOLE_HOME": str(self.home), "SPEC_CONSOLE_DEMO_LOAD_S": "0.2"}
        return {**kept, **own, **self.env}

    def run(self, *words: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, the JSON object (empty when there is none), narration."""
        done = subprocess.run(
            [*PROGRAM, *words, "--json"],
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *words, "--json"],
            env=self.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def leave(self) -> None:
        """End what was started on the embedded node, if anything was."""
        if next(self.home.rglob("run.json"), None):
            self.run("free", "demo", "--yes")

    def sets(self, *more: str) -> list[str]:
        """--set words: our port, a small load, and more."""
        return [word for each in (f"port={self.port}", *SMALL_LOAD, *more) for word in ("--set", each)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
