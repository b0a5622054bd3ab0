"""Eight processes that append debug records to one log, and tell when each line was written."""

from __future__ import annotations

import bisect
import multiprocessing
import os
import time
from typing import TYPE_CHECKING

from tests.bench.log_intake import CALLS

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    Times = list[float]

RANKS = 8
BATCH_S = 0.02


class Writers:
    """Processes that append to one file, and when each wrote what."""

    def __init__(self, path: Path, rate: int, seconds: float) -> None:
        self.batch = round(rate / RANKS * BATCH_S)
        count = round(seconds / BATCH_S)
        fork = multiprocessing.get_context("fork")
        self._times = [fork.RawArray("d", count) for _rank in range(RANKS)]
        self._bytes = [fork.RawArray("d", count) for _rank in range(RANKS)]
        self._ends: list[tuple[Times, Times]] = []
        start = time.monotonic() + 0.5
        self._processes: list[BaseProcess] = [
            fork.Process(
                target=_write, args=(path, rank, self.batch, start, self._times[rank], self._bytes[rank]), daemon=True
            )
            for rank in range(RANKS)
        ]
        self.lines = RANKS * self.batch * count + _decode_lines(count)
        for process in self._processes:
            process.start()

    @property
    def are_writing(self) -> bool:
        return any(process.is_alive() for process in self._processes)

    def written_at(self, rank: int, seq: int) -> float:
        return float(self._times[rank][seq // self.batch])

    def join(self) -> None:
        for process in self._processes:
            process.join()
        self._ends = [(list(times), list(sizes)) for times, sizes in zip(self._times, self._bytes, strict=True)]

    @property
    def span(self) -> tuple[float, float]:
        """When the first and the last batch were written."""
        return min(times[0] for times, _ in self._ends), max(times[-1] for times, _ in self._ends)

    def bytes_at(self, at: float) -> float:
        """Bytes in the file at a time."""
        here = [(sizes, bisect.bisect_right(times, at)) for times, sizes in self._ends]
        return sum(sizes[count - 1] for sizes, count in here if count)


def _write(path: Path, rank: int, batch: int, start: float, times: Times, sizes: Times) -> None:
    """Append batches of one rank at their times, or as soon after as can be; a prefill of ever new length between."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    verify, total = _template(rank, batch, 6), 0.0
    for number in range(len(times)):
        form = verify if number % 10 else _template(rank, batch, 1000 + number)
        data = form % tuple(range(number * batch, (number + 1) * batch))
        if rank == 0 and not number % 50:
            data += _DECODE % (number // 3000 % 60, number // 50 % 60)
        if (early := start + number * BATCH_S - time.monotonic()) > 0:
            time.sleep(early)
        os.write(fd, data)
        total += len(data)
        times[number], sizes[number] = time.monotonic(), total


_DECODE = (
    b"[2026-02-20 10:%02d:%02d TP0] Decode batch, #running-req: 1, #token: 812, token usage: 0.00, accept len: 3.10, "
    b"accept rate: 0.62, cuda graph: True, gen throughput (token/s): 151.20, #queue-req: 0\n"
)


def _decode_lines(batches: int) -> int:
    return -(-batches // 50)


def _template(rank: int, batch: int, rows: int) -> bytes:
    """Lines of the four sites in turn, `seq` left open; only the first four have `rows`."""
    lines = []
    for n in range(batch):
        site, model, mode, shape = CALLS[n % len(CALLS)]
        dims = shape.format(rows=rows if n < len(CALLS) else 6)
        head = f"[EAGLE3_DEBUG] site={site} rank={rank} model={model} mode={mode}"
        lines.append(f"{head} seq=%09d {dims} dtype=bfloat16 device=cuda:{rank}\n")
    return "".join(lines).encode()
