"""Who holds the GPUs, and ending processes by identity: never by name, TERM, grace, KILL."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import Dict, List, Set, Tuple

from remote_agent import processes
from remote_agent.gpu import SourceError, sanity
from remote_agent.node import Node
from remote_agent.protocol import (
    AgentError,
    GpuHolder,
    GpuProcesses,
    Identity,
    ProcessInfo,
    ProtocolError,
    Terminated,
    Terminations,
    from_wire,
)
from remote_agent.request import Request, method

POLL_S = 0.05
AFTER_KILL_S = 5.0
_DEVICE = re.compile(r"/dev/nvidia(\d+)")


@method()
def processes_(node: Node, request: Request) -> GpuProcesses:
    """The driver's list, joined by processes that have a GPU device file open without being in it."""
    begun = time.thread_time()
    try:
        holders, reason = _driver_rows(node), node.gpu.reason
    except SourceError as error:
        holders, reason = [], str(error)
    opened, unreadable = _device_files()
    known = {(each.gpu_index, each.pid) for each in holders}
    holders += [
        GpuHolder(index, pid, None, f"/dev/nvidia{index} is open", from_driver=False)
        for pid, indexes in opened.items()
        for index in indexes
        if (index, pid) not in known and pid != os.getpid()
    ]
    found = _credible({each.pid for each in holders}, opened)
    return GpuProcesses(node.gpu.name, reason, unreadable, holders, found, time.thread_time() - begun)


def _driver_rows(node: Node) -> List[GpuHolder]:
    rows = node.gpu.holders()
    gpus = node.gpu.sample().gpus
    node.idle.note(gpus, _indexes(rows), lambda: _indexes(node.gpu.holders()))
    totals = {gpu.index: gpu.memory_total_bytes for gpu in gpus}
    return sanity.checked(rows, totals, _pid_max(), lambda pid: processes.identity(pid) is not None)


def _indexes(rows: List[GpuHolder]) -> Set[int]:
    return {row.gpu_index for row in rows}


def _credible(pids: Set[int], opened: Dict[int, List[int]]) -> List[ProcessInfo]:
    """The processes of the pids, but for those that are another namespace's and only look like one of ours."""
    own = processes.pid_namespace(os.getpid())
    found = [processes.info(pid) for pid in sorted(pids)]
    return [each for each in found if each and sanity.is_credible(own, each.pid_namespace, each.identity.pid in opened)]


def _pid_max() -> int:
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        return int(file.read())


@method(mutates=True)
def terminate(node: Node, request: Request) -> Terminations:
    """End the processes of `identities`; their start ticks are checked again before each signal."""
    try:
        wanted = [from_wire(Identity, each) for each in request.get("identities", list)]
    except ProtocolError as error:
        raise AgentError("invalid", str(error)) from None
    ours = {1, os.getpid(), *processes.ancestors(os.getpid())}
    if any(who.pid in ours for who in wanted):
        raise AgentError("refused", "PID 1, the agent and what it was started by are never ended")
    return Terminations(end_processes(wanted, request.get("grace_s", float, 10.0), request))


def end_processes(wanted: List[Identity], grace_s: float, request: Request) -> List[Terminated]:
    """TERM to each, wait up to `grace_s`, KILL to those that stay; says of each what became of it."""
    started = time.monotonic()
    outcomes: Dict[Identity, Tuple[str, str]] = {}
    for who in wanted:
        outcomes[who] = _signal(who, signal.SIGTERM, request)
    waiting = [who for who in wanted if outcomes[who][0] == "terminated"]
    for who in _wait(waiting, started + grace_s, request):
        outcomes[who] = _signal(who, signal.SIGKILL, request)
    killed = [who for who in waiting if outcomes[who][0] == "killed"]
    for who in _wait(killed, time.monotonic() + AFTER_KILL_S, request):
        outcomes[who] = ("left", f"still there {AFTER_KILL_S:.0f} s after SIGKILL (state {_state(who)})")
    waited = round(time.monotonic() - started, 2)
    return [Terminated(who.pid, outcome, reason, waited) for who, (outcome, reason) in outcomes.items()]


def _signal(who: Identity, number: int, request: Request) -> Tuple[str, str]:
    if request.is_stopped:
        return "left", "the request was cancelled before its signal"
    now = processes.identity(who.pid)
    if now is not None and now != who:
        return "mismatch", "the pid belongs to another process now; it was not signalled"
    try:
        sent = processes.send_signal(who, number)
    except PermissionError:
        return "denied", "it belongs to another user: root is needed"
    if not sent:
        return "gone", ""
    return ("killed", "SIGKILL after the grace") if number == signal.SIGKILL else ("terminated", "")


def _wait(waiting: List[Identity], deadline: float, request: Request) -> List[Identity]:
    """Wait for processes to go; those still there at the deadline are returned."""
    while True:
        waiting = [who for who in waiting if processes.is_alive(who)]
        left_s = deadline - time.monotonic()
        if not waiting or left_s <= 0:
            return waiting
        request.progress(waiting=[who.pid for who in waiting], left_s=round(left_s, 1))
        time.sleep(POLL_S)


def _state(who: Identity) -> str:
    info = processes.info(who.pid)
    return info.state if info else "gone"


def _device_files() -> Tuple[Dict[int, List[int]], int]:
    """GPU indexes by pid from open device files, and how many processes could not be looked into."""
    opened: Dict[int, List[int]] = {}
    unreadable = 0
    for pid in processes.pids():
        try:
            links = processes.open_files(pid)
        except PermissionError:
            unreadable += 1
            continue
        indexes = sorted({int(match.group(1)) for match in map(_DEVICE.fullmatch, links) if match})
        if indexes:
            opened[pid] = indexes
    return opened, unreadable
