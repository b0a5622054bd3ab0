"""The probe as it runs on a node: a process of its own on each promised Python, against streams known to the token."""

from __future__ import annotations

import dataclasses
import signal
import stat
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from console.probe.acceptance import FROM_CHUNKS
from console.probe.metrics import measure
from console.probe.trace import Done, read_spool
from console.probe.workload import Workload
from tests.agent.generate_server import hanging, openai, pair, plain, serve
from tests.agent.probe_process import FOUR, ONE, PAIR, Probe
from tests.unit.probe.runs import PAIR_HISTOGRAM
from tests.waiting import until


@pytest.fixture
def probe(tmp_path, python):
    return Probe(python, tmp_path)


def test_tokens_and_acceptance_of_the_pair_are_exact(probe):
    with serve(pair()) as server:
        assert probe.run(PAIR.to_spec(server.port)) == 0
    result = probe.result
    assert result.valid, result.why
    assert result.requests == 4
    assert result.completion_tokens == 1600
    assert result.accept_len == 400 / 86
    assert result.accept_hist == tuple(4 * count for count in PAIR_HISTOGRAM)
    assert result.accept_hist_source == "spec_correct_drafts_histogram"
    assert len(result.blocks) == 2
    assert result.flush_statuses == (200, 200)
    assert server.flushes == 2
    assert [request["warmup"] for request in probe.events if request["event"] == "request"] == [True] + [False] * 4


def test_every_request_has_a_prefix_of_its_own_and_the_same_end(probe):
    with serve(pair()) as server:
        assert probe.run(PAIR.to_spec(server.port)) == 0
    prompts = [tuple(request["input_ids"]) for request in server.requests]
    assert len(set(prompts)) == 5
    assert all(prompt[-3:] == (5, 17, 300) and set(prompt) == {5, 17, 300} for prompt in prompts)
    sampling = server.requests[0]["sampling_params"]
    assert sampling == {"max_new_tokens": 400, "temperature": 0.0, "ignore_eos": True}
    assert server.requests[0]["stream"] is True


def test_blocks_pass_over_the_same_texts(probe):
    workload = Workload("text", ("One.", "Two."), max_new_tokens=3, requests_per_block=3, blocks=2, warmup=1)
    with serve(plain(3)) as server:
        assert probe.run(workload.to_spec(server.port)) == 0
    ends = [request["text"].split("\n", 1)[1] for request in server.requests]
    assert ends == ["One.", "One.", "Two.", "One.", "One.", "Two.", "One."]
    assert len({request["text"] for request in server.requests}) == 7


def test_incremental_streams_count_the_same(probe):
    with serve(pair(incremental=True)) as server:
        assert probe.run(ONE.to_spec(server.port)) == 0
    assert probe.result.accept_len == 400 / 86
    assert probe.result.completion_tokens == 400


def test_before_0_5_9_the_histogram_comes_from_the_chunks(probe):
    with serve(pair(cycle_s=0.002, spec_correct_drafts_histogram=None)) as server:
        assert probe.run(ONE.to_spec(server.port)) == 0
    result = probe.result
    assert result.accept_len == 400 / 86
    assert result.accept_hist == (8, 10, 7, 4, 5, 51)
    assert result.accept_hist_source == FROM_CHUNKS


def test_a_server_without_speculation_has_no_acceptance(probe):
    with serve(plain(20)) as server:
        assert probe.run(dataclasses.replace(ONE, max_new_tokens=20).to_spec(server.port)) == 0
    result = probe.result
    assert result.valid
    assert result.completion_tokens == 20
    assert (result.accept_len, result.accept_hist) == (None, None)


def test_the_asked_concurrency_is_reached_in_warm_up_and_blocks(probe):
    gate = threading.Barrier(3, timeout=60)
    answer = plain(4)
    inside, most = [], []

    def script(reply, request):
        inside.append(request)
        gate.wait()  # passes only when three requests are in flight
        most.append(len(inside))
        gate.wait()
        inside.remove(request)
        answer(reply, request)

    workload = dataclasses.replace(ONE, max_new_tokens=4, requests_per_block=6, warmup=1, concurrency=3)
    with serve(script) as server:
        assert probe.run(workload.to_spec(server.port)) == 0
    assert len(server.requests) == 9
    assert probe.result.requests == 6
    assert set(most) == {3}, "and no more than that"


