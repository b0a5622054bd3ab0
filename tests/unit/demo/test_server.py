"""The stand-in server while it serves: processes, log and HTTP."""

from __future__ import annotations

import itertools
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from console.demo.setup import DemoNode, prepare
from tests.unit.demo.standin_server import KEY, READY, Standin, apps, call, children, eagle, generate, memory_mib

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Launch = Callable[..., Standin]


@pytest.fixture(scope="module")
def server(node: DemoNode, launch: Launch) -> Standin:
    """The story's debug launch: EAGLE-3 at 5 steps, graphs off; the key comes from a config file."""
    config = node.home / "config.yaml"
    config.write_text(f"api_key: {KEY}\n")
    config.chmod(0o600)
    options = ["--disable-cuda-graph", *eagle(node), "--decode-log-interval", "10", "--config", str(config)]
    return launch(*options).wait_ready()


@pytest.fixture(scope="module")
def baseline(launch: Launch) -> Standin:
    return launch().wait_ready()


def test_the_first_line_says_simulated(server: Standin) -> None:
    assert server.lines()[0].startswith("[spec-console] SIMULATED server: stand-in sglang 0.5.12.post1+simulated")


def test_the_phases_come_in_sglangs_order_and_words(server: Standin) -> None:
    rank0 = [
        line.partition("] ")[2] for line in server.lines() if "] " in line and (" TP0] " in line or "TP" not in line)
    ]
    expected = [
        "server_args=ServerArgs(model_path=",
        "Init torch distributed begin.",
        "Init torch distributed ends. elapsed=",
        "Load weight begin. avail mem=",
        "Load weight end. elapsed=",
        "KV Cache is allocated. #tokens: ",
        "Memory pool end. avail mem=",
        "Load weight begin. avail mem=",
        "Load weight end. elapsed=",
        "max_total_num_tokens=",
        "INFO:     Uvicorn running on http://127.0.0.1:",
        "Prefill batch, #new-seq: 1, #new-token: 7,",
        READY,
    ]
    at = 0
    for line in rank0:
        at += at < len(expected) and line.startswith(expected[at])
    assert at == len(expected), f"not found: {expected[at]!r} in {rank0}"
    assert not any("Capture" in line for line in rank0)
    assert any(line.startswith("Multi-thread loading shards: 100% Completed | 64/64") for line in server.lines())


def test_it_listens_on_loopback_only_and_says_so(server: Standin) -> None:
    assert "asked to listen on 0.0.0.0, listens on 127.0.0.1 only" in server.text()


def test_ranks_are_processes_with_sglangs_titles_in_the_launchers_group(server: Standin) -> None:
    found = children(server.pid)
    titles = dict(found.values())
    ranks = [f"sglang::scheduler_TP{rank}" for rank in range(8)]
    assert sorted(titles) == sorted([*ranks, "sglang::detokenizer"])
    assert {titles[rank] for rank in ranks} == {"sglang::schedul"}
    assert {(os.getpgid(pid), os.getsid(pid)) for pid in found} == {(server.pid, server.pid)}


def test_gpu_memory_follows_the_ranks(node: DemoNode, server: Standin, tmp_path: Path) -> None:
    mine = {pid: title for pid, (title, _) in children(server.pid).items() if "scheduler" in title}
    rows = {int(pid): (uuid, name) for uuid, pid, name, _ in apps(node) if int(pid) in mine}
    assert {pid: name for pid, (_, name) in rows.items()} == mine
    assert len({uuid for uuid, _ in rows.values()}) == 8
    assert min(memory_mib(node)) > 0.88 * 143771
    other = prepare(tmp_path)
    assert memory_mib(other) == [0] * 8, "another demo's ranks were counted"


