"""Every log form: what each kind of real line gives, and exact counts by kind of each real log.

The logs of `h200/` are real servers' (SGLang 0.5.12.post1 on H200 GPUs, one to four ranks, some with a fault made on
purpose), `sglang_cpu/` a real server's without a GPU; host paths are replaced, all else is as printed. The counts were
checked against plain searches of the files (see the tests below the table).
"""

from __future__ import annotations

import re

import pytest

from console.logs.history import LogHistory
from console.logs.record import BLANK, UNCLAIMED
from tests.unit.logs.samples import DATA, history, log_lines

COUNTS = {
    "h200/tp1-crash-jit-build.log": (
        "advice=5 blank=8 distributed=2 failure=3 graph_capture=2 kernel_build=4 kv_cache=3 "
        "load_weight=2 progress=3 python_warning=9 server_args=1 shards=2 startup=21 traceback=102"
    ),
    "h200/tp1-eagle3.log": (
        "access_log=22 decode_batch=8 distributed=4 failure=4 graph_capture=3 kv_cache=6 load_weight=4 "
        "notice=2 pool=1 prefill_batch=7 progress=143 python_warning=9 ready=1 server_args=1 shards=4 "
        "startup=32 uvicorn=4"
    ),
    "h200/tp2-ambiguous-flag.log": ("argparse_error=342 python_warning=5"),
    "h200/tp2-deepseek-eagle3-eager.log": (
        "access_log=4 decode_batch=4 distributed=9 failure=2 kv_cache=10 load_weight=8 notice=2 pool=1 "
        "prefill_batch=3 python_warning=11 ready=1 server_args=1 shards=4 startup=53 uvicorn=4"
    ),
    "h200/tp2-deepseek-eagle3-graphs.log": (
        "access_log=4 decode_batch=4 distributed=9 failure=2 graph_capture=12 kv_cache=10 load_weight=8 "
        "notice=2 pool=1 prefill_batch=3 progress=16 python_warning=17 ready=1 server_args=1 shards=4 "
        "startup=54 unclaimed=1 uvicorn=4"
    ),
    "h200/tp2-draft-missing.log": ("blank=2 python_warning=5 startup=1 traceback=54"),
    "h200/tp2-eagle-flag.log": (
        "access_log=6 decode_batch=15 distributed=9 kv_cache=10 load_weight=8 notice=2 pool=1 "
        "prefill_batch=4 python_warning=15 ready=1 server_args=1 shards=4 startup=50 uvicorn=4"
    ),
    "h200/tp2-four-captures.log": (
        "access_log=1 blank=2 distributed=9 failure=3 kv_cache=10 load_weight=8 notice=2 pool=1 "
        "python_warning=11 server_args=1 shards=4 startup=50 torch_error=2 traceback=106 uvicorn=4"
    ),
    "h200/tp2-illegal-memory.log": (
        "access_log=1 blank=7 distributed=5 failure=2 kv_cache=5 load_weight=4 native_stack=48 pool=1 "
        "python_warning=11 server_args=1 shards=2 startup=42 torch_error=3 uvicorn=4"
    ),
    "h200/tp2-memory-unbalanced.log": (
        "blank=1 distributed=4 failure=3 notice=1 python_warning=11 server_args=1 startup=24 traceback=20"
    ),
    "h200/tp2-deepseek-eagle3-overlay.log": (
        "access_log=10 decode_batch=6 distributed=9 failure=2 graph_capture=12 kv_cache=10 "
        "load_weight=8 notice=5 overlay=2 pool=1 prefill_batch=4 progress=38 python_warning=19 "
        "ready=1 server_args=1 shards=4 startup=54 tensor_shape=1160 unclaimed=1 uvicorn=4"
    ),
    "h200/tp2-nccl-unhandled.log": (
        "access_log=1 blank=2 distributed=9 failure=5 graph_capture=12 kv_cache=10 load_weight=8 nccl=6 "
        "notice=1 pool=1 progress=38 python_warning=11 server_args=1 shards=4 startup=54 traceback=136 "
        "uvicorn=4"
    ),
    "h200/tp2-sync-in-capture.log": (
        "advice=10 blank=18 distributed=5 failure=4 graph_capture=3 kv_cache=5 load_weight=4 native_stack=24 "
        "notice=1 overlay=2 progress=3 python_warning=17 server_args=1 shards=2 startup=33 torch_error=6 "
        "traceback=116 unclaimed=1"
    ),
    "h200/tp2-triton-compile.log": (
        "blank=2 distributed=5 failure=2 graph_capture=3 kv_cache=5 load_weight=4 progress=3 "
        "python_warning=11 server_args=1 shards=2 startup=30 traceback=125"
    ),
    "h200/tp2-port-in-use.log": (
        "distributed=9 kv_cache=10 load_weight=8 notice=2 pool=1 python_warning=11 ready=1 server_args=1 "
        "shards=4 startup=47 uvicorn=6"
    ),
    "h200/tp2-scheduler-killed.log": (
        "access_log=3 blank=1 decode_batch=2 distributed=9 failure=2 kv_cache=10 load_weight=8 notice=2 "
        "pool=1 prefill_batch=2 python_warning=11 ready=1 server_args=1 shards=4 startup=50 traceback=23 "
        "uvicorn=4"
    ),
    "h200/tp4-baseline.log": (
        "access_log=5 decode_batch=70 distributed=9 failure=2 graph_capture=10 kv_cache=9 load_weight=8 "
        "pool=1 prefill_batch=4 progress=8 python_warning=15 ready=1 server_args=1 shards=2 startup=61 "
        "uvicorn=4"
    ),
    "h200/tp4-eagle3-debug.log": (
        "access_log=4 blank=43 distributed=17 kv_cache=18 load_weight=16 notice=2 pool=1 prefill_batch=3 "
        "python_warning=19 ready=1 server_args=1 shards=4 startup=88 tensor_shape=3240 uvicorn=4"
    ),
    "h200/tp4-eagle3.log": (
        "access_log=12 decode_batch=22 distributed=17 failure=2 graph_capture=16 kv_cache=18 "
        "load_weight=16 notice=2 pool=1 prefill_batch=7 progress=24 python_warning=29 ready=1 "
        "server_args=1 shards=4 startup=89 unclaimed=1 uvicorn=4"
    ),
    "sglang_cpu/tp2-digest-cycle.log": ("eagle3_cycle=10 eagle3_digest=60"),
}
"""By log: kind=records."""