def test_progress_comes_at_most_four_times_a_second(probe):
    with serve(pair(cycle_s=0.015)) as server:
        assert probe.run(ONE.to_spec(server.port)) == 0
    progress = [event for event in probe.events if event["event"] == "progress"]
    elapsed = [event["elapsed_s"] for event in progress]
    assert len(progress) >= 3
    assert all(later - before >= 0.249 for before, later in pairwise(elapsed))
    assert 0 < progress[-1]["completion_tokens"] < 400


def test_the_spool_is_private_and_holds_no_key(probe):
    def script(reply, _):
        reply.plain(500, b"no entry for Bearer sk-very-secret")

    with serve(script) as server:
        assert probe.run(ONE.to_spec(server.port, api_key="sk-very-secret")) == 1
    assert server.headers[0]["Authorization"] == "Bearer sk-very-secret"
    assert b"sk-very-secret" not in probe.spool
    assert "http_500: no entry for Bearer ***" in probe.result.why
    assert stat.S_IMODE((probe.run_dir / "spool.ndjson").stat().st_mode) == 0o600


def broken_json(reply, _):
    reply.begin()
    reply.event(3)
    reply.part(b"data: {half\n\n")
    reply.end()


def cut_off(reply, _):
    reply.begin()
    reply.event(3)
    reply.wfile.write(b"0\r\n\r\n")


def dropped(reply, _):
    reply.begin()
    reply.event(3)
    reply.close_connection = True


def aborted(reply, _):
    reply.begin()
    reply.event(400, finish_reason={"type": "abort", "message": "NaN happened"})
    reply.end()


def failing(reply, _):
    reply.begin()
    reply.part(b'data: {"error": {"message": "out of memory"}}\n\n')
    reply.end()


def uncounted(reply, _):
    reply.begin()
    reply.part(b'data: {"text": "x", "meta_info": {}}\n\n')
    reply.end()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (plain(399), "early_end: 399 of 400"),
        (broken_json, "invalid_json"),
        (cut_off, "cut_off"),
        (dropped, "connection: it was closed inside the answer"),
        (aborted, "aborted: abort: NaN happened"),
        (failing, "server_error: out of memory"),
        (uncounted, "no_token_count"),
    ],
    ids=["early end", "broken json", "cut off", "dropped", "aborted", "failing", "uncounted"],
)
def test_a_stream_that_goes_wrong_makes_the_run_invalid_and_stops_it(probe, script, why):
    with serve(script) as server:
        assert probe.run(PAIR.to_spec(server.port)) == 1
    assert why in probe.result.why
    assert not probe.result.valid
    assert len(server.requests) == 1, "nothing is sent after the first failure"


def test_a_stop_at_the_end_of_the_text_is_fine_where_it_is_not_ignored(probe):
    with serve(plain(9)) as server:
        assert probe.run({**ONE.to_spec(server.port), "ignore_eos": False}) == 0
    assert probe.result.completion_tokens == 9


def test_a_hanging_server_ends_in_a_timeout(probe):
    with serve(hanging(after=3)) as server:
        assert probe.run(dataclasses.replace(ONE, timeout_s=0.5).to_spec(server.port)) == 1
    assert "timeout: no end within 0.5 s" in probe.result.why
    request = next(event for event in probe.events if event["event"] == "request")
    assert request["completion_tokens"] == 3, "what came before it is kept"


