"""Logs: follow one, find its last lines, search it, and say where logs are."""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import subprocess
import sys
import time
from typing import Any, Dict

from remote_agent import log_sources, runs
from remote_agent.follow import Follower
from remote_agent.log_places import LogPlaces
from remote_agent.node import Node
from remote_agent.protocol import AgentError, LogPlace, LogSources, LogTail
from remote_agent.request import Request, method
from remote_agent.rotation import LogFile
from remote_agent.scan import line_at

_BACK = 256 * 1024


@method()
def follow(node: Node, request: Request) -> None:
    """Send `logs.batch` from `offset` on until cancelled; `logs.reset` when the file was cut or replaced.

    `resume` is a batch's `position`: it goes on there, also when the file has another name by now. An `offset` below
    zero counts from the end. With `until_eof` the call ends at the end; without, a file that is not there is awaited.
    """
    Follower(request.get("path", str), request).run()


@method()
def tail(node: Node, request: Request) -> LogTail:
    """Where the last `lines` lines begin, at most `limit` bytes before the end."""
    with _open(request.get("path", str)) as file:
        size = os.fstat(file.fd).st_size
        place = file.place(_back(file, size, request.get("lines", int), request.get("limit", int)))
        return LogTail(place.offset, size, place.to_text(), time.strftime("%Y-%m-%d %H:%M:%S"))


@method()
def search(node: Node, request: Request) -> None:
    """Send `logs.hits`: lines that match `pattern`, from `start` on, backward or forward, at most `limit`.

    Runs as a process of its own (remote_agent/scan.py). Raises AgentError: not_found, permission; invalid for a pattern
    that is none; refused for one that is too slow.
    """
    kinds = {"pattern": str, "regex": bool, "ignore_case": bool, "inverse": bool, "backward": bool, "limit": int}
    asked: Dict[str, Any] = {name: request.get(name, kind) for name, kind in kinds.items()}
    asked["start"] = request.get("start", int, None)
    program = pkgutil.get_data("remote_agent", "scan.py")
    assert program is not None
    with _open(request.get("path", str)) as file:
        asked["fd"] = file.fd
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(file.fd,),
        )
    _relay(child, asked, request)


def _relay(child: subprocess.Popen[bytes], asked: Dict[str, Any], request: Request) -> None:
    with child:
        try:
            assert child.stdin
            assert child.stdout
            child.stdin.write(json.dumps(asked).encode() + b"\n")
            child.stdin.close()
            for line in child.stdout:
                found = json.loads(line)
                if "error" in found:
                    raise AgentError("invalid", f"not a pattern: {found['error']}")
                if request.is_stopped or not request.send("logs.hits", found):
                    return
                if found["end"]:
                    return
            status = child.wait()
        finally:
            child.kill()
    if status == -signal.SIGPROF:
        hint = "Search for plain text, or without one repetition inside another."
        raise AgentError("refused", "the pattern takes more than 5 s for 1 MB of this file", hint)
    raise AgentError("failed", f"the search ended with status {status}")


@method()
def sources(node: Node, request: Request) -> LogSources:
    """Every log that can be found, the newest runs first."""
    return LogSources(list(log_sources.each(node, request.get("docker", str, log_sources.DOCKER))))


@method()
def place(node: Node, request: Request) -> LogPlace:
    """Where the lines of `path` are now that were written from the start of a run on. Raises AgentError(invalid)."""
    run_id = request.get("run_id", str)
    if not runs.is_run_id(run_id):
        raise AgentError("invalid", f"not a run id: {run_id[:80]!r}")
    return LogPlaces(node).of(run_id, request.get("path", str))


def _open(path: str) -> LogFile:
    try:
        return LogFile(path)
    except FileNotFoundError:
        raise AgentError("not_found", f"no file {path}") from None


def _back(file: LogFile, size: int, lines: int, limit: int) -> int:
    """The offset behind the newline that ends the line before the last `lines` lines."""
    if lines <= 0:
        return size
    at, lowest = size, max(0, size - limit)
    while at > lowest:
        start = max(lowest, at - _BACK)
        block = os.pread(file.fd, at - start, start)
        here = len(block) - (at == size and block.endswith(b"\n"))  # the end of the last line begins none
        while (here := block.rfind(b"\n", 0, here)) >= 0:
            lines -= 1
            if lines == 0:
                return start + here + 1
        at = start
    begin = line_at(file.fd, at, size)
    return begin if begin < size else at
