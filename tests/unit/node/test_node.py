"""Whose a process is, what a free may end, and when a GPU counts as free."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.errors import Refused, UsageError
from console.node.free_plan import FreeRequest, plan
from console.node.free_targets import Surroundings
from console.node.holders import classify
from console.node.verdict import verdicts
from remote_agent.protocol import GpuHolder, GpuSample, Identity, ProcessInfo, ServerRun, TelemetrySample

ME, UID, HOST = "eva@desk", 1000, "gpu-node-1"
MIB = 1 << 20


def process(
    pid: int, uid: int = UID, comm: str = "sglang::schedul", title: str = "sglang::scheduler_TP0"
) -> ProcessInfo:
    who = Identity(pid, pid * 7, "boot")
    return ProcessInfo(who, 1, pid, pid, uid, f"u{uid}", comm, [title], "S", 60.0, cwd="/home/u")


def server(run_id: str, operator: str, *children: ProcessInfo, state: str = "running") -> ServerRun:
    return ServerRun(run_id, operator, ["python"], {}, "/", "/log", 0, 8000, 0.0, state, children=list(children))


def held(pid: int, info: ProcessInfo | None, used: int | None = 100 * MIB, gpu: int = 0) -> GpuHolder:
    return GpuHolder(gpu, pid, used, "nvml compute", info)


def sample(*used: int | None) -> TelemetrySample:
    return TelemetrySample(0.0, "nvml", "", [GpuSample(i, f"G{i}", "H200", 1000 * MIB, u) for i, u in enumerate(used)])


MINE, THEIRS, BARE = process(10), process(20), process(30)
RUNS = [server("r-mine", ME, MINE), server("r-theirs", "bob@desk", THEIRS)]


def kinds(*holders: GpuHolder) -> dict[int, str]:
    return {each.pid: each.kind for each in classify(holders, RUNS, ME, UID)}


def test_only_a_run_record_of_this_operator_makes_a_process_ours():
    found = kinds(
        held(10, MINE),
        held(20, THEIRS),
        held(30, BARE),
        held(40, process(40, uid=7)),
        held(50, process(50, comm="nvidia-persiste")),
        held(60, None),
    )
    assert found == {10: "ours", 20: "same-user", 30: "same-user", 40: "foreign", 50: "system", 60: "ghost"}


def test_a_reused_pid_is_not_ours():
    again = replace(MINE, identity=replace(MINE.identity, start_ticks=999))
    assert kinds(held(10, again)) == {10: "same-user"}


def test_memory_that_the_driver_does_not_tell_is_unknown_never_zero():
    (only,) = classify([held(10, MINE, None), held(10, MINE, 5, gpu=1)], RUNS, ME, UID)
    assert only.gpus == (0, 1)
    assert only.memory_used_bytes is None


@pytest.mark.parametrize(
    ("used", "holder", "state"),
    [
        (0, None, "free"),
        (64 * MIB, None, "free"),
        (65 * MIB, None, "held"),
        (None, None, "unknown"),
        (0, held(20, THEIRS), "held"),
        (4 * MIB, held(50, process(50, comm="nvidia-persiste")), "free"),
        (900 * MIB, held(60, None), "held"),
    ],
)
def test_the_verdict_of_a_gpu(used, holder, state):
    holders = classify([holder] if holder else [], RUNS, ME, UID)
    (found,) = verdicts(sample(used), holders)
    assert found.state == state
    assert found.reason


def test_an_idle_reading_is_allowed_for():
    reading = sample(500 * MIB)
    known = replace(reading, gpus=[replace(reading.gpus[0], memory_idle_bytes=450 * MIB)])
    assert verdicts(reading, ())[0].state == "held"
    assert verdicts(known, ())[0].state == "free"


def test_a_gpu_that_is_asked_for_and_not_listed_is_unknown():
    found = verdicts(sample(0, 0), (), gpus=(1, 5))
    assert [(each.index, each.state) for each in found] == [(1, "free"), (5, "unknown")]


def planned(request: FreeRequest, *holders: GpuHolder, named: tuple[ProcessInfo, ...] = ()):
    return plan(request, classify(holders, RUNS, ME, UID), RUNS, ME, Surroundings(HOST, UID), named)


def test_by_default_only_this_operators_servers_end():
    found = planned(FreeRequest(), held(10, MINE), held(20, THEIRS), held(30, BARE))
    assert [run.run_id for run in found.servers] == ["r-mine"]
    assert found.processes == ()
    assert [each.pid for each in found.untouched] == [20, 30]
    assert any("leave same-user pid 20" in line for line in found.lines())


def test_a_choice_of_gpus_leaves_servers_on_others():
    assert planned(FreeRequest(gpus=(3,)), held(10, MINE, gpu=0)).is_empty
    assert not planned(FreeRequest(gpus=(0,)), held(10, MINE, gpu=0)).is_empty


def test_a_pid_of_the_same_user_is_ended_only_when_it_is_named():
    found = planned(FreeRequest(pids=(30,)), held(10, MINE), held(30, BARE))
    assert found.servers == ()
    assert [each.identity.pid for each in found.processes] == [30]


def test_a_foreign_process_takes_the_typed_host_name():
    alien = process(40, uid=7)
    with pytest.raises(Refused, match="belongs to another user"):
        planned(FreeRequest(pids=(40,)), held(40, alien))
    with pytest.raises(Refused):
        planned(FreeRequest(pids=(40,), include_foreign=True, confirm_host="other"), held(40, alien))
    found = planned(FreeRequest(pids=(40,), include_foreign=True, confirm_host=HOST), held(40, alien))
    assert [each.identity.pid for each in found.processes] == [40]


def test_a_foreign_process_that_holds_no_gpu_is_foreign_too():
    with pytest.raises(Refused, match="belongs to another user"):
        planned(FreeRequest(pids=(40,)), named=(process(40, uid=7),))


def test_a_system_process_is_never_ended():
    daemon = process(50, uid=0, comm="nv-hostengine")
    request = FreeRequest(pids=(50,), include_foreign=True, confirm_host=HOST)
    with pytest.raises(Refused, match="belongs to the system"):
        planned(request, held(50, daemon))


def test_what_is_not_there_is_a_usage_error():
    with pytest.raises(UsageError, match="no process 99"):
        planned(FreeRequest(pids=(99,)))
    with pytest.raises(UsageError, match="no running server 'nope'") as caught:
        planned(FreeRequest(servers=("nope",)))
    assert "r-mine" in caught.value.hint


def test_a_hostile_title_comes_out_plain():
    evil = process(30, title="\x1b]52;c;aGk=\x07[bold]x")
    lines = list(planned(FreeRequest(pids=(30,)), held(30, evil)).lines())
    assert "\x1b" not in "".join(lines)
    assert "[bold]" in "".join(lines)


def test_a_monitor_that_has_the_device_open_holds_nothing():
    """Seen on a real H200: every NVML client has /dev/nvidia0 open, our own agent too."""
    monitor = GpuHolder(0, 30, None, "/dev/nvidia0 is open", BARE, from_driver=False)
    holders = classify([monitor], RUNS, ME, UID)
    assert verdicts(sample(0), holders)[0].state == "free"
    (found,) = verdicts(sample(900 * MIB), holders)
    assert found.state == "held"
    assert "the driver names nobody, the device is open in pid 30" in found.reason


def test_of_hundreds_that_have_the_device_open_some_are_named_and_the_rest_counted():
    opened = [GpuHolder(0, pid, None, "", process(pid), from_driver=False) for pid in range(100, 400)]
    (found,) = verdicts(sample(900 * MIB), classify(opened, RUNS, ME, UID))
    assert found.reason.count("pid ") == 8
    assert found.reason.endswith("; and 292 more")


def test_a_gpu_whose_device_file_alone_is_open_is_free_for_all_that_the_process_holds_another():
    # Seen on H200: a CUDA process on GPU 0 has the device files of all GPUs open; GPU 1 read 3 MiB.
    busy = held(30, BARE, 1000 * MIB, gpu=0)
    opened = GpuHolder(1, 30, None, "/dev/nvidia1 is open", BARE, from_driver=False)
    holders = classify([busy, opened], RUNS, ME, UID)
    found = verdicts(sample(1000 * MIB, 3 * MIB), holders)
    assert [each.state for each in found] == ["held", "free"]
    assert [each.state for each in verdicts(sample(1000 * MIB, 500 * MIB), holders)] == ["held", "held"]
    assert holders[0].memory_used_bytes == 1000 * MIB
    assert not holders[0].only_watches


def test_a_free_of_one_gpu_leaves_a_server_that_only_has_its_device_file_open():
    opened = GpuHolder(1, 10, None, "/dev/nvidia1 is open", MINE, from_driver=False)
    assert planned(FreeRequest(gpus=(1,)), held(10, MINE, gpu=0), opened).is_empty
    assert not planned(FreeRequest(gpus=(0,)), held(10, MINE, gpu=0), opened).is_empty
