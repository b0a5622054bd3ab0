"""Processes of one server: found by record or launcher, planned as one, and named by what ends them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.node.free_plan import FreePlan, FreeRequest, plan
from console.node.free_targets import Surroundings
from console.node.holders import Holder, classify
from console.node.server_groups import flags_for, gpu_list, group, without_strangers
from console.node.verdict import verdicts
from remote_agent.protocol import GpuHolder, ProcessInfo, ServerRun
from tests.unit.node.test_node import HOST, ME, MIB, UID, held, process, sample, server

ARGV = ["python", "-m", "sglang.launch_server", "--tp-size", "2"]


def below(parent: int, pid: int, title: str, pgid: int = 0, uid: int = UID) -> ProcessInfo:
    return replace(process(pid, uid, title=title), ppid=parent, pgid=pgid or parent)


def colleagues(uid: int = UID, base: int = 100) -> list[ProcessInfo]:
    """A launcher, two ranks, a detokenizer, as a shell starts them."""
    launcher = replace(process(base, uid, comm="python"), argv=ARGV, ppid=7)
    titles = ("sglang::scheduler_TP0", "sglang::scheduler_TP1", "sglang::detokenizer")
    return [launcher, *(below(base, base + 1 + at, title, uid=uid) for at, title in enumerate(titles))]


def holders_of(them: list[ProcessInfo], runs: tuple[ServerRun, ...] = (), first_gpu: int = 0) -> tuple[Holder, ...]:
    ranks = [each for each in them if "scheduler" in each.title]
    rows = [held(each.identity.pid, each, gpu=first_gpu + at) for at, each in enumerate(ranks)]
    return classify(rows, runs, ME, UID, them)


def freeing(holders: tuple[Holder, ...], runs: tuple[ServerRun, ...] = (), **chosen: object) -> FreePlan:
    named = [each.process for each in holders if each.process]
    return plan(FreeRequest(**chosen), holders, runs, ME, Surroundings(HOST, UID), named)  # type: ignore[arg-type]


def test_what_stands_below_one_launcher_is_one_server_and_is_left_as_one():
    found = list(freeing((*holders_of(colleagues()), *holders_of([process(30)], first_gpu=5))).lines())
    assert found[0].startswith("leave same-user pid 30") or found[0].startswith("leave a server")
    assert "leave a server of 4 processes on GPUs 0-1; end it with --pid 100" in found
    assert sum("end it with" in line for line in found) == 2, "one remedy for each server"
    assert any("pid 100 python -m sglang.launch_server" in line and "no GPU memory" in line for line in found)
    assert any("sglang::detokenizer" in line and "no GPU memory" in line for line in found)
    assert any(line.startswith("leave same-user pid 30") and line.endswith("end it with --pid 30") for line in found)


def test_a_rank_takes_its_server_along_and_the_plan_says_what_ends_it_better():
    found = freeing(holders_of(colleagues()), pids=(102,))
    lines = list(found.lines())
    assert "warning: pid 102 belongs to a server of 4 processes on GPUs 0-1: ending one ends the server" in lines[1]
    assert lines[1].endswith("; --pid 100 lets its launcher end it")
    assert {each.pid for each in found.taken_along} == {100, 101, 103}
    assert not [line for line in lines if line.startswith("leave")]
    assert "GPU 0: 100 MiB of 1 processes end, 0 MiB of 0 stay" in lines


def test_a_launcher_takes_its_server_along_without_a_warning():
    found = freeing(holders_of(colleagues()), pids=(100,))
    assert "pid 100 is the launcher of a server of 4 processes on GPUs 0-1: they end with it" in found.lines()
    assert not [line for line in found.lines() if line.startswith("warning")]
    assert {each.pid for each in found.taken_along} == {101, 102, 103}


def test_a_colleagues_run_is_ended_by_its_record():
    them = colleagues()
    runs = (server("20261130T010203-a1b2c3", "bob@desk", *them),)
    found = freeing(holders_of(them, runs), runs, pids=(101,))
    assert any(line.endswith("; --server 20261130T010203-a1b2c3 lets its launcher end it") for line in found.lines())


@pytest.mark.parametrize("init", [1, 900], ids=["PID 1", "a subreaper"])
def test_orphans_stand_alone_and_none_is_said_to_take_the_others_along(init):
    ranks = [below(init, 101, "sglang::scheduler_TP0", pgid=100), below(init, 102, "sglang::scheduler_TP1", pgid=100)]
    assert group(holders_of(ranks)) == ()
    runs = (server("r-lost", "bob@desk", *ranks, state="lost"),)
    found = freeing(holders_of(ranks, runs), runs, pids=(101,))
    assert found.taken_along == ()
    assert not [line for line in found.lines() if line.startswith("warning")]


def test_two_servers_of_one_shell_are_two():
    holders = (*holders_of(colleagues()), *holders_of(colleagues(base=200), first_gpu=2))
    assert [each.launcher for each in group(holders)] == [100, 200]
    assert {each.pid for each in freeing(holders, pids=(101,)).untouched} == {200, 201, 202, 203}


def test_the_ranks_of_somebodys_own_program_end_by_that():
    ranks = [below(100, 101, "sglang::scheduler_TP0"), below(100, 102, "sglang::scheduler_TP1")]
    (found,) = group(holders_of(ranks))
    assert found.launcher == 100


def test_a_server_that_is_pid_1_of_its_container_has_no_pid_to_be_ended_by():
    launcher, *others = colleagues()
    first = replace(launcher, identity=replace(launcher.identity, pid=1), ppid=0)
    holders = holders_of([first, *(replace(each, ppid=1, pgid=1) for each in others)])
    assert group(holders)[0].launcher == 1
    assert {flags_for(each, group(holders)) for each in holders} == {""}


def test_what_another_account_and_a_monitor_take_is_said():
    foreign = holders_of([process(40, uid=7)])
    assert flags_for(foreign[0], ()) == "--pid 40 --include-foreign --confirm-host HOST"
    monitor = process(60, comm="nvtop", title="nvtop")
    (watching,) = classify([GpuHolder(0, 60, None, "open", monitor, from_driver=False)], (), ME, UID)
    assert flags_for(watching, ()) == "--pid 60 --confirm-host HOST"
    assert flags_for(classify([held(60, None)], (), ME, UID)[0], ()) == "", "a ghost is ended on the host"


def test_a_choice_of_gpus_shows_the_whole_of_a_server_on_one_of_them():
    found = freeing(holders_of(colleagues()), gpus=(1,))
    assert {each.pid for each in found.untouched} == {100, 101, 102, 103}
    assert freeing(holders_of(colleagues()), gpus=(5,)).untouched == ()


def test_of_the_machines_sglang_the_embedded_node_has_what_its_driver_or_a_record_knows():
    strangers = [replace(each, identity=replace(each.identity, pid=each.identity.pid + 300)) for each in colleagues()]
    strangers = [strangers[0], *(replace(each, ppid=400, pgid=400) for each in strangers[1:])]
    rows = [held(101, colleagues()[1])]
    found = without_strangers(classify(rows, (), ME, UID, [*colleagues(), *strangers]))
    assert {each.pid for each in found} == {100, 101, 102, 103}


def test_gpus_are_told_as_ranges():
    assert [gpu_list(each) for each in ((3,), (0, 1, 2, 3), (0, 2, 3, 6))] == ["GPU 3", "GPUs 0-3", "GPUs 0,2-3,6"]


def test_memory_of_what_has_ended_and_is_not_reaped_is_no_case_for_the_admin():
    zombie = replace(process(30), state="Z")
    (found,) = verdicts(sample(900 * MIB), classify([held(30, zombie)], (), ME, UID))
    assert found.state == "held"
    assert "not yet reaped" in found.reason
