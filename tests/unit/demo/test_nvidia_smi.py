from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.unit.demo.standin_server import memory_mib, smi

if TYPE_CHECKING:
    from console.demo.setup import DemoNode

AS_AGENTS_ASK = "--format=csv,noheader,nounits"


def test_eight_idle_gpus(node: DemoNode) -> None:
    fields = "index,uuid,name,memory.total,memory.used,utilization.gpu,temperature.gpu,power.draw,power.limit,clocks.sm"
    code, text = smi(node, f"--query-gpu={fields},clocks_event_reasons.active,mig.mode.current", AS_AGENTS_ASK)
    rows = [line.split(", ") for line in text.splitlines()]
    assert code == 0
    assert [row[0] for row in rows] == [str(index) for index in range(8)]
    assert len({row[1] for row in rows}) == 8
    assert {(row[2], row[3], row[4], row[5], row[-1]) for row in rows} == {
        ("SIMULATED H200", "143771", "0", "0", "Disabled")
    }


def test_units_and_header(node: DemoNode) -> None:
    code, text = smi(node, "--query-gpu=index,memory.total,power.limit", "--format=csv", "-i", "3")
    assert (code, text) == (0, "index, memory.total [MiB], power.limit [W]\n3, 143771 MiB, 700.00 W\n")


def test_an_unknown_field_is_refused_in_the_tools_words(node: DemoNode) -> None:
    code, text = smi(node, "--query-gpu=index,memory.usde", AS_AGENTS_ASK)
    assert (code, text.strip()) == (2, 'Field "memory.usde" is not a valid field to query.')


def test_nothing_computes_when_nothing_runs(node: DemoNode) -> None:
    assert smi(node, "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", AS_AGENTS_ASK) == (0, "")


def test_list_version_and_nonsense(node: DemoNode) -> None:
    assert smi(node, "-L")[1].count("SIMULATED H200 (UUID: GPU-") == 8
    assert "SIMULATED" in smi(node, "--version")[1]
    assert smi(node, "-i", "9", "-L")[0] != 0
    assert smi(node, "--frobnicate")[0] != 0
    assert "SIMULATED" in smi(node)[1]


def test_a_colleagues_process_holds_memory_while_it_lives(node: DemoNode) -> None:
    colleague = node.home / "colleague.json"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            colleague.write_text(json.dumps({"pid": process.pid, "gpu": 2, "memory": 41000}))
            assert memory_mib(node) == [0, 0, 41000, 0, 0, 0, 0, 0]
            code, text = smi(node, "--query-compute-apps=pid,used_memory", AS_AGENTS_ASK)
            assert (code, text) == (0, f"{process.pid}, 41000\n")
            process.kill()
            process.wait()
            assert memory_mib(node) == [0] * 8
        finally:
            process.kill()
            colleague.unlink()
