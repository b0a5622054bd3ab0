"""Idle readings: the lowest one with nobody on the GPU, kept, and never the memory that somebody lost."""

from __future__ import annotations

from remote_agent.idle import IdleReadings
from remote_agent.protocol import GpuSample, TelemetrySample
from remote_agent.state_dir import StateDir

MIB = 1 << 20


def gpus(*used: int | None) -> list[GpuSample]:
    return [GpuSample(i, f"GPU-{i}", "H200", 140 << 30, each) for i, each in enumerate(used)]


def known(idle: IdleReadings) -> list[int | None]:
    sample = TelemetrySample(0.0, "nvml", "", gpus(0, 0, 0))
    return [gpu.memory_idle_bytes for gpu in idle.marked(sample).gpus]


def test_the_lowest_reading_with_nobody_on_it_is_kept(tmp_path):
    idle = IdleReadings(StateDir(str(tmp_path)))
    idle.note(gpus(500 * MIB, 70 << 30, 3 * MIB), {1}, set)
    idle.note(gpus(450 * MIB, 70 << 30, 900 * MIB), set(), set)
    assert known(idle) == [450 * MIB, None, 3 * MIB], "70 GiB without a process are somebody's, not idle"
    assert known(IdleReadings(StateDir(str(tmp_path)))) == [450 * MIB, None, 3 * MIB]


def test_what_is_not_told_or_damaged_is_not_recorded(tmp_path):
    (tmp_path / "idle.json").write_text('{"GPU-0": "x", "GPU-1": -5, "GPU-2": 99999999999}')
    idle = IdleReadings(StateDir(str(tmp_path)))
    idle.note(gpus(None, None, None), set(), set)
    assert known(idle) == [None, None, None]
    assert known(IdleReadings(None)) == [None, None, None]


def test_somebody_who_came_in_between_makes_it_no_idle_reading(tmp_path):
    idle = IdleReadings(None)
    idle.note(gpus(300 * MIB, 2 * MIB, 2 * MIB), set(), lambda: {0})
    assert known(idle) == [None, 2 * MIB, 2 * MIB]


def test_the_second_look_is_made_only_when_there_is_something_to_keep(tmp_path):
    looks: list[int] = []
    idle = IdleReadings(None)
    for _ in range(5):
        idle.note(gpus(MIB, MIB, MIB), set(), lambda: looks.append(1) or set())
    assert len(looks) == 1
