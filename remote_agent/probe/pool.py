"""Owns the threads of a probe: jobs run side by side, and the one caller gets their answers as they come."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import Callable, Deque, Iterator, List, TypeVar

T = TypeVar("T")

TICK_S = 0.1
"""The caller is back this often: a signal is acted on within it."""


class WorkerLost(Exception):
    """A thread ended without an answer: a bug; its traceback is on stderr."""


def run_jobs(jobs: List[Callable[[], T]], threads: int, tick: Callable[[], None]) -> Iterator[T]:
    """Run `jobs` on at most `threads` threads and yield the answers in the order of their ends.

    `tick` is called between answers and at least every TICK_S; what it raises ends the run. Leaving the iterator early
    starts no further job. The threads are daemons: a job that hangs does not hold the process.
    """
    waiting: Deque[Callable[[], T]] = deque(jobs)
    answers: queue.Queue[T] = queue.Queue()
    workers = [
        threading.Thread(target=_work, args=(waiting, answers), daemon=True) for _ in range(min(threads, len(jobs)))
    ]
    for worker in workers:
        worker.start()
    try:
        for _ in jobs:
            yield _next(answers, workers, tick)
    finally:
        waiting.clear()


def _work(waiting: Deque[Callable[[], T]], answers: queue.Queue[T]) -> None:
    while True:
        try:
            job = waiting.popleft()
        except IndexError:
            return
        answers.put(job())


def _next(answers: queue.Queue[T], workers: List[threading.Thread], tick: Callable[[], None]) -> T:
    while True:
        tick()
        alive = any(worker.is_alive() for worker in workers)  # read before the queue: its last answer is then in it
        try:
            return answers.get(timeout=TICK_S) if alive else answers.get_nowait()
        except queue.Empty:
            if not alive:
                raise WorkerLost("a worker of the probe ended without an answer") from None