SEARCHES = {
    "decode_batch": rb"Decode batch[.,] ",
    "prefill_batch": rb"Prefill batch[.,] ",
    "ready": rb"The server is fired up and ready to roll!",
    "load_weight": rb"Load weight (?:begin|end)\.",
    "pool": rb"max_total_num_tokens=\d+, ",
    "server_args": rb"\] server_args=",
    "access_log": rb'INFO: +\S+ - "[A-Z]+ ',
    "tensor_shape": rb"\[EAGLE3_DEBUG\] ",
    "eagle3_cycle": rb"\[EAGLE3_CYCLE\] ",
    "eagle3_digest": rb"\[EAGLE3_DIGEST\] ",
    "distributed": rb"Init torch distributed|is using nccl==",
    "kv_cache": rb"KV Cache is allocated|Using KV cache dtype|Memory pool end",
    "torch_error": rb"mat1 and mat2|CUDA error: ",
}
"""What each record of a kind holds, once: the same number from grep."""

RIGHTLY_UNCLAIMED = {
    "h200/tp4-eagle3.log": ["  warnings.warn("],
    "h200/tp2-deepseek-eagle3-graphs.log": ["  warnings.warn("],
    "h200/tp2-deepseek-eagle3-overlay.log": ["  warnings.warn("],
    "h200/tp2-sync-in-capture.log": ["  warnings.warn("],
}
"""Python's warning above each of these is glued behind a progress bar: nothing tells that the line is its source."""


def counted(name: str) -> dict[str, int]:
    return {kind: int(number) for kind, _, number in (pair.partition("=") for pair in COUNTS[name].split())}


