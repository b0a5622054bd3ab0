"""The E cases: what people concluded from benchmarks, and what a comparison of the same numbers says."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from console.probe.agreement import with_server
from console.probe.compare import compare, compare_pools, marks
from console.probe.metrics import measure
from console.probe.same_acceptance import check_acceptance
from console.probe.server_side import server_figures
from console.probe.workload import Workload
from tests.unit.probe.runs import ARGV, SPECULATIVE, fingerprint, pair_request, stored, trace

DATA = Path(__file__).parents[1] / "data"


def table(name):
    with (DATA / "cases" / name).open() as file:
        return list(csv.DictReader(file))


def blocks(rate):
    """Five blocks around a published number, which has no spread of its own: 0.5 % is a quiet machine's."""
    return tuple(rate * (1 + 0.005 * step) for step in (-1, -0.5, 0, 0.5, 1))


def measured(row):
    """A row of E01 as a stored run: `--concurrency` is its bs."""
    speculation = [f"--speculative-{name}={row[key]}" for name, key in _FLAGS if row[key]]
    load = Workload("chat", ("Hello.",), concurrency=int(row["bs"]), requests_per_block=64).identity()
    length = float(row["acc_len"]) if row["acc_len"] else None
    rate = float(row["tok_s"])
    argv = (*ARGV, *speculation)
    return stored(*blocks(rate), workload=load, argv=argv, output_tok_s=rate, accept_len=length)


_FLAGS = (("num-steps", "steps"), ("eagle-topk", "topk"), ("num-draft-tokens", "draft"))


def test_e01_accept_len_up_and_tok_s_down_is_slower():
    rows = table("E01-specforge339.csv")
    baseline = {row["bs"]: measured(row) for row in rows if not row["steps"]}
    speculative = [(row, measured(row)) for row in rows if row["steps"]]
    found = {row["tok_s"]: compare(baseline[row["bs"]], run, ["speculative"]) for row, run in speculative}
    assert all(each.verdict == "slower" for each in found.values())
    best = max((run for row, run in speculative if row["bs"] == "1"), key=lambda run: run.result.output_tok_s)
    assert compare(baseline["1"], best, ["speculative"]).contrast.difference == pytest.approx(-0.067, abs=0.001)
    longest = max(speculative, key=lambda each: each[1].result.accept_len)[1]
    assert longest.result.accept_len == 3.2
    assert longest.result.output_tok_s < best.result.output_tok_s, "the longest is not the best"


def test_e01_another_batch_size_is_another_workload():
    rows = table("E01-specforge339.csv")
    one, four = measured(rows[0]), measured(next(row for row in rows if row["bs"] == "4" and row["steps"]))
    found = compare(one, four, ["speculative"])
    assert found.verdict == "withheld"
    assert "workload.concurrency" in found.why


def test_e02_a_baseline_that_drifted_is_shown_with_both_of_its_numbers():
    told = {row["label"]: float(row["tok_s"]) for row in table("E02-baseline.csv")}
    quoted, final = told["baseline_quoted"], told["eagle3_2steps"]
    implied = final / (1 + told["claim_vs_baseline_pct"] / 100)
    assert round(implied, 1) == 88.8
    first = stored(*blocks(quoted), run_id="monday", at=1.0, launch_id="l1")
    again = stored(*blocks(implied), run_id="friday", at=2.0, launch_id="l2")
    candidate = stored(*blocks(final), run_id="two-steps", argv=SPECULATIVE)
    both = compare_pools([first, again], [candidate], ["speculative"])
    assert both.baseline.run_id == "monday,friday"
    assert any(note.startswith("baseline: 2 launches at 90.0, 88.8 tok/s, 1.4 %") for note in both.notes)
    assert compare(first, candidate, ["speculative"]).contrast.difference == pytest.approx(0.044, abs=0.001)
    assert compare(again, candidate, ["speculative"]).contrast.difference == pytest.approx(0.059, abs=0.001)


def test_e02_a_gain_below_the_spread_is_within_the_noise():
    noisy = stored(94.0, 88.0, 99.0, 90.0, 98.0, argv=SPECULATIVE)
    found = compare(stored(90.0, 86.0, 93.0, 88.0, 92.0), noisy, ["speculative"])
    assert found.verdict == "cant_tell"
    assert "noise" in found.why


