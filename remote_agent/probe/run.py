"""Owns the course of a probe: `python -m remote_agent.probe.run RUN_DIR`, a process of its own.

Reads `RUN_DIR/spec.json`, appends events to `RUN_DIR/spool.ndjson`: started, flush, progress (at most 4 a second),
request, block, and at last done with `valid` and `why`. A spool without `done` belongs to a probe that was killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional

from remote_agent.probe.pool import WorkerLost, run_jobs
from remote_agent.probe.prefix import with_prefix
from remote_agent.probe.request import Trace, flush_cache, generate, masked
from remote_agent.probe.spec import Spec, SpecError, read_spec
from remote_agent.probe.spool import Spool

SPOOL_VERSION = 1
PROGRESS_S = 0.25
WARMUP = -1
"""The number of the warm-up among the blocks."""


class Stopped(Exception):
    """The run ends here and is not valid; the message says why."""


@dataclass
class Course:
    """One run under way."""

    spec: Spec
    spool: Spool
    cancelled: List[int] = field(default_factory=list)
    """The signal that asked to stop, once it came."""
    sent: int = 0
    """Requests begun: numbers the prefixes."""
    block: int = WARMUP
    done: int = 0
    of: int = 0
    tokens: int = 0
    block_start: float = 0.0
    last_progress: float = 0.0

    def run(self) -> None:
        """Warm up, then measure block by block. Raises Stopped."""
        spec = self.spec
        if spec.warmup_requests:
            # Fewer would leave the batch size of the measured blocks cold.
            self._pass(WARMUP, max(spec.warmup_requests, spec.concurrency))
        for block in range(spec.blocks):
            if spec.flush_cache:
                self._flush(block)
            self._pass(block, spec.requests_per_block)

    def _flush(self, block: int) -> None:
        for status in run_jobs([lambda: flush_cache(self.spec)], 1, self._check_cancelled):
            self.spool.write("flush", block=block, status=status)

    def _pass(self, block: int, count: int) -> None:
        self.block, self.done, self.of, self.tokens = block, 0, count, 0
        self.block_start = time.perf_counter()
        cpu = time.process_time()
        jobs = [self._job(index) for index in range(count)]
        traces = []
        for index, trace in run_jobs(jobs, self.spec.concurrency, self._tick):
            self.done += 1
            traces.append(trace)
            self._write_request(index, trace)
            if trace.error:
                raise Stopped(f"request {index + 1} of {self._name()}: {trace.error}")
        if block != WARMUP:
            self._write_block(traces, time.process_time() - cpu)

    def _job(self, index: int) -> Callable[[], Any]:
        number, self.sent = self.spec.nonce + self.sent, self.sent + 1
        prompt = self.spec.prompts[index % len(self.spec.prompts)]
        if self.spec.unique_prefix:
            prompt = with_prefix(prompt, number)
        return lambda: (index, generate(self.spec, prompt, self._count_tokens))

    def _count_tokens(self, more: int) -> None:
        self.tokens += more  # several threads, so now and then one is lost: progress alone reads it

    def _write_request(self, index: int, trace: Trace) -> None:
        self.spool.write("request", block=self.block, index=index, warmup=self.block == WARMUP, **trace.record())

    def _write_block(self, traces: List[Trace], cpu_s: float) -> None:
        start = min(trace.sent for trace in traces)
        wall_s = max(trace.ended for trace in traces) - start
        self.spool.write(
            "block",
            block=self.block,
            requests=len(traces),
            completion_tokens=sum(trace.tokens for trace in traces),
            wall_s=round(wall_s, 6),
            client_cpu_s=round(cpu_s, 6),
        )

    def _name(self) -> str:
        return "the warm-up" if self.block == WARMUP else f"block {self.block + 1}"

    def _check_cancelled(self) -> None:
        if self.cancelled:
            raise Stopped("cancelled")

    def _tick(self) -> None:
        self._check_cancelled()
        now = time.perf_counter()
        if now - self.last_progress < PROGRESS_S:
            return
        self.last_progress = now
        elapsed = now - self.block_start
        self.spool.write(
            "progress",
            block=self.block,
            blocks=self.spec.blocks,
            warmup=self.block == WARMUP,
            done=self.done,
            of=self.of,
            completion_tokens=self.tokens,
            elapsed_s=round(elapsed, 3),
        )


def main(run_dir: str) -> int:
    """Carry out the order in `run_dir`. Return 0 for a valid run, 1 for another; the spool's `done` says why."""
    cancelled: List[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: cancelled.append(number))
    try:
        spool = Spool(run_dir)
    except OSError as error:
        sys.stderr.write(f"the spool cannot be opened: {error}\n")
        return 1
    try:
        why = _carry_out(run_dir, spool, cancelled)
        spool.write("done", valid=why is None, why=why or "", at=round(time.time(), 6))
    except OSError as error:
        sys.stderr.write(f"the spool cannot be written: {error}\n")
        return 1
    finally:
        spool.close()
    return 0 if why is None else 1


def _carry_out(run_dir: str, spool: Spool, cancelled: List[int]) -> Optional[str]:
    try:
        spec = read_spec(os.path.join(run_dir, "spec.json"))
    except SpecError as error:
        return str(error)
    spool.write("started", **_started(spec))
    try:
        Course(spec, spool, cancelled).run()
    except (Stopped, WorkerLost) as stop:
        return masked(str(stop), spec)
    return None


def _started(spec: Spec) -> Any:
    """Return what a reader of the spool needs of the order: neither the key nor the prompts."""
    names = ("port", "max_new_tokens", "blocks", "requests_per_block", "warmup_requests", "concurrency", "nonce")
    fields = {name: getattr(spec, name) for name in names}
    fields.update(
        version=SPOOL_VERSION,
        at=round(time.time(), 6),
        pid=os.getpid(),
        python=".".join(str(part) for part in sys.version_info[:3]),
        prompts=len(spec.prompts),
        flush_cache=spec.flush_cache,
        unique_prefix=spec.unique_prefix,
        ignore_eos=spec.ignore_eos,
        temperature=spec.temperature,
    )
    return fields


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
