"""Field cases of freeing: process lists and driver rows as people posted them, and what we make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.logs.history import LogHistory
from console.node.free_plan import FreeRequest, plan
from console.node.free_targets import Surroundings
from console.node.holders import Holder, classify
from console.node.titles import ranks, role
from console.node.verdict import verdicts
from remote_agent.protocol import GpuHolder, GpuSample, Identity, ProcessInfo, TelemetrySample

DATA = Path(__file__).parents[1] / "data" / "cases"
UIDS = {"svc": 1000, "usrb": 1001, "root": 0}
MIB = 1 << 20


def process(line: str) -> ProcessInfo:
    """One row of `ps -eo pid,ppid,stat,user,comm,args`."""
    pid, ppid, stat, user, comm, args = line.split(None, 5)
    return ProcessInfo(
        Identity(int(pid), int(pid), "boot"), int(ppid), int(pid), int(pid), UIDS[user], user, comm, args.split(),
        stat[0], 60.0,
    )  # fmt: skip


class Case:
    """A posted state of a node: its processes and the driver's rows."""

    def __init__(self, name: str) -> None:
        (path,) = DATA.glob(f"{name}-*.txt")
        rows: dict[str, list[str]] = {"ps": [], "apps": [], "gpus": []}
        section = ""
        for line in path.read_text().splitlines():
            if line.startswith("#"):
                section = (
                    "ps"
                    if " ps " in line
                    else "apps"
                    if "compute-apps" in line
                    else "gpus"
                    if "query-gpu" in line
                    else ""
                )
            elif section:
                rows[section].append(line)
        self.processes = {each.identity.pid: each for each in map(process, rows["ps"])}
        self.apps = [[cell.strip() for cell in line.split(",")] for line in rows["apps"]]
        self.gpus = [[cell.strip() for cell in line.split(",")] for line in rows["gpus"]]

    def holders(self, uid: int = 1000) -> dict[int, Holder]:
        devices = {uuid: index for index, uuid in enumerate(dict.fromkeys(row[0] for row in self.apps))}
        rows = [
            GpuHolder(devices[uuid], int(pid), int(used) * MIB, "nvidia-smi", self.processes.get(int(pid)))
            for uuid, pid, _name, used in self.apps
        ]
        return {each.pid: each for each in classify(rows, [], "me@here", uid, self.processes.values())}


def test_c01_orphaned_ranks_and_detokenizer_are_found_by_title_and_the_tracker_is_not():
    holders = Case("C01").holders()
    assert {pid: each.role for pid, each in holders.items()} == {
        91001: "scheduler",
        91002: "scheduler",
        91010: "detokenizer",
    }
    assert holders[91001].memory_used_bytes == 75310 * MIB
    assert holders[91010].gpus == ()


def test_c02_padded_titles_and_cut_names():
    lines = [line for line in (DATA / "C02-comm.txt").read_text().splitlines() if not line.startswith("#")]
    parsed = []
    for line in lines:
        comm, _, cmdline = line.partition(" | ")
        argv = cmdline.rstrip("~").split("~")
        parsed.append((role(row(comm, argv)), ranks(row(comm, argv))))
    assert parsed == [("scheduler", "TP8"), ("scheduler", "TP15"), ("detokenizer", ""), (None, "")]


def row(comm: str, argv: list[str]) -> ProcessInfo:
    return ProcessInfo(Identity(1, 1, "b"), 1, 1, 1, 1000, "svc", comm, argv, "S", 1.0)


def test_c04_the_shell_that_names_sglang_and_the_agent_under_its_path_are_no_sglang():
    assert set(Case("C04").holders()) == {91001}


def test_c06_in_a_container_the_drivers_pids_are_ghosts_and_the_titles_here_are_the_candidates():
    holders = Case("C06").holders(uid=0)
    assert {pid: each.kind for pid, each in holders.items()} == {
        412: "same-user",
        413: "same-user",
        2505781: "ghost",
        2505782: "ghost",
    }
    chosen = plan(FreeRequest(pids=(412, 413)), tuple(holders.values()), (), "me@here", Surroundings("h", 0), ())
    assert [each.identity.pid for each in chosen.processes] == [412, 413]
    with pytest.raises(Exception, match="no process 2505781"):
        plan(FreeRequest(pids=(2505781,)), tuple(holders.values()), (), "me@here", Surroundings("h", 0), ())


def test_c08_zombies_hold_nothing_and_memory_decides():
    case = Case("C08")
    zombies = [each for each in case.processes.values() if each.state == "Z"]
    assert len(zombies) == 2
    rows = [GpuHolder(i, each.identity.pid, 4 * MIB, "nvidia-smi", each) for i, each in enumerate(zombies)]
    sample = TelemetrySample(
        0.0, "smi", "", [GpuSample(int(i), f"G{i}", "H200", 1 << 37, int(used) * MIB) for i, used in case.gpus]
    )
    found = verdicts(sample, classify(rows, [], "me@here", 0))
    assert [each.state for each in found] == ["free", "free"]
    assert "harmless" in found[0].reason


def test_c10_a_foreign_server_is_refused_and_our_own_training_job_asks():
    holders = Case("C10").holders()
    assert {pid: (each.kind, each.role) for pid, each in holders.items()} == {
        81001: ("foreign", "scheduler"),
        81100: ("same-user", None),
    }
    assert plan(FreeRequest(), tuple(holders.values()), (), "me@here", Surroundings("h", 1000), ()).is_empty


def test_c11_leftovers_without_gpu_memory_are_shown():
    assert {pid: each.role for pid, each in Case("C11").holders().items()} == {
        91010: "detokenizer",
        91020: "tokenizer_worker",
    }


def test_c12_workers_of_a_removed_container_are_same_user_holders():
    holders = Case("C12").holders(uid=0)
    assert {each.kind for each in holders.values()} == {"same-user"}
    assert sum(each.memory_used_bytes or 0 for each in holders.values()) == (11210 + 11008) * MIB


def test_b03_a_held_rpc_port_is_the_cause_of_the_death():
    history = LogHistory()
    history.feed(0, (DATA / "B03-rpc-port.log").read_bytes())
    history.finish()
    assert "rpc_port at 11236 is not available" in " ".join(history.tail)


def test_b05_the_same_sentence_is_a_death_in_one_release_and_a_warning_in_another():
    phases = []
    for name in ("B05-unbalanced-draft.log", "B05-unbalanced-warn.log"):
        history = LogHistory()
        history.feed(0, (DATA / name).read_bytes())
        history.finish()
        phases.append(history.phase.name)
    assert phases[0] == "died"
    assert phases[1] != "died"
