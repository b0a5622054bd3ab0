"""The server's own figures: from lines whose arithmetic is known, and from real logs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.probe.agreement import disagreements, with_server
from console.probe.device_timer import DeviceSplit
from console.probe.metrics import ProbeResult
from console.probe.server_side import ServerFigures, server_figures
from tests.unit.probe.runs import result

LOGS = Path(__file__).parents[2] / "data" / "logs"


def decode(rate, running=1, length=3.0, graph=True, ranks="TP0"):
    told = f"accept len: {length:.2f}, accept rate: 0.50, " if length else ""
    return (
        f"[2026-11-29 22:26:00 {ranks}] Decode batch, #running-req: {running}, #token: 129, token usage: 0.00, {told}"
        f"cuda graph: {graph}, gen throughput (token/s): {rate:.2f}, #queue-req: 0\n"
    ).encode()


def prefill(running=0):
    return (
        "[2026-11-29 22:26:00 TP0] Prefill batch, #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.00, "
        f"#running-req: {running}, #queue-req: 0, #pending-token: 0, cuda graph: False\n"
    ).encode()


def test_throughput_weighs_each_window_by_its_time():
    # Equal tokens at 100 and 300 tok/s: 3/4 of the time at 100.
    found = server_figures([decode(1.0) + decode(100.0) + decode(300.0)])
    assert found.windows == 2
    assert found.gen_tok_s == pytest.approx(150.0)


def test_a_window_of_longer_accept_len_brought_more_tokens():
    found = server_figures([decode(1.0) + decode(100.0, length=2.0) + decode(200.0, length=4.0)])
    assert found.gen_tok_s == pytest.approx((2 + 4) / (2 / 100 + 4 / 200))
    assert found.accept_len == pytest.approx(3.0)


def test_each_block_s_first_window_and_those_with_idle_time_are_left_out():
    first = decode(0.4) + decode(100.0) + prefill() + decode(5.0) + decode(100.0)
    found = server_figures([first, decode(7.0) + decode(100.0)])
    assert (found.windows, found.gen_tok_s) == (3, pytest.approx(100.0))
    joined = server_figures([decode(0.4) + prefill(running=2) + decode(90.0)])
    assert joined.gen_tok_s == pytest.approx(90.0), "a request that joins others meets no idle server"


def test_full_windows_are_those_with_as_many_requests_as_any():
    data = decode(1.0, 1) + decode(90.0, 1) + decode(340.0, 4) + decode(350.0, 4) + decode(170.0, 2)
    found = server_figures([data])
    assert found.full_gen_tok_s == pytest.approx(2 / (1 / 340 + 1 / 350))
    assert found.gen_tok_s < found.full_gen_tok_s
    assert found.accept_len == pytest.approx(3.0)


def test_data_parallel_groups_add_up():
    data = b"".join(decode(rate, ranks=f"DP{group} TP0") for group in (0, 1) for rate in (1.0, 100.0))
    assert server_figures([data]).gen_tok_s == pytest.approx(200.0)


def test_a_server_without_speculation_has_no_accept_len():
    found = server_figures([decode(1.0, length=0) + decode(90.0, length=0, graph=False)])
    assert (found.gen_tok_s, found.accept_len, found.graph_share) == (pytest.approx(90.0), None, 0.0)


def test_a_log_without_such_lines_gives_none():
    assert server_figures([]) is None
    assert server_figures([b"INFO: nothing of it\n", b""]) is None
    assert server_figures([decode(0.39)]) is None


def test_a_real_run_on_four_gpus():
    found = server_figures([(LOGS / "h200" / "tp4-eagle3.log").read_bytes()])
    assert found.windows == 17
    assert found.accept_len == pytest.approx(3.57, abs=0.01)  # its requests: 400 / 112 = 3.5714
    assert found.graph_share == 1.0
    assert 2300 < found.full_gen_tok_s < 2400, "the one window with four requests: 2350.30"


def test_the_stages_of_a_cycle_come_from_an_instrumented_tree():
    found = server_figures([(LOGS / "sglang_cpu" / "tp2-digest-cycle.log").read_bytes()])
    assert (found.cycle.count, found.cycle.clock) == (5, "host")
    assert found.cycle.verify_ms == pytest.approx(79.39)
    assert found.gen_tok_s is None


@given(st.lists(st.integers(0, 400), max_size=6))
def test_half_lines_at_the_edges_are_harmless(places):
    data = decode(1.0) + decode(90.0) + decode(95.0)
    for place in places:
        server_figures([data[place:], data[: len(data) - place]])


@given(st.binary(max_size=300))
def test_no_bytes_break_it(data):
    server_figures([data, decode(3.0) + data + decode(4.0)])


def test_figures_survive_json():
    log = (LOGS / "sglang_cpu" / "tp2-digest-cycle.log").read_bytes()
    found = dataclasses.replace(server_figures([log]), device=DeviceSplit({"extend": 0.5}, 20.0), device_why="x")
    kept = with_server(result(90.0, 91.0), found)
    assert ProbeResult.from_json(json.loads(json.dumps(kept.to_json()))) == kept
    assert ProbeResult.from_json({**kept.to_json(), "server": {"added_later": 1}}).server == ServerFigures()


def client(**changes):
    fields = {"concurrency": 1, "decode_tok_s": 100.0, "verifications": 86, "requests": 1, "completion_tokens": 400}
    return result(90.0, 91.0, **{**fields, **changes})


SERVER = ServerFigures(windows=20, gen_tok_s=101.0, full_gen_tok_s=400.0, accept_len=399 / 86)


def test_what_agrees_is_not_noted():
    found = with_server(client(), SERVER)
    assert found.server == SERVER
    assert found.notes == ()
    assert with_server(client(), None) == client()


def test_both_numbers_are_told_when_they_are_over_two_per_cent_apart():
    (note,) = disagreements(client(decode_tok_s=97.0), SERVER)
    assert note == "the client measured 97.0 tok/s, the server says 101.0 over 20 windows of its log: 4.0% apart"
    (note,) = disagreements(client(), dataclasses.replace(SERVER, accept_len=400 / 80))
    assert "4.6395 by the client, 5.0000" in note


def test_prefill_s_token_is_no_disagreement():
    # 60 / 14 against 59 / 14 is 1.7 % here, and 9 % at ten verifications.
    short = client(completion_tokens=12, verifications=10)
    assert list(disagreements(short, dataclasses.replace(SERVER, accept_len=1.1))) == []


def test_at_several_streams_the_steady_window_stands_beside_full_windows():
    assert list(disagreements(client(concurrency=4, steady_tok_s=398.0), SERVER)) == []
    (note,) = disagreements(client(concurrency=4, steady_tok_s=300.0), SERVER)
    assert "300.0 tok/s, the server says 400.0" in note
    assert list(disagreements(client(concurrency=4, steady_tok_s=None), SERVER)) == []


def test_a_window_or_two_say_nothing():
    assert list(disagreements(client(decode_tok_s=50.0), dataclasses.replace(SERVER, windows=2))) == []
