"""Owns the order of things in a probe: warm-up, then block after block, each request written to the spool."""

from __future__ import annotations

import time
from typing import Callable, Iterator, Optional

from remote_agent.probe.exchange import Exchange, run_exchanges
from remote_agent.probe.flush import flush_cache
from remote_agent.probe.http1 import post
from remote_agent.probe.server_log import ServerLog
from remote_agent.probe.spool import Spool
from remote_agent.protocol.probe.forms import request_of
from remote_agent.protocol.probe.load import WARMUP, Load, Stopped
from remote_agent.protocol.probe.prefix import with_prefix
from remote_agent.protocol.probe.spec import Prompt, Spec
from remote_agent.protocol.probe.trace import Trace


class Course:
    """One run under way."""

    def __init__(
        self, spec: Spec, spool: Spool, is_cancelled: Callable[[], bool], is_finish_asked: Callable[[], bool]
    ) -> None:
        self._spec = spec
        self._spool = spool
        self._is_cancelled = is_cancelled
        self._is_finish_asked = is_finish_asked
        self._log = ServerLog(spec.server_log)
        self._prompted = 0

    def run(self) -> str:
        """Warm up, then measure block by block; return what ended it: blocks, finish or budget. Raises Stopped."""
        spec = self._spec
        if spec.warmup_requests:
            # Fewer would leave the batch size of the measured blocks cold.
            self._carry_out(WARMUP, max(spec.warmup_requests, spec.concurrency))
        begun = time.perf_counter()
        for block in range(spec.blocks):
            end = self._end_before_next(begun) if block else None
            if end:
                return end
            if spec.flush_cache:
                self._spool.write("flush", block=block, status=flush_cache(spec, self._check_cancelled))
            self._measure(block)
        return "blocks"

    def _end_before_next(self, begun: float) -> Optional[str]:
        """What ends the run between two blocks: one is always measured."""
        if self._is_finish_asked():
            return "finish"
        budget_s = self._spec.budget_s
        return "budget" if budget_s is not None and time.perf_counter() - begun > budget_s else None

    def _measure(self, block: int) -> None:
        log_from, cpu = self._log.size(), time.process_time()
        load = self._carry_out(block, self._spec.requests_per_block)
        cpu, log_to = time.process_time() - cpu, self._log.size()
        if log_from is None or log_to is None or log_to < log_from:
            log_from = log_to = None  # not readable, or begun anew meanwhile: what lies between is not known
        self._spool.write(
            "block",
            block=block,
            requests=load.done,
            completion_tokens=load.tokens,
            wall_s=round(load.wall_s, 6),
            client_cpu_s=round(cpu, 6),
            log_from=log_from,
            log_to=log_to,
        )
        found = self._log.full_pool(log_from, log_to)
        if found:
            raise Stopped(f"kv_pool_full: the server's log of block {block + 1} says {found!r}")

    def _carry_out(self, block: int, count: int) -> Load:
        load = Load(self._spec, self._spool, block, count, time.perf_counter())

        def tick() -> None:
            self._check_cancelled()
            load.tell(time.perf_counter())

        run_exchanges(self._exchanges(load), self._spec.concurrency, lambda each: load.ended(each.answer), tick)
        load.write()
        return load

    def _exchanges(self, load: Load) -> Iterator[Exchange[Trace]]:
        spec = self._spec
        for index in range(load.of):
            path, body = request_of(spec, self._prompt(index))
            yield Exchange(spec.port, post(path, body, spec.headers()), load.begin(index), spec.timeout_s)

    def _prompt(self, index: int) -> Prompt:
        number, self._prompted = self._spec.nonce + self._prompted, self._prompted + 1
        prompt = self._spec.prompts[index % len(self._spec.prompts)]
        return with_prefix(prompt, number) if self._spec.unique_prefix else prompt

    def _check_cancelled(self) -> None:
        if self._is_cancelled():
            raise Stopped("cancelled")