def test_e02_a_broken_run_is_found():
    told = {row["label"]: float(row["tok_s"]) for row in table("E02-baseline.csv")}
    broken = stored(*blocks(told["eagle3_broken"]), argv=SPECULATIVE)
    found = compare(stored(*blocks(told["baseline_quoted"])), broken, ["speculative"])
    assert (found.verdict, round(found.contrast.difference, 3)) == ("slower", -0.391)


def test_e04_the_first_window_s_idle_time_is_in_no_figure():
    log = (DATA / "logs" / "cases" / "E04-first-window.log").read_bytes()
    found = server_figures([log])
    assert found.windows == 4
    assert 165.41 < found.gen_tok_s < 188.68
    assert found.accept_len == pytest.approx((1.95 + 1.80 + 2.05 + 1.80) / 4)


def test_e05_graphs_off_is_no_benchmark_and_accept_len_is_comparable():
    rows = {(row["algo"], row["steps"], row["cuda_graph"]): row for row in table("E05-graphs.csv")}

    def run(graph):
        row = rows["EAGLE3", "8", graph]
        flags = (*SPECULATIVE[:-1], "8", *(("--disable-cuda-graph",) if graph == "off" else ()))
        return stored(*blocks(float(row["tok_s"])), argv=flags, accept_len=float(row["acc_len"]))

    assert any("not a benchmark" in mark for mark in marks(run("off").fingerprint))
    assert compare(run("on"), run("off")).verdict == "withheld"
    assert check_acceptance(run("on"), run("off")).verdict == "agree"


def test_e06_other_prompts_are_another_workload():
    send_one = stored(*blocks(100.43), accept_len=2.42, workload=Workload("text", ("one",)).identity())
    mt_bench = stored(*blocks(234.54), accept_len=5.88, workload=Workload("mt_bench", ("many",)).identity())
    found = compare(send_one, mt_bench)
    assert found.verdict == "withheld"
    assert "workload.prompt" in found.why


def test_e08_the_share_of_windows_in_a_graph_stands_beside_the_run():
    line = (
        "[2026-01-01 00:00:00] Decode batch, #running-req: {n}, #token: 9, token usage: 0.00, accept len: 2.00, "
        "accept rate: 0.50, cuda graph: {graph}, gen throughput (token/s): 50.00, #queue-req: 0\n"
    )
    windows = [(2, True), (2, True), (3, False), (4, False), (4, False)]
    found = server_figures(["".join(line.format(n=n, graph=graph) for n, graph in windows).encode()])
    assert found.graph_share == pytest.approx(1 / 4), "of the four that count"
    assert with_server(stored(1.0).result, found).server.graph_share == found.graph_share


@pytest.mark.parametrize("both", [True, False])
def test_e12_simulated_acceptance_is_said_and_withholds(both):
    simulated = {"env": {"NCCL_PROTO": "LL", "SGLANG_SIMULATE_ACC_LEN": "3"}}
    assert marks(fingerprint(**simulated)) == ("acceptance is simulated (SGLANG_SIMULATE_ACC_LEN)",)
    found = compare(stored(*blocks(90), **(simulated if both else {})), stored(*blocks(180), **simulated))
    assert "candidate: acceptance is simulated (SGLANG_SIMULATE_ACC_LEN)" in found.notes
    assert found.verdict == ("faster" if both else "withheld")


def test_e13_a_server_that_degrades_under_way_voids_the_run_and_p95_shows_its_tail():
    sound = [pair_request(index=n, output_ids=tuple(range(400))) for n in range(4)]
    broken = [pair_request(index=n, output_ids=(0,) * 400) for n in range(4, 8)]
    found = measure(trace(*sound, *broken))
    assert not found.valid
    assert "degraded" in found.why
    slow = [pair_request(index=n, e2e_s=23.16 if n > 17 else 13.57) for n in range(20)]
    latency = measure(trace(*slow)).e2e_ms
    assert latency.p50 == pytest.approx(13_570)
    assert latency.p95 > 23_000


def test_e14_a_chain_is_told_from_a_tree_beside_accept_len():
    chain = (*SPECULATIVE, "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "6")
    tree = (*SPECULATIVE, "--speculative-eagle-topk", "8", "--speculative-num-draft-tokens", "60")
    data = compare(stored(*blocks(90), argv=chain), stored(*blocks(80), argv=tree), ["speculative"]).to_json()
    forms = [data[side]["speculation"] for side in ("baseline", "candidate")]
    assert [(each["form"], each["topk"], each["draft_tokens"]) for each in forms] == [
        ("chain", "1", "6"),
        ("tree", "8", "60"),
    ]
    assert forms[0]["draft"] == "/models/draft"
