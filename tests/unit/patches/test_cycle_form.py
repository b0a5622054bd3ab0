"""Cycle records: what is timed, by which clock, when it is read, and their exact form, on 3.8 and on this Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.patches.served import PYTHONS, read_back, runner

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.patches.served import Run

PRELUDE = """
load()
now = [0.0]
module.time = Holder(perf_counter=lambda: now[0])
def spend(ms): now[0] += ms / 1e3
class EAGLEWorkerV2:
    @module.cycle
    def forward_batch_generation(self, batch, on_publish=None):
        "What it does."
        spend(0.5)
        if batch.prefill: return "prefilled"
        self.draft(batch)
        self.verify(batch)
        if batch.extends: self.extend(batch)
        return "cycled"
    @module.draft
    def draft(self, batch): spend(3)
    @module.verify
    def verify(self, batch):
        spend(1)
        module.target_start("cycle.target")
        spend(8)
        module.target_end("cycle.target")
        if batch.fails: raise KeyError("theirs")
    @module.extend
    def extend(self, batch): spend(1.25)
worker = EAGLEWorkerV2()
def call(prefill=False, extends=True, fails=False, bs=1):
    return worker.forward_batch_generation(Holder(prefill=prefill, extends=extends, fails=fails, reqs=[0] * bs))
"""
CUDA = """
done, made = set(), []
class Event:
    def __init__(self, enable_timing):
        assert enable_timing
        made.append(self)
    def record(self): self.at = now[0]; done.discard(self)
    def query(self): return self in done
    def elapsed_time(self, other):
        assert self in done and other in done, "would wait or raise"
        return (other.at - self.at) * 1e3
    def synchronize(self): raise AssertionError("nothing may wait for the GPU")
capturing = []
cuda = Holder(is_available=lambda: True, Event=Event, is_current_stream_capturing=lambda: bool(capturing))
sys.modules["torch"] = Holder(cuda=cuda)
"""


@pytest.fixture(params=PYTHONS, ids=lambda path: path.rsplit("/", 1)[-1])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    return runner("eagle3-cycle", request.param, tmp_path, PRELUDE)


def test_a_cycle_by_the_hosts_clock(run: Run) -> None:
    assert run('assert call(bs=3) == "cycled"') == [
        "[EAGLE3_CYCLE] rank=0 seq=1 worker=EAGLEWorkerV2 bs=3 draft_ms=3.000 verify_ms=9.000 target_ms=8.000"
        " extend_ms=1.250 cycle_ms=13.750 gap_ms=- clock=host\n"
    ]


def test_the_parser_reads_back_what_was_written(run: Run) -> None:
    found = read_back(run("call()\nspend(0.25)\ncall(extends=False)"))
    assert [one.kind for one in found] == ["eagle3_cycle"] * 2
    common = {"rank": 0, "worker": "EAGLEWorkerV2", "bs": 1, "draft_ms": 3.0, "verify_ms": 9.0, "target_ms": 8.0}
    assert [dict(one.fields) for one in found] == [
        {**common, "seq": 1, "extend_ms": 1.25, "cycle_ms": 13.75, "gap_ms": None, "clock": "host"},
        {**common, "seq": 2, "extend_ms": None, "cycle_ms": 12.5, "gap_ms": 0.25, "clock": "host"},
    ]


def test_a_prefill_is_no_cycle_and_breaks_the_gap(run: Run) -> None:
    lines = run('call()\nassert call(prefill=True) == "prefilled"\ncall()')
    assert [line.split()[2] for line in lines] == ["seq=1", "seq=2"]
    assert [line.split()[-2] for line in lines] == ["gap_ms=-", "gap_ms=-"]


def test_cuda_events_are_read_only_once_the_gpu_has_passed_them(run: Run) -> None:
    code = """