@pytest.fixture(scope="module")
def streamed(server: Standin) -> list[dict[str, Any]]:
    """The chunks of one stream of 60 tokens."""
    reply = generate(server, {"text": "A prompt of its own."}, 60, stream=True)
    events = [line[6:] for line in reply.text.split("\n\n") if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    return [json.loads(event) for event in events[:-1]]


def test_a_chunk_is_a_verify_cycle(streamed: list[dict[str, Any]]) -> None:
    counts = [chunk["meta_info"]["completion_tokens"] for chunk in streamed]
    meta = streamed[-1]["meta_info"]
    assert counts[0] == 1
    assert counts[-1] == 60
    assert len(streamed) - 1 == meta["spec_verify_ct"]
    steps = [after - before for before, after in itertools.pairwise(counts)]
    assert all(1 <= step <= 6 for step in steps)
    histogram = [sum(1 for step in steps[:-1] if step == drafts + 1) for drafts in range(6)]
    last = [told - seen for told, seen in zip(meta["spec_correct_drafts_histogram"], histogram, strict=True)]
    assert sorted(last) == [0, 0, 0, 0, 0, 1], "all but the last, cut cycle can be read off the chunks"


def test_accept_len_is_sglangs_own(streamed: list[dict[str, Any]]) -> None:
    meta = streamed[-1]["meta_info"]
    histogram = meta["spec_correct_drafts_histogram"]
    assert meta["spec_accept_length"] == pytest.approx(60 / meta["spec_verify_ct"])
    assert sum(histogram) == meta["spec_verify_ct"]
    correct = sum(drafts * count for drafts, count in enumerate(histogram))
    assert meta["spec_accept_rate"] == pytest.approx(correct / (5 * meta["spec_verify_ct"]))
    assert 2.5 < meta["spec_accept_length"] < 4.2
    assert meta["simulated"] is True
    assert meta["finish_reason"] == {"type": "length", "length": 60}
    assert "spec_verify_ct" not in streamed[0]["meta_info"]


def test_text_and_ids_are_cumulative(streamed: list[dict[str, Any]]) -> None:
    for before, after in itertools.pairwise(streamed):
        assert after["text"].startswith(before["text"])
        assert after["output_ids"][: len(before["output_ids"])] == before["output_ids"]
    assert len(streamed[-1]["output_ids"]) == 60


def test_speculation_does_not_change_the_greedy_output(server: Standin, baseline: Standin) -> None:
    prompt = {"input_ids": [5, 17, 300]}
    with_draft, without = (generate(each, prompt, 24).json() for each in (server, baseline))
    assert with_draft["output_ids"] == without["output_ids"]
    assert "spec_verify_ct" not in without["meta_info"]
    assert without["meta_info"]["prompt_tokens"] == 3


def test_the_prefix_cache_and_its_flush(server: Standin) -> None:
    def cached() -> int:
        return int(generate(server, {"input_ids": list(range(900, 930))}, 1).json()["meta_info"]["cached_tokens"])

    first, second = cached(), cached()
    assert call(server, "POST", "/flush_cache").status == 200
    assert (first, second, cached()) == (0, 29, 0)


def test_server_info_is_labelled_and_hides_the_key(server: Standin) -> None:
    info = call(server, "GET", "/server_info").json()
    assert info["simulated"] is True
    assert info["version"] == "0.5.12.post1+simulated"
    assert (info["speculative_algorithm"], info["speculative_num_steps"], info["tp_size"]) == ("EAGLE3", 5, 8)
    assert info["max_running_requests"] == 48
    assert "avg_spec_accept_length" in info["internal_states"][0]
    assert KEY not in json.dumps(info)


def test_models_and_health(server: Standin) -> None:
    models = call(server, "GET", "/v1/models").json()
    assert models["data"][0]["id"].endswith("models/kimi-k2.5-int4")
    before = server.text().count("Prefill batch")
    assert call(server, "GET", "/health", key=None).status == 200
    assert server.text().count("Prefill batch") == before + 1, "/health costs a generation, as SGLang's does"


def test_without_the_key_only_health_answers(server: Standin) -> None:
    for path in ("/v1/models", "/server_info", "/model_info"):
        assert call(server, "GET", path, key=None).status == 401
        assert call(server, "GET", path, key="wrong").status == 401
    assert call(server, "GET", "/nowhere").status == 404
    assert call(server, "POST", "/generate", {"sampling_params": {}}).status == 400


def test_the_decode_line_has_the_form_of_its_release(server: Standin) -> None:
    generate(server, {"text": "long enough for a line"}, 50)
    line = next(line for line in server.lines() if "Decode batch, " in line)
    head, _, fields = line.partition("Decode batch, ")
    values = dict(field.split(": ") for field in fields.split(", "))
    assert head.endswith(" TP0] ")
    assert list(values) == [
        "#running-req",
        "#token",
        "token usage",
        "accept len",
        "accept rate",
        "cuda graph",
        "gen throughput (token/s)",
        "#queue-req",
    ]
    assert values["cuda graph"] == "False"
    assert float(values["accept rate"]) == pytest.approx((float(values["accept len"]) - 1) / 5, abs=0.01)
