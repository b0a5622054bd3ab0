"""What real and collected lines must give, case by case."""

from __future__ import annotations

import pytest

from console.logs.classify import classify
from console.logs.prints import printed_tensors
from console.logs.record import UNCLAIMED, Record
from tests.unit.logs.samples import DATA, log_lines, record, records, told


def of_kind(name: str, *kinds: str) -> list[Record]:
    return [one for line in log_lines(name) for one in classify(line) if one.kind in kinds]


def test_every_release_s_batch_lines_parse() -> None:
    decode = of_kind("cases/D01-decode-versions.log", "decode_batch")
    assert [one.fields["accept_len"] for one in decode if "accept_len" in one.fields] == [
        *(2.17, 2.17, 2.86, 1.80, 2.05, 2.05, 2.05),
    ]
    assert [one.fields["gen_throughput"] for one in decode][-3:] == [1447.08, 188.68, 188.68]
    assert decode[2].ranks == {"DP": 6, "TP": 6}
    prefill = of_kind("cases/D01-decode-versions.log", "prefill_batch")
    assert [one.fields["new_token"] for one in prefill] == [28, 28, 158, 8192]
    assert len(decode) + len(prefill) == len(log_lines("cases/D01-decode-versions.log")) == 12


def test_a_bar_glued_to_a_record_gives_both() -> None:
    found = [one for line in log_lines("cases/D03-tqdm-glued.log") for one in classify(line)]
    assert [(one.kind, one.ranks) for one in found if one.ranks == {"TP": 1}] == [
        ("graph_capture", {"TP": 1}),
        ("graph_capture", {"TP": 1}),
    ]
    bars = [one for one in found if one.kind == "progress"]
    assert [(one.fields["done"], one.fields["total"]) for one in bars] == [(0, 23), (10, 23), (23, 23)]


def test_docker_prefixes_are_peeled_and_a_traceback_keeps_its_indentation() -> None:
    found = of_kind("cases/D05-docker.log", "load_weight", "failure", "traceback")
    assert [one.kind for one in found] == ["load_weight", "failure", "traceback"]
    assert found[0].ranks == {"TP": 5, "EP": 5}
    assert found[2].text.startswith("2025-11-10T09:50:25.135405929Z   File ")


def test_interleaved_tracebacks_name_a_rank_only_where_a_line_does() -> None:
    found = of_kind("cases/D08-interleaved.log", "failure", "torch_error")
    assert [(one.kind, one.rank) for one in found] == [
        ("failure", 3),
        ("failure", 5),
        ("torch_error", None),
        ("torch_error", None),
    ]


def test_access_lines_hold_no_shapes_and_polls_are_known() -> None:
    found = of_kind("cases/D12-access.log", "access_log", "tensor_shape")
    assert [(one.kind, one.fields["is_poll"]) for one in found] == [("access_log", False), ("access_log", True)]


def test_a_line_glued_of_colour_bar_and_wrapper_loses_nothing() -> None:
    found = [one for line in log_lines("cases/B15-car.log") for one in classify(line)]
    assert [one.fields.get("done") for one in found] == [32, 33, None]
    assert found[2].text.endswith("custom_all_reduce.cuh:310 'invalid argument'")


@pytest.mark.parametrize("line", (DATA / "cases" / "F01-shape-prints.log").read_text().splitlines())
def test_prints_of_people_give_names_and_dims(line: str) -> None:
    text, _, expectation = line.partition(" ## ")
    expected = [one.partition("=") for one in expectation.split(";")]
    found = record(text)
    assert found.kind == "tensor_shape"
    assert [(one.name or "?", ",".join(map(str, one.shape))) for one in found.fields["tensors"]] == [  # type: ignore[attr-defined]
        (name, dims) for name, _, dims in expected
    ]


def test_prints_give_dtype_device_and_rank_where_they_are_printed() -> None:
    assert record("[rank 3] aux_hidden_states shape: torch.Size([6, 21504])").rank == 3
    assert record("[2026-02-20 10:02:11 TP5] fc in: torch.Size([6, 21504])").rank == 5
    assert record("fc in: torch.Size([6, 21504])").rank is None
    (q_proj,) = printed_tensors("[DEBUG] q_proj: dtype=torch.bfloat16, shape=(6, 8192), device=cuda:3")
    assert (q_proj.name, q_proj.dtype, q_proj.device) == ("q_proj", "bfloat16", "cuda:3")
    (out,) = printed_tensors("fc out torch.Size([6, 7168]) bf16 mean=nan std=nan nan=43008 inf=0")
    assert (out.name, out.shape, out.dtype) == ("fc out", (6, 7168), "bfloat16")


@pytest.mark.parametrize(
    "text",
    [
        "hidden [b, t, 7168] -> fc [b, t, 21504]",
        "[2026-02-20 10:02:11 TP0] Capture cuda graph bs [1, 2, 4, 8]",
        "server_args=ServerArgs(cuda_graph_bs=[1, 2], model_path='/x')",
        "input_ids: [5, 17, 300]",
        "RuntimeError: shape '[1, -1, 7168]' is invalid for input of size 21504",
        "[rank0]: AssertionError: expected torch.Size([6, 7168])",
    ],
)
def test_what_is_no_shape_is_none(text: str) -> None:
    assert [one.kind for one in records(text)] != ["tensor_shape"]


def test_all_torch_sentences_are_known() -> None:
    assert (
        len(of_kind("cases/F03-torch-errors.log", "torch_error")) == len(log_lines("cases/F03-torch-errors.log")) == 10
    )


def test_a_torn_record_is_not_read_as_another_width() -> None:
    assert record("[EAGLE3_DEBUG] site=draft.fc_in rank=0 model=M mode=EXTEND seq=1 shape=(6,215").kind == UNCLAIMED
    torn, whole = records(
        "[EAGLE3_DEBUG] site=draft.fc_in rank=0 shape=(6,21[EAGLE3_DEBUG] draft.fc_in shape=(6, 3072) mode=1"
    )
    assert (torn.kind, whole.kind) == (UNCLAIMED, "tensor_shape")


def test_the_debug_log_s_glued_lines_give_two_records_each() -> None:
    found = [classify(line) for line in log_lines("h200/tp4-eagle3-debug.log")]
    shapes = [[one for one in group if one.kind == "tensor_shape"] for group in found]
    assert sum(len(group) == 2 for group in shapes) == 43
    assert max(map(len, shapes)) == 2
    sites = [str(one.fields["site"]) for group in shapes for one in group]
    assert {site: sites.count(site) for site in set(sites)} == {
        "target.aux": 888,
        "logits.stored": 888,
        "draft.fc_in": 732,
        "draft.fc_out": 732,
    }


@pytest.mark.parametrize("pair", ["shape=wide", "tensors=3 shape=(6,3072)", "aux=0", "tensors=[(6,7)] shape=(6,3072)"])
def test_a_key_of_shapes_without_a_shape_says_nothing(pair: str) -> None:
    kept = told(f"[EAGLE3_DEBUG] site=draft.fc_in rank=0 {pair}\n")
    assert [row.shape for row in kept.shapes.rows()] == ([(6, 3072)] if "(6,3072)" in pair else [])


def test_a_record_inside_the_head_of_its_rank_has_that_rank() -> None:
    found = record("[2026-02-20 10:02:11 TP3] [EAGLE3_DEBUG] draft.fc_in shape=(6, 3072) mode=1")
    assert found.rank == 3
    own = record("[2026-02-20 10:02:11 TP3] [EAGLE3_DEBUG] site=draft.fc_in rank=7 shape=(6,3072)")
    assert own.rank == 7
