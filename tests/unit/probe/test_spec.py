"""The order of a probe: what is refused before anything is sent, and how prompts become unique."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.probe.workload import Workload
from remote_agent.probe.spec import read_spec
from remote_agent.protocol.probe.prefix import with_prefix
from remote_agent.protocol.probe.spec import SpecError, parse_spec

GOOD = {"port": 8000, "max_new_tokens": 400, "input_ids": [[5, 17, 300]]}


def test_the_console_s_order_is_understood_key_by_key():
    workload = Workload("text", ("a b", "c d"), max_new_tokens=7, requests_per_block=6, blocks=2, concurrency=3)
    spec = parse_spec(json.loads(json.dumps(workload.to_spec(8123, "sk-1"))))
    assert (spec.port, spec.api_key, spec.prompts) == (8123, "sk-1", ("a b", "c d"))
    assert (spec.max_new_tokens, spec.requests_per_block, spec.blocks, spec.concurrency) == (7, 6, 2, 3)
    assert (spec.warmup_requests, spec.temperature, spec.timeout_s) == (1, 0.0, 900.0)
    assert spec.unique_prefix
    assert spec.ignore_eos
    assert spec.flush_cache


def test_what_the_order_leaves_out_has_its_default():
    spec = parse_spec(GOOD)
    assert (spec.api, spec.model, spec.keep_output, spec.budget_s, spec.server_log) == (
        *("generate", "default", False, None, None),
    )
    given = {"api": "chat", "model": "kimi", "keep_output": True, "budget_s": 0, "server_log": "/tmp/x.log"}
    spec = parse_spec({"port": 1, "max_new_tokens": 1, "text": ["Hello."], **given})
    assert {name: getattr(spec, name) for name in given} == given


def test_the_key_is_in_the_headers_and_masked_elsewhere():
    spec = parse_spec({**GOOD, "api_key": "sk-1"})
    assert spec.headers()["Authorization"] == "Bearer sk-1"
    assert spec.masked("no entry for sk-1") == "no entry for ***"
    assert parse_spec(GOOD).masked("as it is") == "as it is"
    assert "Authorization" not in parse_spec(GOOD).headers()


def test_with_the_cache_flushed_each_run_sends_the_same_prompts_and_else_new_ones():
    flushed = Workload("text", ("a b",)).to_spec(1)
    assert parse_spec(flushed).nonce == parse_spec(flushed).nonce == 0
    kept = Workload("text", ("a b",), flush_cache=False).to_spec(1)
    assert parse_spec(kept).nonce != parse_spec(kept).nonce


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"host": "10.0.0.1"}, "host"),
        ({"port": 0}, "port"),
        ({"port": "8000"}, "port"),
        ({"port": True}, "port"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"max_new_tokens": None}, "max_new_tokens"),
        ({"concurrency": 5000}, "concurrency"),
        ({"temperature": float("nan")}, "temperature"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"flush_cache": 1}, "flush_cache"),
        ({"nonce": -1}, "nonce"),
        ({"input_ids": []}, "input_ids"),
        ({"input_ids": [[]]}, "input_ids"),
        ({"input_ids": [5, 17]}, "input_ids"),
        ({"input_ids": [[-5]]}, "input_ids"),
        ({"input_ids": None}, "text"),
        ({"text": ["both"]}, "text"),
        ({"api_key": "a\r\nHost: elsewhere"}, "api_key"),
        ({"api": "responses"}, "api"),
        ({"api": 7}, "api"),
        ({"api": "chat"}, "input_ids"),
        ({"model": ["x"]}, "model"),
        ({"model": "a\nb"}, "model"),
        ({"keep_output": 1}, "keep_output"),
        ({"budget_s": -1}, "budget_s"),
        ({"budget_s": True}, "budget_s"),
        ({"budget_s": float("inf")}, "budget_s"),
        ({"server_log": "relative.log"}, "server_log"),
        ({"server_log": "/a\0b"}, "server_log"),
    ],
)
def test_a_wrong_order_is_refused_by_its_key(change, name):
    with pytest.raises(SpecError, match=name):
        parse_spec({**GOOD, **change})


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"7"])
def test_a_broken_file_is_a_spec_error(tmp_path, content):
    path = tmp_path / "spec.json"
    path.write_bytes(content)
    with pytest.raises(SpecError):
        read_spec(str(path))
    with pytest.raises(SpecError):
        read_spec(str(tmp_path / "missing.json"))


@given(st.lists(st.integers(0, 511), min_size=1, max_size=20).map(tuple), st.integers(0, 10**18))
def test_a_prefix_of_ids_uses_the_prompt_s_own_and_leaves_its_end(prompt, number):
    found = with_prefix(prompt, number)
    assert found[-len(prompt) :] == prompt
    assert set(found) == set(prompt)


def test_neighbouring_requests_share_no_first_token():
    prompt = (5, 17, 300)
    found = [with_prefix(prompt, 1000 + n) for n in range(500)]
    assert len(set(found)) == 500
    assert all(a[0] != b[0] for a, b in pairwise(found))


def test_a_prompt_of_one_id_cannot_be_made_unique():
    assert with_prefix((7, 7), 3) == (7, 7)


def test_a_text_gets_a_line_of_its_own_before_it():
    found = [with_prefix("Say hello.", n) for n in range(500)]
    assert len(set(found)) == 500
    assert all(text.endswith("]\nSay hello.") and text.count("\n") == 1 for text in found)
    assert len({text[:4] for text in found}) > 300, "the markers differ from their first digits on"
