"""The order of things in a probe over the network: warm-up, then block after block, as a probe on a node has it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from remote_agent.protocol.probe.forms import request_of
from remote_agent.protocol.probe.load import WARMUP, Load
from remote_agent.protocol.probe.prefix import with_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.probe.client import Client
    from remote_agent.protocol.probe.load import Events
    from remote_agent.protocol.probe.spec import Prompt, Spec

TICK_S = 0.1


class UrlCourse:
    """One run under way. Its events go to `spool`."""

    def __init__(self, client: Client, spec: Spec, spool: Events) -> None:
        self.is_finish_asked = False
        """Set it, and no further block is begun."""
        self._client = client
        self._spec = spec
        self._spool = spool
        self._prompted = 0

    async def run(self) -> str:
        """Return what ended it: blocks, finish or budget. Raises Stopped, and ConsoleError as `Client.send` does."""
        spec = self._spec
        if spec.warmup_requests:
            await self._carry_out(WARMUP, max(spec.warmup_requests, spec.concurrency))
        begun = time.perf_counter()
        for block in range(spec.blocks):
            if block and self.is_finish_asked:
                return "finish"
            if block and spec.budget_s is not None and time.perf_counter() - begun > spec.budget_s:
                return "budget"
            await self._measure(block)
        return "blocks"

    async def _measure(self, block: int) -> None:
        cpu = time.process_time()
        load = await self._carry_out(block, self._spec.requests_per_block)
        self._spool.write(
            "block",
            block=block,
            requests=load.done,
            completion_tokens=load.tokens,
            wall_s=round(load.wall_s, 6),
            client_cpu_s=round(time.process_time() - cpu, 6),
            log_from=None,
            log_to=None,
        )

    async def _carry_out(self, block: int, count: int) -> Load:
        load = Load(self._spec, self._spool, block, count, time.perf_counter())
        indices = iter(range(count))
        workers = [asyncio.create_task(self._work(load, indices)) for _ in range(min(self._spec.concurrency, count))]
        all_of_them = asyncio.gather(*workers)
        try:
            while not all_of_them.done():
                await asyncio.wait({all_of_them}, timeout=TICK_S)
                load.tell(time.perf_counter())
            all_of_them.result()
        finally:
            all_of_them.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        load.write()
        return load

    async def _work(self, load: Load, indices: Iterator[int]) -> None:
        """One stream: the next request as soon as one ends."""
        for index in indices:
            path, body = request_of(self._spec, self._prompt(index))
            trace = load.begin(index)
            await self._client.send(path, body, trace, self._spec.timeout_s)
            load.ended(trace)

    def _prompt(self, index: int) -> Prompt:
        number, self._prompted = self._spec.nonce + self._prompted, self._prompted + 1
        prompt = self._spec.prompts[index % len(self._spec.prompts)]
        return with_prefix(prompt, number) if self._spec.unique_prefix else prompt
