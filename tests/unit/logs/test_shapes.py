"""The shape table: ranks collapse, widths do not."""

from __future__ import annotations

import json

from console.logs.history import LogHistory
from console.logs.shapes import CELLS_LIMIT, ShapeRow
from tests.unit.logs.samples import history, told


def ours(site: str, rank: object, shape: str, mode: str = "EXTEND", model: str = "LlamaForCausalLMEagle3") -> str:
    form = "shapes" if ";" in shape else "shape"
    head = f"[EAGLE3_DEBUG] site={site} rank={rank} model={model} mode={mode} seq=1"
    return f"{head} {form}={shape} dtype=bfloat16 device=cuda:0\n"


def row_of(kept: LogHistory) -> ShapeRow:
    (row,) = kept.shapes.rows()
    return row


def test_ranks_collapse_and_rows_that_vary_are_none() -> None:
    kept = told("".join(ours("draft.fc_in", rank, f"({rows},21504)") for rank in range(8) for rows in (6, 12)))
    assert row_of(kept) == ShapeRow(
        site="draft.fc_in",
        model="LlamaForCausalLMEagle3",
        mode="EXTEND",
        ranks="8/8",
        shape=(None, 21504),
        dtype="bfloat16",
        count=16,
    )


def test_a_list_of_captures_keeps_its_length() -> None:
    kept = told(
        ours("target.aux", 0, "(6,7168);(6,7168);(6,7168)") + ours("target.aux", 1, "(9,7168);(9,7168);(9,7168)")
    )
    row = row_of(kept)
    assert (row.ranks, row.is_list, row.widths) == ("2/2", True, (7168, 7168, 7168))
    assert row.shape == ((None, 7168), (None, 7168), (None, 7168))


def test_the_rank_whose_width_differs_is_named() -> None:
    kept = told("".join(ours("draft.fc_in", rank, "(6,28672)" if rank == 3 else "(6,21504)") for rank in range(4)))
    row = row_of(kept)
    assert (row.shape, row.ranks, row.count) == ((6, 21504), "3/4", 4)
    assert [(one.rank, one.shape) for one in row.differing_ranks] == [(3, (6, 28672))]


def test_one_rank_with_two_widths_makes_two_rows() -> None:
    kept = told(ours("draft.fc_in", 0, "(6,21504)") + ours("draft.fc_in", 0, "(6,7168)"))
    assert [(row.shape, row.differing_ranks) for row in kept.shapes.rows()] == [((6, 21504), ()), ((6, 7168), ())]


def test_silent_ranks_show_against_the_size_of_the_server() -> None:
    line = ours("draft.fc_in", 0, "(6,21504)")
    assert row_of(told(line)).ranks == "1/1"
    assert row_of(told("[2026-11-29 22:26:42] server_args=ServerArgs(tp_size=8, pp_size=1)\n" + line)).ranks == "1/8"
    given = LogHistory(tp_size=2)
    given.feed(0, line.encode())
    assert row_of(given).ranks == "1/2"


def test_a_rank_that_cannot_be_is_not_counted() -> None:
    assert row_of(told(ours("draft.fc_in", 10**9, "(6,21504)") + ours("draft.fc_in", 0, "(6,21504)"))).ranks == "1/1"


def test_lines_without_a_rank_claim_none() -> None:
    assert row_of(told("[EAGLE3_DEBUG] draft.fc_in shape=(6, 3072) mode=7\n")).ranks == "-"


def test_a_failed_instrument_adds_no_row_and_an_empty_capture_does() -> None:
    assert told("[EAGLE3_DEBUG] site=target.aux rank=0 error=TypeError\n").shapes.rows() == ()
    kept = told("[EAGLE3_DEBUG] site=target.aux rank=0 model=M mode=EXTEND seq=1 shapes=none dtype=none device=none\n")
    assert (row_of(kept).shape, row_of(kept).is_list) == ((), True)


def test_the_real_debug_log_gives_target_logits_and_draft_sites() -> None:
    rows = history("h200/tp4-eagle3-debug.log").shapes.rows()
    assert [(row.site, row.mode, row.shape, row.count) for row in rows] == [
        ("target.aux", "1", ((None, 1024),) * 3, 12),
        ("target.aux", "1", ((None, 1024),), 12),
        ("target.aux", "2", ((1, 1024),), 576),
        ("target.aux", "5", ((6, 1024),) * 3, 144),
        ("target.aux", "7", ((6, 1024),), 144),
        ("logits.stored", None, (None, 1024), 732),
        ("logits.stored", None, (None, 3072), 156),
        ("draft.fc_in", "1", (None, 3072), 12),
        ("draft.fc_in", "2", (1, 1024), 576),
        ("draft.fc_in", "7", (6, 3072), 144),
        ("draft.fc_out", None, (None, 1024), 732),
    ]
    assert {row.ranks for row in rows} == {"-"}
    assert {(row.site, row.dtype) for row in rows if row.dtype} == {("target.aux", "bfloat16")}


def test_json_has_the_form_of_the_contract() -> None:
    class Judged:
        state = "ok"
        sentence = "3 × 7168"

    kept = told(ours("draft.fc_in", 0, "(6,21504)") + ours("draft.fc_in", 0, "(9,21504)"))
    assert json.loads(json.dumps(kept.shapes.to_json(lambda row: Judged()))) == [
        {
            "site": "draft.fc_in",
            "model": "LlamaForCausalLMEagle3",
            "mode": "EXTEND",
            "ranks": "1/1",
            "shape": [None, 21504],
            "dtype": "bfloat16",
            "count": 2,
            "differing_ranks": [],
            "verdict": "ok",
            "sentence": "3 × 7168",
        }
    ]
    assert kept.shapes.to_json()[0]["verdict"] == "unknown"


def test_a_flood_of_different_names_is_bounded_and_counted() -> None:
    kept = told("".join(f"t{number}: torch.Size([1, 2])\n" for number in range(CELLS_LIMIT + 5)))
    assert len(kept.shapes.rows()) == CELLS_LIMIT
    assert kept.shapes.left_out == 5