def test_every_real_log_is_counted():
    folders = ("h200", "sglang_cpu")
    assert sorted(COUNTS) == sorted(
        f"{path.parent.name}/{path.name}" for f in folders for path in (DATA / f).glob("*.log")
    )


@pytest.mark.parametrize("name", COUNTS)
def test_a_real_log_gives_exactly_these_records(name: str):
    assert dict(history(name).counts) == counted(name)


@pytest.mark.parametrize("name", COUNTS)
def test_the_counts_are_those_of_a_plain_search(name: str):
    data = (DATA / name).read_bytes()
    counts = counted(name)
    for kind, pattern in SEARCHES.items():
        assert counts.get(kind, 0) == len(re.findall(pattern, data)), kind


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_of_a_real_log_is_unknown_but_what_is_rightly_so(name: str):
    unclaimed = [one.text for one in history(name).records if one.kind == UNCLAIMED]
    assert unclaimed == RIGHTLY_UNCLAIMED.get(name, [])


@pytest.mark.parametrize("name", RIGHTLY_UNCLAIMED)
def test_the_warning_above_an_unclaimed_source_line_is_glued_to_a_bar(name: str):
    records = list(history(name).records)
    for at, one in enumerate(records):
        if one.kind == UNCLAIMED:
            assert records[at - 1].kind == "progress"
            assert "Warning: " in records[at - 1].text


@pytest.mark.parametrize("name", COUNTS)
def test_all_bytes_come_back_in_records(name: str):
    records = list(history(name).records)
    texts = [line.text for line in log_lines(name)]
    assert "".join(one.text for one in records) == "".join(texts)


def test_every_release_s_line_parses_and_gives_its_accept_len():
    records = list(history("cases/D01-decode-versions.log").records)
    assert [one.kind for one in records] == ["decode_batch"] * 8 + ["prefill_batch"] * 4
    lengths = [one.fields.get("accept_len") for one in records]
    assert lengths == [2.17, 2.17, 2.86, 1.80, 2.05, None, 2.05, 2.05, None, None, None, None]
    assert all(isinstance(one.fields["running_req"], int) for one in records)
    assert (records[1].fields["largest_len"], records[8].fields["cache_hit_rate"]) == (2048, 0.0)
    assert [one.fields.get("pending_token") for one in records[-2:]] == [None, 157704]
    assert [one.fields.get("input_throughput") for one in records[-2:]] == [559.53, 824.28]


@pytest.mark.parametrize(
    "line",
    [
        "Decode batch [41], #running-req: 1, #token: 340, token usage: 0.00, accept len: 2.05, #queue-req: 0",
        "Decode batch, #running-req: 1, #full token: 340, full token usage: 0.07, swa token usage: 0.01, "
        "accept len: 2.05, cap len: 3.00, block accept len: 1.00, #queue-req: 0",
        "Decode batch, #running-req: 1, accept len: 2.05, #queue-req: 0, est. decode TFLOPS/s (per GPU): 12.5, "
        "est. read BW (GB/s per GPU): 900.1, fwd occupancy: 97.5%, fwd+idle occupancy: 99.0%",
    ],
)
@pytest.mark.parametrize("head", ["", ".123"])
def test_fields_of_any_release_are_an_open_map(line: str, head: str):
    kept = LogHistory()
    kept.feed(0, f"[2026-06-01 09:00:00{head} DP1 PP0 ATTN_CP2 MOE_DP3 TP4 EP5] {line}\n".encode())
    (record,) = kept.records
    assert (record.kind, record.fields["accept_len"], record.fields["queue_req"]) == ("decode_batch", 2.05, 0)
    assert record.ranks == {"DP": 1, "PP": 0, "ATTN_CP": 2, "MOE_DP": 3, "TP": 4, "EP": 5}
    assert kept.stats.windows[0].token_usage in {0.0, 0.07, None}


