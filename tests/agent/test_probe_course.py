"""What ends a probe: its blocks, its budget, a wish, or a server whose KV cache pool is full."""

from __future__ import annotations

import dataclasses
import os
import sys

import pytest

from console.probe.trace import Done, read_spool
from tests.agent.generate_server import pair, plain, serve
from tests.agent.probe_process import FOUR, PAIR, Probe


@pytest.fixture
def probe(tmp_path):
    return Probe(sys.executable, tmp_path)


def test_a_budget_that_is_spent_begins_no_further_block(probe):
    with serve(plain(4)) as server:
        assert probe.run({**FOUR.to_spec(server.port), "blocks": 50, "budget_s": 0}) == 0
    assert len(probe.result.blocks) == 1
    assert read_spool(probe.spool).done == Done(True, "", "budget")


def test_all_blocks_within_the_budget_are_measured(probe):
    with serve(plain(4)) as server:
        assert probe.run({**FOUR.to_spec(server.port), "blocks": 3, "budget_s": 600}) == 0
    assert len(probe.result.blocks) == 3
    assert read_spool(probe.spool).done.ended_by == "blocks"


def test_asked_to_finish_it_ends_validly_after_the_block_in_progress(probe):
    answer = plain(4)

    def script(reply, request):
        if len(server.requests) == 4:  # the second of block 2
            (probe.run_dir / "finish").touch()
        answer(reply, request)

    with serve(script) as server:
        assert probe.run({**FOUR.to_spec(server.port), "blocks": 50, "requests_per_block": 2}) == 0
    assert read_spool(probe.spool).done == Done(True, "", "finish")
    assert len(probe.result.blocks) == 2
    assert probe.result.valid


def test_asked_before_the_first_block_it_still_measures_one(probe):
    (probe.run_dir / "finish").touch()
    with serve(plain(4)) as server:
        assert probe.run({**FOUR.to_spec(server.port), "blocks": 50}) == 0
    assert len(probe.result.blocks) == 1
    assert probe.result.valid


FULL = "[2026-11-30 12:00:00 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1\n"


def logging(path, lines):
    """A server that writes `lines`, one a request, to its log before it answers."""
    answer, waiting = plain(4), list(lines)

    def script(reply, request):
        with path.open("a") as log:
            log.write(waiting.pop(0) if waiting else "")
        answer(reply, request)

    return script


def test_the_log_is_measured_at_both_ends_of_a_block(probe, tmp_path):
    log = tmp_path / "real.log"
    log.write_text(FULL)  # before the run: not of it
    (tmp_path / "server.log").symlink_to(log)
    with serve(logging(log, ["warm-up\n", "one\n", "three\n"])) as server:
        spec = {**FOUR.to_spec(server.port), "warmup_requests": 1, "blocks": 2}
        assert probe.run({**spec, "server_log": str(tmp_path / "server.log")}) == 0
    begin = len(FULL) + len("warm-up\n")
    blocks = [(block.log_from, block.log_to) for block in read_spool(probe.spool).blocks]
    assert blocks == [(begin, begin + 4), (begin + 4, begin + 10)]


@pytest.mark.parametrize("marker", [FULL, "Decode out of memory happened. #retracted_reqs: 1\n"])
def test_a_full_kv_pool_in_the_log_ends_the_run(probe, tmp_path, marker):
    log = tmp_path / "server.log"
    log.touch()
    padding = "x" * (1024 * 1024 - 20)  # the line lies across the pieces in which the log is read
    with serve(logging(log, ["fine\n", padding + marker])) as server:
        assert probe.run({**FOUR.to_spec(server.port), "blocks": 5, "server_log": str(log)}) == 1
    assert probe.result.why.startswith("kv_pool_full: the server's log of block 2")
    assert len(server.requests) == 2
    assert len(read_spool(probe.spool).blocks) == 2


def test_a_request_that_was_put_back_ends_the_run(probe):
    def script(reply, _):
        reply.begin()
        reply.event(4, num_retractions=2, finish_reason={"type": "length", "length": 4})
        reply.end()

    with serve(script) as server:
        assert probe.run(FOUR.to_spec(server.port)) == 1
    assert probe.result.why.startswith("kv_pool_full: the server put the request back 2 times")


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "truncated"])
def test_a_log_that_tells_nothing_leaves_its_lengths_open(probe, tmp_path, kind):
    log = tmp_path / "server.log"
    if kind == "folder":
        log.mkdir()
    elif kind == "pipe":
        os.mkfifo(log)
    elif kind == "truncated":
        log.write_text("x" * 100)
    answer = plain(4)

    def script(reply, request):
        if kind == "truncated":
            os.truncate(log, 10)
        answer(reply, request)

    with serve(script) as server:
        assert probe.run({**FOUR.to_spec(server.port), "server_log": str(log)}) == 0
    (block,) = read_spool(probe.spool).blocks
    assert (block.log_from, block.log_to) == (None, None)


@pytest.mark.slow
def test_many_streams_at_once_are_all_read(probe):
    load = dataclasses.replace(PAIR, requests_per_block=64, concurrency=64, blocks=1, warmup=0)
    with serve(pair()) as server:
        assert probe.run(load.to_spec(server.port)) == 0
    assert probe.result.completion_tokens == 64 * 400
    assert probe.result.accept_len == 400 / 86
