"""What `free --pid` may end, what it refuses, and what it wants said twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.errors import Refused
from console.node.free_plan import FreePlan, FreeRequest, plan
from console.node.free_targets import Surroundings
from console.node.holders import classify
from remote_agent.protocol import GpuHolder, ProcessInfo
from tests.unit.node.test_node import HOST, ME, MINE, RUNS, UID, held, process

AROUND = Surroundings(HOST, UID, frozenset({500, 501}))
SLEEP = process(60, comm="sleep", title="sleep 300")
TRAINING = process(70, comm="python", title="python train.py")


def freeing(
    pid: int,
    *holders: GpuHolder,
    named: tuple[ProcessInfo, ...] = (),
    around: Surroundings = AROUND,
    host: str | None = None,
) -> FreePlan:
    request = FreeRequest(pids=(pid,), confirm_host=host, include_foreign=host is not None)
    return plan(request, classify(holders, RUNS, ME, UID), RUNS, ME, around, named)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (process(1, uid=0, comm="systemd", title="/sbin/init"), "the first process of the node"),
        (process(1, title="sglang::scheduler_TP0"), "the first process of the node"),
        (replace(process(2, uid=0, comm="kthreadd"), argv=[], ppid=0), "a thread of the kernel"),
        (replace(process(90, uid=0, comm="kworker/0:1"), argv=[], ppid=2), "a thread of the kernel"),
        (process(500, comm="python3", title="python3 agent.pyz"), "our agent, or what it was started by"),
        (process(501, comm="sshd", title="sshd: u@notty"), "our agent, or what it was started by"),
        (process(50, uid=0, comm="nv-hostengine", title="nv-hostengine"), "belongs to the system"),
    ],
)
@pytest.mark.parametrize("simulated", [False, True])
def test_what_is_vital_is_never_ended_whatever_is_confirmed(what, why, simulated):
    around = replace(AROUND, simulated=simulated)
    for holders in ((), (held(what.identity.pid, what),)):
        with pytest.raises(Refused, match="is never ended") as caught:
            freeing(what.identity.pid, *holders, named=(what,), around=around, host=HOST)
        assert why in caught.value.message


@pytest.mark.parametrize("stranger", [SLEEP, process(30), process(40, uid=7)], ids=["sleep", "SGLang", "foreign"])
def test_on_the_embedded_node_a_real_process_is_no_target_whatever_is_confirmed(stranger):
    pid, around = stranger.identity.pid, replace(AROUND, simulated=True)
    with pytest.raises(Refused, match=r"real process of this machine, and none of this SIMULATED node"):
        freeing(pid, named=(stranger,), around=around, host=HOST)


@pytest.mark.parametrize("known", [MINE, TRAINING], ids=["of a run", "a holder of its GPUs"])
def test_on_the_embedded_node_its_own_processes_are_targets(known):
    holders = () if known is MINE else (held(70, TRAINING),)
    found = freeing(known.identity.pid, *holders, named=(known,), around=replace(AROUND, simulated=True))
    assert found.processes == (known,)


@pytest.mark.parametrize("watches", [False, True], ids=["no GPU", "a device file open"])
def test_a_bystander_takes_the_typed_host_name_and_is_warned_of(watches):
    holders = (GpuHolder(0, 60, None, "/dev/nvidia0 is open", SLEEP, from_driver=False),) if watches else ()
    for host in (None, "other"):
        with pytest.raises(Refused, match="holds no GPU memory and is no process of SGLang") as caught:
            freeing(60, *holders, named=(SLEEP,), host=host)
        assert f"--confirm-host {HOST}" in caught.value.hint
    found = freeing(60, *holders, named=(SLEEP,), host=HOST)
    assert found.processes == (SLEEP,)
    assert "warning: pid 60 holds no GPU memory and is no process of SGLang: ending it frees no GPU" in found.lines()


@pytest.mark.parametrize("known", [TRAINING, process(30), MINE], ids=["holds memory", "SGLang", "of a run"])
def test_what_holds_memory_or_is_a_servers_takes_no_more_than_its_pid(known):
    pid = known.identity.pid
    holders = () if known is MINE else (held(pid, known),)
    found = freeing(pid, *holders, named=(known,))
    assert found.processes == (known,)
    assert not [line for line in found.lines() if line.startswith("warning")]
