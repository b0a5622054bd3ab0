"""What the probe measures against what the server itself wrote down: rates, first tokens and cycles of known streams.

Both clocks are the machine's one monotonic clock. The server's times are the truth and not the rate that it was asked
for: on a busy machine it sends late, and the probe must say so. What lies between the two, a waiting process, makes the
probe's figures slower in one block or another, never faster: the nearest of several blocks is held against the truth.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from console.probe.metrics import measure
from console.probe.trace import read_spool
from console.probe.workload import Workload
from tests.agent.probe_process import ROOT, Probe
from tests.agent.rate_server import Rate, running, sent
from tests.agent.slow_link import DELAY_S
from tests.waiting import until

RATE = Rate(steps=100, per_step=(1, 6, 3, 6), step_s=0.025, jitter=0.5, first_s=0.5)
SHORT = dataclasses.replace(RATE, steps=8)
BLOCKS = 3


@pytest.fixture
def python():
    return sys.executable


def spec(rate, port, streams):
    load = Workload(
        *("text", ("Some words. " * 50,)),
        max_new_tokens=rate.counts[-1],
        requests_per_block=streams,
        concurrency=streams,
        blocks=BLOCKS,
        warmup=0,
    )
    return load.to_spec(port)


def by_block(spool, record, streams):
    """The result of each block by itself, and the server's own record of it."""
    trace = read_spool(spool)
    assert measure(trace).valid
    told = sorted(sent(record), key=lambda request: request["asked"])
    for number, block in enumerate(trace.blocks):
        requests = tuple(request for request in trace.requests if request.block == number)
        alone = dataclasses.replace(trace, requests=requests, blocks=(block,))
        yield measure(alone), told[number * streams : (number + 1) * streams]


def first_ms(told):
    """The median from request to first event, as the server has it."""
    return 1000 * statistics.median(request["written"][0] - request["asked"][0] for request in told)


@pytest.mark.parametrize(
    ("is_cumulative", "streams"),
    [pytest.param(True, 1, id="cumulative", marks=pytest.mark.slow), pytest.param(False, 4, id="incremental x 4")],
)
def test_rate_first_token_and_cycle_are_those_of_the_server(tmp_path, is_cumulative, streams):
    rate = dataclasses.replace(RATE, is_cumulative=is_cumulative, record=str(tmp_path / "sent"))
    probe = Probe(sys.executable, tmp_path)
    with running(rate) as port:
        assert probe.run(spec(rate, port, streams)) == 0
    rates, firsts, cycles, gaps = [], [], [], []
    for result, told in by_block(probe.spool, tmp_path / "sent", streams):
        assert result.completion_tokens == streams * rate.counts[-1]
        assert result.accept_len == pytest.approx(rate.counts[-1] / rate.steps)
        wall_s = max(request["written"][-1] for request in told) - min(request["asked"][0] for request in told)
        rates.append(result.completion_tokens / wall_s / result.output_tok_s)
        firsts.append(result.ttft_ms.p50 / first_ms(told))
        decode_s = math.fsum(request["written"][-1] - request["written"][0] for request in told)
        cycles.append(result.cycle_ms / (1000 * decode_s / (streams * rate.steps)))
        waits = [after - before for request in told for before, after in pairwise(request["written"])]
        gaps.append(result.chunk_gap_ms.mean / (1000 * statistics.mean(waits)))
    assert len(rates) == BLOCKS
    assert min(rates) == pytest.approx(1, abs=0.005)
    assert min(firsts) == pytest.approx(1, abs=0.02)
    assert min(rates) > 0.9999, "nobody reads what is not yet sent"
    assert min(firsts) > 0.9999
    assert min(cycles, key=_error) == pytest.approx(1, abs=0.02)
    assert min(gaps, key=_error) == pytest.approx(1, abs=0.02)


def _error(ratio):
    return abs(ratio - 1)


async def test_the_way_to_the_node_is_not_in_the_figures(connect, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    rate = dataclasses.replace(SHORT, record=str(tmp_path / "sent"))
    with running(rate) as port:
        async with connect(prefix=(sys.executable, "-m", "tests.agent.slow_link")) as agent:
            started = await agent.start_probe(port, spec(rate, port, 1), {})
            spool = Path(started.spool)
            await until(lambda: read_spool(spool.read_bytes()).done is not None)
    blocks = by_block(spool.read_bytes(), tmp_path / "sent", 1)
    extra_ms = [result.ttft_ms.p50 - first_ms(told) for result, told in blocks]
    assert len(extra_ms) == BLOCKS
    assert min(extra_ms) < 1000 * DELAY_S / 4
