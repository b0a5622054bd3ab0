"""Where logs are: of our runs, of SGLang processes that we did not start (their fd 1 and 2), of docker's containers."""

from __future__ import annotations

import json
import os
import stat
from typing import Dict, Iterator, Optional, Tuple

from remote_agent import processes
from remote_agent.log_places import LogPlaces
from remote_agent.node import Node
from remote_agent.protocol import LogSource

DOCKER = "/var/lib/docker/containers"
"""https://docs.docker.com/engine/logging/drivers/json-file/: CONTAINER_ID/CONTAINER_ID-json.log, for root alone."""
_DELETED = " (deleted)"


def each(node: Node, docker: str) -> Iterator[LogSource]:
    seen = set()
    for source in [*_of_runs(node), *_of_processes(), *_of_containers(docker)]:
        if source.problem:
            yield source
            continue
        try:
            info = os.stat(source.path)
        except OSError:
            continue
        if (info.st_dev, info.st_ino) not in seen:
            seen.add((info.st_dev, info.st_ino))
            yield LogSource(source.kind, source.path, source.label, info.st_size, source.pid, source.run_id)


def _of_runs(node: Node) -> Iterator[LogSource]:
    places = LogPlaces(node)
    for run_id, record in reversed(places.launches):
        log = places.of(run_id, str(record["log_path"])).path
        if log:
            yield LogSource("run", log, f"port {record.get('port')}", run_id=run_id)


def _of_processes() -> Iterator[LogSource]:
    for pid in sorted(processes.pids()):
        info = processes.info(pid)
        if pid == os.getpid() or info is None or info.uid != os.geteuid() or "sglang" not in info.title:
            continue
        for fd in (1, 2):
            path, problem = _behind(f"/proc/{pid}/fd/{fd}")
            if path:
                yield LogSource("process", path, info.title[:200], pid=pid, problem=problem)


def _behind(link: str) -> Tuple[str, str]:
    """The file behind a descriptor, and why it cannot be followed. A deleted one is read through the descriptor."""
    try:
        target, mode = os.readlink(link), os.stat(link).st_mode
    except OSError:
        return "", ""
    if stat.S_ISREG(mode):
        return (link if target.endswith(_DELETED) else target), ""
    if target == "/dev/null":
        return link, "its output is thrown away"
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a terminal" if stat.S_ISCHR(mode) else "no file"
    return link, f"it writes to {kind} ({target})"


def _of_containers(folder: str) -> Iterator[LogSource]:
    try:
        names = os.listdir(folder)
    except PermissionError:
        yield LogSource("docker", folder, "docker", problem="the logs of docker are for root alone")
        return
    except OSError:
        return
    for name in sorted(names):
        path = os.path.join(folder, name, f"{name}-json.log")
        if os.path.isfile(path):
            yield LogSource("docker", path, _container_name(os.path.join(folder, name)) or name[:12])


def _container_name(folder: str) -> Optional[str]:
    try:
        with open(os.path.join(folder, "config.v2.json"), encoding="utf-8") as file:
            told: Dict[str, object] = json.load(file)
    except (OSError, ValueError):
        return None
    return str(told.get("Name") or "").lstrip("/") or None