def test_the_four_clients_and_vllm():
    records = list(history("cases/E06-clients.log").records)
    assert {one.kind for one in records} == {"benchmark", "vllm_stats"}
    told = [(one.fields.get("form"), one.fields.get("accept_len")) for one in records if "accept_len" in one.fields]
    assert told == [
        ("send_one", 2.42),
        ("mt_bench", 5.88),
        ("mt_bench", 1.0),
        ("send_one", 2.42),
        ("bench_serving", 5.88),
        (None, 3.0),
    ]
    speeds = [one.fields["output_tok_s"] for one in records if "output_tok_s" in one.fields]
    assert speeds == [100.43, 234.54, 88.61, 100.43, 234.54]
    assert records[-1].fields["strict_rate"] == 1.0


def test_access_lines_are_no_shapes():
    records = history("cases/D12-access.log").records
    assert [(one.kind, one.fields.get("is_poll")) for one in records] == [
        ("access_log", False),
        ("access_log", True),
        ("decode_batch", None),
    ]
    assert history("cases/D12-access.log").shapes.rows() == ()


def test_each_torch_sentence_gives_its_numbers():
    errors = [dict(one.fields) for one in history("cases/F03-torch-errors.log").records if one.kind != BLANK]
    assert [one["error"] for one in errors] == [
        *("matmul", "size_mismatch", "broadcast", "expand", "view", "concatenate", "copy", "normalized_shape"),
        *("split", "weight_shape"),
    ]
    assert (errors[0]["mat1_columns"], errors[0]["mat2_rows"]) == (28672, 21504)
    assert (errors[1]["tensor"], errors[1]["checkpoint_shape"]) == ("model.fc.weight", (7168, 21504))
    assert (errors[2]["a"], errors[2]["b"], errors[4]["wanted"], errors[4]["size"]) == (96, 90, (1, -1, 7168), 21504)
    assert (errors[5]["expected"], errors[5]["got"], errors[7]["got"]) == (6, 8, (6, 21504))
    assert (errors[8]["size"], errors[8]["split_sizes"], errors[9]["model_shape"]) == (
        21504,
        (7168, 7168),
        (128256, 4096),
    )


@pytest.mark.parametrize(
    ("line", "dtypes", "device", "rank"),
    [
        (0, (None,), None, 0),
        (1, ("bfloat16",), "cuda:0", 0),
        (2, (None,), None, 3),
        (3, ("bfloat16", "int64", "float32"), None, None),
        (4, (None,), None, 3),
        (6, ("bfloat16",), "cuda:3", None),
        (9, ("float32",), None, None),
    ],
)
def test_prints_of_people_give_dtype_device_and_rank(line: int, dtypes: tuple, device: str | None, rank: int | None):
    text = (DATA / "cases/F01-shape-prints.log").read_text().splitlines()[line].partition(" ## ")[0]
    kept = LogHistory()
    kept.feed(0, text.encode())
    kept.finish()
    (record,) = kept.records
    tensors = record.fields["tensors"]
    assert tuple(one.dtype for one in tensors) == dtypes  # type: ignore[attr-defined]
    assert (record.fields["device"], record.rank) == (device, rank)


@pytest.mark.parametrize(
    ("wrapper", "ranks"),
    [
        ("sglang  | ", {"TP": 5}),
        ("2025-11-10T09:50:25.135404509Z ", {"TP": 5}),
        ("(RayWorkerWrapper pid=10858, ip=10.0.0.8) ", {"TP": 5}),
        ("[pod/sglang-0/server] ", {"TP": 5}),
        ("[pod/sglang-0/server] 2025-11-10T09:50:25.135404509Z ", {"TP": 5}),
        ("sglang-1  | 2025-11-10T09:50:25+01:00 ", {"TP": 5}),
    ],
)
def test_wrappers_are_peeled_in_any_order(wrapper: str, ranks: dict[str, int]):
    kept = LogHistory()
    kept.feed(0, f"{wrapper}[2026-05-19 00:09:18 TP5] Load weight begin. avail mem=95.10 GB\n".encode())
    (record,) = kept.records
    assert (record.kind, record.ranks, record.ts) == ("load_weight", ranks, "2026-05-19 00:09:18")
    assert record.text.startswith(wrapper)
