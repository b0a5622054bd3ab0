"""Jobs side by side: every answer once, no more threads than allowed, nobody left waiting."""

from __future__ import annotations

import threading

import pytest

from remote_agent.probe.pool import WorkerLost, run_jobs


def test_every_job_answers_once():
    found = list(run_jobs([lambda i=i: i for i in range(50)], 4, lambda: None))
    assert sorted(found) == list(range(50))
    assert list(run_jobs([], 4, lambda: None)) == []


def test_as_many_run_at_a_time_as_allowed():
    together = threading.Barrier(3, timeout=20)
    inside = []

    def job():
        inside.append(1)
        together.wait()  # passes only when three are in it
        seen = len(inside)
        together.wait()
        inside.pop()
        return seen

    assert max(run_jobs([job] * 9, 3, lambda: None)) <= 3


def test_what_tick_raises_ends_the_run_though_a_job_hangs():
    forever = threading.Event()
    started = []
    ticks = []

    def job():
        started.append(1)
        forever.wait(60)

    def tick():
        ticks.append(1)
        if len(ticks) > 2:
            raise KeyError("stop")

    with pytest.raises(KeyError):
        list(run_jobs([job] * 3, 1, tick))
    forever.set()
    assert len(started) == 1, "no further job is begun"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_that_dies_is_noticed():
    def job():
        raise RuntimeError("a bug")

    with pytest.raises(WorkerLost):
        list(run_jobs([job], 2, lambda: None))
