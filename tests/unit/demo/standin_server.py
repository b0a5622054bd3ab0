"""A stand-in server as a test holds it, and how to ask it and its node."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.demo.setup import DemoNode

READY = "The server is fired up and ready to roll!"
STORY = ["--trust-remote-code", "--num-continuous-decode-steps", "4", "--disable-custom-all-reduce"]


class Standin:
    """One stand-in server, in a process group of its own, with everything it writes in one log."""

    def __init__(self, node: DemoNode, log: Path, port: int, argv: list[str], env: dict[str, str]) -> None:
        self.node, self.log, self.port = node, log, port
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "sglang.launch_server", *argv],
                env={**os.environ, **node.env, "SPEC_CONSOLE_DEMO_LOAD_S": "0.1", **env},
                cwd=node.home,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def text(self) -> str:
        return self.log.read_bytes().decode("utf-8")

    def lines(self) -> list[str]:
        return self.text().replace("\r", "\n").split("\n")

    def wait_ready(self) -> Standin:
        wait_until(lambda: READY in self.text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.text()[-3000:]
        return self

    def wait(self) -> int:
        return self.process.wait(timeout=20)

    def stop(self) -> int:
        self.process.terminate()
        return self.wait()

    def end(self) -> None:
        """Kill what is left of the group; it leads its own session, so nothing else is in it."""
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(timeout=20)


def wait_until(is_so: Callable[[], bool], timeout_s: float = 20.0) -> None:
    give_up = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < give_up, "it never became so"
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def eagle(node: DemoNode, draft: str = "output_100k_sglang", algorithm: str = "EAGLE3") -> list[str]:
    """The story's speculative options."""
    path = f"{node.variables['drafts']}/{draft}/4"
    options = {"algorithm": algorithm, "draft-model-path": path, "eagle-topk": 1, "num-draft-tokens": 6, "num-steps": 5}
    return [word for name, value in options.items() for word in (f"--speculative-{name}", str(value))]


def smi(node: DemoNode, *options: str) -> tuple[int, str]:
    done = subprocess.run([str(node.nvidia_smi), *options], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def memory_mib(node: DemoNode) -> list[int]:
    code, text = smi(node, "--query-gpu=memory.used", "--format=csv,noheader,nounits")
    assert code == 0
    return [int(line) for line in text.split()]


KEY = "not-a-secret"
GREEDY = {"temperature": 0, "ignore_eos": True}


@dataclass(frozen=True)
class Reply:
    status: int
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


def call(server: Standin, method: str, path: str, body: Any = None, key: str | None = KEY) -> Reply:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return Reply(answer.status, answer.read().decode("utf-8"))
    finally:
        connection.close()


def generate(server: Standin, prompt: Any, new_tokens: int, stream: bool = False) -> Reply:
    body = {"sampling_params": {**GREEDY, "max_new_tokens": new_tokens}, "stream": stream}
    return call(server, "POST", "/generate", {**body, **prompt})


def children(pid: int) -> dict[int, tuple[str, str]]:
    """Living children: pid to (the whole command line, comm)."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found[int(child)] = (
            Path(f"/proc/{child}/cmdline").read_bytes().decode("utf-8").rstrip("\0"),
            Path(f"/proc/{child}/comm").read_text().strip(),
        )
    return found


def apps(node: DemoNode) -> list[list[str]]:
    fields = "--query-compute-apps=gpu_uuid,pid,process_name,used_memory"
    return [line.split(", ") for line in smi(node, fields, "--format=csv,noheader,nounits")[1].splitlines()]