def test_sigterm_cancels_a_hanging_probe_and_says_so(probe):
    with serve(hanging(after=3)) as server, probe.start(ONE.to_spec(server.port)) as process:
        assert server.asked.wait(60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 1
    assert probe.events[-1]["event"] == "done"
    assert probe.events[-1]["valid"] is False
    assert probe.events[-1]["why"] == "cancelled"


def test_a_refused_flush_is_asked_again_while_a_request_leaves(probe):
    with serve(plain(4), flush=(400, 400, 200)) as server:
        assert probe.run(dataclasses.replace(ONE, max_new_tokens=4).to_spec(server.port)) == 0
    assert server.flushes == 3
    assert probe.result.flush_statuses == (200,)


def test_a_flush_that_needs_another_key_is_noted_not_fatal(probe):
    with serve(plain(4), flush=(401,)) as server:
        assert probe.run(dataclasses.replace(ONE, max_new_tokens=4).to_spec(server.port)) == 0
    assert server.flushes == 1
    assert probe.result.valid
    assert "HTTP 401" in probe.result.notes[0]


def test_a_server_of_others_is_not_flushed(probe):
    workload = dataclasses.replace(ONE, max_new_tokens=4, flush_cache=False)
    with serve(plain(4)) as server:
        assert probe.run(workload.to_spec(server.port)) == 0
    assert server.flushes == 0


def test_nothing_listening_is_a_connection_error(probe):
    with serve(plain(4)) as server:
        port = server.port
    assert probe.run(ONE.to_spec(port)) == 1
    assert "connection: ConnectionRefusedError" in probe.result.why


def test_a_wrong_order_is_refused_in_the_spool(probe):
    assert probe.run({"port": 1, "host": "10.0.0.1"}) == 1
    assert "host" in probe.result.why


def test_a_spool_that_cannot_be_opened_is_said_on_stderr(probe):
    (probe.run_dir / "spool.ndjson").symlink_to(probe.run_dir / "elsewhere")
    with probe.start(ONE.to_spec(1)) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"the spool cannot be opened" in err
    assert not (probe.run_dir / "elsewhere").exists()


SIXTY = dataclasses.replace(ONE, max_new_tokens=60)
COUNTS = (1, 7, 13, 60)
VERIFIED = {"spec_verify_ct": 14, "spec_correct_drafts_histogram": [3, 1, 1, 1, 1, 7]}


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_the_openai_forms_count_what_the_server_counts(probe, api):
    load = dataclasses.replace(SIXTY, input_ids=(), texts=("One.",), api=api, model="kimi", keep_output=True)
    with serve(openai(COUNTS, spec_tokens_details=VERIFIED)) as server:
        assert probe.run(load.to_spec(server.port)) == 0
    assert server.paths == [{"completions": "/v1/completions", "chat": "/v1/chat/completions"}[api]]
    (request,) = read_spool(probe.spool).requests
    assert [tokens for _, tokens in request.chunks] == [1, 7, 13, 60]
    assert (request.completion_tokens, request.output_text) == (60, "t" * 60)
    assert probe.result.accept_len == 60 / 14
    assert probe.result.accept_hist == (3, 1, 1, 1, 1, 7)


def test_a_server_that_counts_at_the_end_alone_gives_no_chunks(probe):
    load = dataclasses.replace(SIXTY, api="completions")
    with serve(openai(COUNTS, is_continuous=False)) as server:
        assert probe.run(load.to_spec(server.port)) == 0
    (request,) = read_spool(probe.spool).requests
    assert (request.completion_tokens, request.chunks) == (60, ())
    assert 0 < request.first_token_s <= request.e2e_s
    assert next(each for each in probe.events if each["event"] == "request")["token_counts"] == "final"
    result = probe.result
    assert result.valid, result.why
    assert result.completion_tokens == 60
    assert result.accept_len is None


def test_the_output_is_kept_where_it_is_asked_for(probe):
    with serve(pair(incremental=True)) as server:
        assert probe.run({**ONE.to_spec(server.port), "keep_output": True}) == 0
        assert read_spool(probe.spool).requests[0].output_ids == (7,) * 400
    with serve(pair()) as server:
        assert probe.run(ONE.to_spec(server.port)) == 0
    assert read_spool(probe.spool).requests[1].output_ids is None


async def test_finish_is_asked_for_through_the_agent(connect):
    gate = threading.Event()
    answer = plain(4)

    def script(reply, request):
        gate.wait(60)
        answer(reply, request)

    with serve(script) as server:
        async with connect() as agent:
            started = await agent.start_probe(server.port, {**FOUR.to_spec(server.port), "blocks": 50}, {})
            await until(server.asked.is_set)
            await agent.finish_probe(started.run_id)
            gate.set()
            spool = Path(started.spool)
            await until(lambda: read_spool(spool.read_bytes()).done is not None)
    assert read_spool(spool.read_bytes()).done == Done(True, "", "finish")
    assert len(read_spool(spool.read_bytes()).blocks) == 1


async def test_under_the_agent_s_supervisor_it_ends_with_its_record(connect):
    with serve(pair()) as server:
        async with connect() as agent:
            started = await agent.start_probe(server.port, PAIR.to_spec(server.port, "sk-1"), {"profile": "pair"})
            spool = Path(started.spool)
            await until(lambda: read_spool(spool.read_bytes()).done is not None)
            assert measure(read_spool(spool.read_bytes())).accept_len == 400 / 86
            await until(spool.with_name("exit.json").exists)
            (ended,) = await agent.probes()
    assert (ended.state, ended.exit_code) == ("exited", 0)
    assert "sk-1" not in repr(ended)
