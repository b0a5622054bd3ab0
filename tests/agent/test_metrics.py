"""GET /metrics through the agent: of a page of any size, the few lines that are wanted."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_agent.handlers.servers import MAX_BODY
from remote_agent.timer_lines import MAX_LINE_BYTES, WANTED, timer_lines
from tests.agent.generate_server import plain, serve

TIMER = b'sglang:forward_execution_seconds_total{category="target_verify",tp_rank="%d"} 1.5\n'
OTHER = b'sglang:inter_token_latency_seconds_bucket{le="0.1",model_name="/m"} 7\n# HELP x\n'
HUGE = b"sglang:generation_tokens_total{" + b"x" * MAX_LINE_BYTES + b"} 1\n"


async def test_a_page_of_megabytes_comes_as_its_few_lines(connect):
    with serve(plain(1)) as server:
        server.metrics = lambda: OTHER * 30_000 + TIMER % 0 + HUGE + OTHER * 9 + TIMER % 1 + b"sglang:generation_tokens"
        async with connect() as agent:
            reply = await agent.http(server.port, "/metrics")
    assert (reply.status, reply.error) == (200, "")
    assert reply.body.encode() == TIMER % 0 + TIMER % 1


async def test_a_page_of_nothing_but_timers_stays_a_message(connect):
    with serve(plain(1)) as server:
        server.metrics = lambda: TIMER % 0 * 20_000
        async with connect() as agent:
            reply = await agent.http(server.port, "/metrics")
    assert MAX_BODY - 200 < len(reply.body) <= MAX_BODY
    assert reply.body.endswith("1.5\n")


async def test_a_server_without_metrics_says_so(connect):
    with serve(plain(1)) as server:
        async with connect() as agent:
            assert (await agent.http(server.port, "/metrics")).status == 404


LINES = st.sampled_from([TIMER % 3, OTHER, HUGE, b"\n", b"sglang:gpu_execution_seconds_total{} 1\n", b"\xff\x00\n"])


@given(st.lists(LINES, max_size=8), st.lists(st.integers(0, 20_000), max_size=5), st.binary(max_size=40))
def test_how_the_page_is_cut_changes_nothing(lines, places, tail):
    page = b"".join(lines) + tail.replace(b"\n", b"")
    cuts = sorted({0, len(page), *(place % (len(page) + 1) for place in places)})
    parts = [page[start:end] for start, end in pairwise(cuts)]
    wanted = [line for line in lines if line.startswith(WANTED) and line != HUGE]
    assert timer_lines(iter(parts), MAX_BODY) == b"".join(wanted)


@pytest.mark.parametrize("limit", [0, 10, 200])
def test_what_is_kept_are_whole_lines_within_the_limit(limit):
    kept = timer_lines([TIMER % 0 * 9], limit)
    assert len(kept) <= limit
    assert kept == TIMER % 0 * (len(kept) // len(TIMER % 0))
