"""An endpoint measured from the console: the numbers of a probe on a node, and errors that say which kind they are."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading

import pytest

from console.actions import probe_url
from console.errors import Unreachable, UsageError
from console.probe.differences import differs
from console.probe.stats import MIN_BLOCKS
from console.store import Journal
from tests.agent.generate_server import hanging, pair, plain
from tests.unit.probe.runs import PAIR_HISTOGRAM
from tests.unit.probe.url_server import self_signed, serve_url

PAIR = {"prompt": [5, 17, 300], "max_new_tokens": 400, "requests_per_block": 2, "blocks": 2, "warmup": 1}
SMALL = {"prompt": "Say something.", "max_new_tokens": 4, "requests_per_block": 1, "blocks": 1, "warmup": 0}


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "runs.sqlite3") as opened:
        yield opened


async def probe(journal, server, load, key="", said=None):
    environ = {"KEY": key} if key else {}
    plan = probe_url.plan(server.url, load, environ, "KEY" if key else None)
    return await probe_url.run(journal, plan, (said if said is not None else []).append)


async def test_tokens_and_acceptance_of_the_pair_are_exact(journal):
    said: list[str] = []
    with serve_url(pair()) as server:
        outcome = await probe(journal, server, PAIR, said=said)
    result = outcome.run.result
    assert outcome.ok, result.why
    assert (result.requests, result.completion_tokens) == (4, 1600)
    assert result.accept_len == 400 / 86
    assert result.accept_hist == tuple(4 * count for count in PAIR_HISTOGRAM)
    assert len(result.blocks) == 2
    assert "round trip" in said[0]
    assert any("round trip" in note for note in result.notes)
    assert any("log is out of reach" in note for note in result.notes)
    assert journal.get_run("@1") == outcome.run
    assert (journal.spool("@1") or journal.spool(outcome.run.run_id)).endswith(b"\n")


async def test_a_server_that_is_not_ours_is_not_flushed_and_sent_no_prompt_twice(journal):
    with serve_url(plain(4)) as server:
        await probe(journal, server, {**SMALL, "blocks": 2, "flush_cache": True})
        await probe(journal, server, {**SMALL, "blocks": 2})
    assert server.flushes == 0
    prompts = [request["text"] for request in server.requests]
    assert len(prompts) == 4
    assert len(set(prompts)) == 4


async def test_it_is_told_from_a_run_on_a_node(journal):
    with serve_url(plain(4)) as server:
        outcome = await probe(journal, server, SMALL)
        host = server.url.removeprefix("http://")
    fingerprint = outcome.run.fingerprint
    assert (fingerprint.client, fingerprint.endpoint, outcome.run.node) == ("console", host, host)
    assert fingerprint.workload["model"] == "first"
    on_node = dataclasses.replace(fingerprint, client="node")
    (difference,) = differs(on_node, fingerprint, ["speculative"])
    assert (difference.key, difference.withholds) == ("client", True)


async def test_a_stand_in_is_marked_as_simulated(journal):
    with serve_url(plain(4), models=({"id": "x", "simulated": True},)) as server:
        outcome = await probe(journal, server, SMALL)
    assert outcome.run.fingerprint.simulated
    assert "SIMULATED" in next(outcome.lines())


async def test_the_asked_concurrency_is_reached(journal):
    gate = threading.Barrier(3, timeout=60)
    answer = plain(4)

    def script(reply, request):
        gate.wait()  # passes only when three requests are in flight
        answer(reply, request)

    with serve_url(script) as server:
        outcome = await probe(journal, server, {**SMALL, "requests_per_block": 6, "concurrency": 3, "warmup": 1})
    assert outcome.ok
    assert (len(server.requests), outcome.run.result.requests) == (9, 6)


async def test_an_adaptive_run_ends_when_its_interval_is_narrow(journal):
    with serve_url(plain(4)) as server:
        outcome = await probe(journal, server, {**SMALL, "adaptive": True, "half_width": 0.5, "blocks": 1})
    assert outcome.ok
    assert MIN_BLOCKS <= len(outcome.run.result.blocks) < 1000


async def test_the_openai_form_asks_for_the_first_model_that_is_listed(journal):
    def script(reply, request):
        reply.begin()
        for number in range(1, 5):
            choice = {"index": 0, "text": "x", "finish_reason": "length" if number == 4 else None}
            usage = {"prompt_tokens": 3, "completion_tokens": number, "total_tokens": 3 + number}
            reply.part(b"data: " + json.dumps({"choices": [choice], "usage": usage}).encode() + b"\n\n")
        reply.end()

    with serve_url(script, posts=("/v1/completions",)) as server:
        outcome = await probe(journal, server, {**SMALL, "api": "completions"})
    assert outcome.ok, outcome.run.result.why
    assert server.requests[0]["model"] == "first"
    assert outcome.run.result.completion_tokens == 4


async def test_a_key_is_sent_and_kept_nowhere(journal):
    def script(reply, _):
        reply.plain(500, b"no entry for Bearer sk-very-secret")

    with serve_url(script, key="sk-very-secret") as server:
        outcome = await probe(journal, server, SMALL, key="sk-very-secret")
    assert "http_500: no entry for Bearer ***" in outcome.run.result.why
    assert b"sk-very-secret" not in journal.spool(outcome.run.run_id)
    assert b"sk-very-secret" not in journal.path.read_bytes()
    plan = probe_url.plan("http://h", SMALL, {"KEY": "sk-very-secret"}, "KEY")
    assert "sk-very-secret" not in repr(plan)


async def test_without_the_right_key_nothing_is_sent(journal):
    with serve_url(plain(4), key="sk-1") as server:
        for key in ("", "sk-2"):
            with pytest.raises(Unreachable, match="401") as caught:
                await probe(journal, server, SMALL, key=key)
            assert "--api-key-env" in caught.value.hint
    assert caught.value.exit_code == 3
    assert server.requests == []
    assert journal.list_runs() == ()


async def test_a_redirect_is_not_followed_and_the_key_goes_nowhere(journal):
    with (
        serve_url(plain(4)) as other,
        serve_url(plain(4), redirect=other.url) as server,
        pytest.raises(UsageError, match=f"redirects to {other.url}"),
    ):
        await probe(journal, server, SMALL, key="sk-1")
    assert other.asked_paths == []


async def test_an_api_that_is_not_there_is_named(journal):
    is_not_there = pytest.raises(UsageError, match=r"/generate is not there \(HTTP 404\)")
    with serve_url(plain(4), posts=("/v1/completions",)) as server, is_not_there as caught:
        await probe(journal, server, SMALL)
    assert "--api" in caught.value.hint
    assert journal.list_runs() == ()


async def test_a_certificate_that_is_not_trusted_ends_it_before_the_key_is_sent(journal, tmp_path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    certificate = self_signed(tmp_path / "own.pem")
    with serve_url(plain(4), certificate) as server:
        with pytest.raises(Unreachable, match=r"certificate of 127\.0\.0\.1") as caught:
            await probe(journal, server, SMALL, key="sk-1")
        assert "SSL_CERT_FILE" in caught.value.hint
        assert server.headers == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        outcome = await probe(journal, server, SMALL, key="sk-1")
    assert outcome.ok
    assert server.headers[0]["Authorization"] == "Bearer sk-1"


async def test_nothing_listening_is_unreachable(journal):
    with serve_url(plain(4)) as server:
        url = server.url
    with pytest.raises(Unreachable, match="cannot be reached"):
        await probe_url.run(journal, probe_url.plan(url, SMALL, {}, None), str)


async def test_a_stream_that_is_cut_makes_a_run_that_is_not_valid(journal):
    def dropped(reply, _):
        reply.begin()
        reply.event(3)
        reply.close_connection = True

    with serve_url(dropped) as server:
        outcome = await probe(journal, server, {**SMALL, "blocks": 3, "concurrency": 2, "requests_per_block": 2})
    assert not outcome.ok
    assert "connection: RemoteProtocolError" in outcome.run.result.why
    assert len(server.requests) <= 2, "nothing is sent after the first failure"
    assert journal.get_run("@1").result.valid is False


async def test_a_server_that_hangs_ends_in_a_timeout(journal):
    with serve_url(hanging(after=3)) as server:
        outcome = await probe(journal, server, {**SMALL, "timeout_s": 0.5})
    assert "timeout: no end within 0.5 s" in outcome.run.result.why


def test_a_key_that_others_could_read_is_said():
    lines = [*probe_url.plan("http://example.org", SMALL, {"K": "sk-1"}, "K").lines()]
    assert any("unencrypted" in line for line in lines)
    assert not any("unencrypted" in line for line in probe_url.plan("http://127.0.0.1", SMALL, {"K": "k"}, "K").lines())


async def test_a_cancelled_run_is_kept_as_not_valid_and_it_is_said(journal):
    said: list[str] = []
    with serve_url(hanging(1)) as server:
        probing = asyncio.create_task(probe(journal, server, SMALL, said=said))
        await asyncio.to_thread(server.asked.wait, 30)
        probing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probing
    run = journal.get_run("@1")
    assert (run.result.valid, run.result.why) == (False, "cancelled")
    assert said[-1] == f"kept: run {run.run_id} INVALID: cancelled"