call()
call()
assert len(made) == 20
print("none read", flush=True)
done.update(made[:10])
call(prefill=True)
print("first read", flush=True)
done.update(made)
call()
"""
    lines = run(CUDA + code)
    assert lines[0] == "none read\n"
    assert lines[1].startswith("[EAGLE3_CYCLE] rank=0 seq=1 ")
    assert lines[1].endswith("extend_ms=1.250 cycle_ms=13.750 gap_ms=- clock=cuda\n")
    assert lines[2] == "first read\n"
    assert [line.split()[2] for line in lines[3:]] == ["seq=2"]
    assert lines[3].endswith("gap_ms=0.000 clock=cuda\n")


def test_events_are_used_again_and_a_slow_gpu_loses_records_not_memory(run: Run) -> None:
    code = """
for _ in range(200): call()
assert len(made) <= 64 * 10, len(made)
done.update(made)
for _ in range(100):
    call()
    done.update(made)
assert len(made) <= 64 * 10 + 12, len(made)
"""
    lines = run(CUDA + code, EAGLE3_CYCLE_FIRST="1000")
    seqs = [int(line.split()[2][4:]) for line in lines]
    assert seqs[:65] == [*range(1, 65), 201], "those that found no place are gaps"
    assert lines[64].split()[-2] == "gap_ms=-"
    assert seqs[65:] == list(range(202, 300))


def test_nothing_is_recorded_while_a_graph_is_captured(run: Run) -> None:
    assert run(CUDA + "capturing.append(1)\ncall()\nassert made == []") == []


def test_the_first_cycles_are_recorded_then_every_so_many(run: Run) -> None:
    lines = run(CUDA.replace("return self in done", "return True").replace("assert self in done", "assert 1 or self")
                + "for _ in range(9): call(); call(prefill=True)\nassert len(made) < 40",
                EAGLE3_CYCLE_FIRST="2", EAGLE3_CYCLE_EVERY="3")  # fmt: skip
    assert [line.split()[2] for line in lines] == ["seq=1", "seq=2", "seq=5", "seq=8"]
    assert [line.split()[-2] for line in lines] == ["gap_ms=-"] * 4, "a prefill lies between"
    assert run("for _ in range(9): call()", EAGLE3_CYCLE_RANKS="1") == []


def test_the_servers_own_failure_passes_and_its_cycle_is_not_recorded(run: Run) -> None:
    code = """
for _ in range(2):
    try: call(fails=True)
    except KeyError as error: assert str(error) == "'theirs'"
    else: raise AssertionError
call()
"""
    assert [line.split()[2] for line in run(code)] == ["seq=3"]


def test_a_failure_of_the_clock_is_told_once_and_stops_nothing(run: Run) -> None:
    code = """
class Broken:
    def __init__(self, enable_timing): raise RuntimeError
cuda.Event = Broken
for _ in range(3): assert call() == "cycled"
"""
    assert run(CUDA + code) == ["[EAGLE3_CYCLE] site=cycle rank=0 error=RuntimeError\n"]


def test_what_is_decorated_keeps_its_name_and_document(run: Run) -> None:
    code = """
import inspect
method = EAGLEWorkerV2.forward_batch_generation
assert (method.__name__, method.__doc__) == ("forward_batch_generation", "What it does.")
assert list(inspect.signature(method).parameters) == ["self", "batch", "on_publish"]
"""
    assert run(code) == []


def test_stages_outside_a_cycle_and_calls_within_one_are_not_cycles(run: Run) -> None:
    code = """
worker.draft(None)
class Standalone(EAGLEWorkerV2):
    @module.cycle
    def forward_batch_generation(self, batch): return super().forward_batch_generation(batch)
    @module.draft
    def draft(self, batch): super().draft(batch)
worker = Standalone()
call()
"""
    (line,) = run(code)
    assert line.split()[3:6] == ["worker=Standalone", "bs=1", "draft_ms=3.000"]


def test_a_cycle_that_is_recorded_alone_tells_how_long_after_the_last_it_began(run: Run) -> None:
    code = "for _ in range(9): call(); spend(0.25); done.update(made)\nassert len(made) < 40, len(made)"
    lines = run(CUDA + code, EAGLE3_CYCLE_FIRST="1", EAGLE3_CYCLE_EVERY="3")
    assert [line.split()[2] for line in lines] == ["seq=1", "seq=4", "seq=7"]
    assert [line.split()[-2] for line in lines] == ["gap_ms=-", "gap_ms=0.250", "gap_ms=0.250"]
