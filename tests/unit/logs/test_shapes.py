"""The shape table: ranks collapse, widths do not."""

from __future__ import annotations

import json

from console.logs.history import LogHistory
from console.logs.shapes import CELLS_LIMIT, KNOWN_LIMIT, ShapeRow
from console.wiring.widths import judge
from tests.unit.logs.samples import DATA, history, told


def ours(site: str, rank: object, shape: str, mode: str = "EXTEND", model: str = "LlamaForCausalLMEagle3") -> str:
    form = "shapes" if ";" in shape else "shape"
    head = f"[EAGLE3_DEBUG] site={site} rank={rank} model={model} mode={mode} seq=1"
    return f"{head} {form}={shape} dtype=bfloat16 device=cuda:0\n"


def row_of(kept: LogHistory) -> ShapeRow:
    (row,) = kept.shapes.rows()
    return row


def test_ranks_collapse_and_rows_that_vary_are_none() -> None:
    kept = told("".join(ours("draft.fc_in", rank, f"({rows},21504)") for rank in range(8) for rows in (6, 12)))
    line = len(ours("draft.fc_in", 0, "(6,21504)"))
    assert row_of(kept) == ShapeRow(
        site="draft.fc_in",
        model="LlamaForCausalLMEagle3",
        mode="EXTEND",
        ranks="8/8",
        shape=(None, 21504),
        dtype="bfloat16",
        count=16,
        spans=((6, 12),),
        row_counts=((6, 8), (12, 8)),
        last_offset=15 * line + 7,
        changed_offset=14 * line + 7,
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


def test_the_rank_that_captures_another_number_of_states_is_named() -> None:
    lists = {rank: ";".join(["(6,7168)"] * (1 if rank == 5 else 3)) for rank in range(8)}
    lines = [
        ours("target.aux", rank, text).replace("shape=(6,7168) ", "shapes=(6,7168) ") for rank, text in lists.items()
    ]
    row = row_of(told("".join(lines)))
    assert (row.shape, row.ranks, row.count) == (((6, 7168),) * 3, "7/8", 8)
    assert [(one.rank, one.shape) for one in row.differing_ranks] == [(5, ((6, 7168),))]
    assert judge(row, 7168, 3).sentence == "ranks differ: rank 5 has 1 × (6,7168), the others 3 × (6,7168)"


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
            "text": "(n, 21504)",
            "where": "n in 6…9",
            "rate": None,
            "first_offset": 0,
            "last_offset": len(ours("draft.fc_in", 0, "(6,21504)")),
            "captured": 0,
            "phase": "",
            "not_finite": 0,
            "verdict": "ok",
            "sentence": "3 × 7168",
        }
    ]
    assert kept.shapes.to_json()[0]["verdict"] == "unknown"


def test_a_flood_of_different_names_is_bounded_and_counted() -> None:
    kept = told("".join(f"t{number}: torch.Size([1, 2])\n" for number in range(CELLS_LIMIT + 5)))
    assert len(kept.shapes.rows()) == CELLS_LIMIT
    assert kept.shapes.left_out == 5


def test_shapes_are_written_with_letters_for_what_varies():
    kept = told(
        ours("target.aux", 0, "(6,7168);(6,7168);(6,7168)")
        + ours("target.aux", 0, "(9,7168);(9,7168);(9,7168)")
        + ours("draft.fc_in", 0, "(6,21504)")
        + "a torch.Size([1, 2, 3])\na torch.Size([4, 2, 3])\na torch.Size([4, 7, 3])\nb torch.Size([])\n"
    )
    assert [(row.text, row.where) for row in kept.shapes.rows()] == [
        ("3 × (n, 7168)", "n in 6…9"),
        ("(6, 21504)", ""),
        ("(n, m, 3)", "n in 1…4, m in 2…7"),
        ("()", ""),
    ]


def test_a_list_whose_captures_differ_names_each():
    kept = told(ours("target.aux", 0, "(6,7168);(6,4096)") + ours("target.aux", 0, "(8,7168);(6,4096)"))
    assert (row_of(kept).text, row_of(kept).where) == ("[(n, 7168), (6, 4096)]", "n in 6…8")


def test_a_row_tells_where_its_lines_lie_and_when_it_changed():
    head = "[2026-02-20 10:02:{:02} TP0] Decode batch, #running-req: 1\n"
    first, second = ours("draft.fc_in", 0, "(6,21504)"), ours("draft.fc_in", 0, "(9,21504)")
    text = head.format(1) + first + head.format(2) + second + head.format(3) + first
    row = row_of(told(text))
    assert (text[row.first_offset :].startswith(first), row.first_seen) == (True, "2026-02-20 10:02:01")
    assert (text[row.changed_offset :].startswith(second), row.last_changed) == (True, "2026-02-20 10:02:02")
    assert (row.last_offset, row.example_offset) == (text.rindex(first), text.rindex(first))


def test_changes_are_counted_and_repetition_is_none():
    kept = told(ours("draft.fc_in", 0, "(6,21504)") * 3)
    before = kept.shapes.changes
    kept.feed(10_000, ours("draft.fc_in", 0, "(6,21504)").encode())
    assert kept.shapes.changes == before
    for at, line in enumerate((ours("draft.fc_in", 1, "(6,21504)"), ours("draft.fc_in", 0, "(7,21504)"))):
        kept.feed(20_000 + 1000 * at, line.encode())
        assert kept.shapes.changes == before + at + 1


def test_a_rank_that_differs_gives_the_line_to_look_at():
    text = "".join(ours("draft.fc_in", rank, "(6,28672)" if rank == 3 else "(6,21504)") for rank in range(5))
    row = row_of(told(text))
    assert "rank=3" in text[row.example_offset :].partition("\n")[0]


def test_rates_are_per_second_of_the_caller_s_clock():
    kept, line, at = LogHistory(), ours("draft.fc_in", 0, "(6,21504)").encode(), 0
    for second, count in ((100.0, 5), (100.5, 10), (102.0, 30)):
        kept.feed(at, line * count, second)
        at += len(line) * count
    assert row_of(kept).rate == 20.0  # 40 lines in the two seconds since the first feeding
    kept.shapes.tick(112.0)
    assert row_of(kept).rate == 0.0


def test_rates_go_by_the_log_s_own_times_without_a_clock():
    kept, at = LogHistory(), 0
    for second, count in ((1, 0), (3, 8), (5, 20)):
        text = ours("draft.fc_in", 0, "(6,21504)") * count
        text += f"[2026-02-20 10:02:{second:02} TP0] Decode batch, #running-req: 1\n"
        kept.feed(at, text.encode())
        at += len(text)
    assert row_of(kept).rate == 10.0


def test_lines_of_a_capture_are_marked_until_the_row_is_served():
    text = (DATA / "cases" / "F07-capture-only.log").read_text()
    row = row_of(told(text))
    assert (row.phase, row.captured, row.where) == ("capture", 2, "n in 1…160")
    served = row_of(told(text + "[EAGLE3_DEBUG] fc in: torch.Size([6, 21504])\n"))
    assert (served.phase, served.captured, served.count) == ("", 2, 3)
    warm = "[2026-02-20 10:00:00 TP0] Load weight begin. avail mem=90.00 GB\n" + ours("draft.fc_in", 0, "(6,21504)")
    assert row_of(told(warm)).phase == "warm-up"
    assert row_of(told(ours("draft.fc_in", 0, "(6,21504)"))).phase == ""


def test_values_beside_a_shape_are_kept_and_what_is_not_finite_is_counted():
    kept = history("cases/F05-values.log")
    row = row_of(kept)
    assert (row.site, row.text, row.dtype, row.not_finite) == ("fc out", "(6, 7168)", "bfloat16", 1)
    assert dict(row.values)["nan"] == 43008
    assert [(one.name, one.peak) for one in kept.values.rows()] == [
        ("Target Hidden States Input", 4288.0),
        ("Hidden States after FC", 202.0),
        ("Hidden States after Norm", 11.25),
    ]


def test_a_flood_of_different_row_counts_keeps_the_count_exact():
    kept = told("".join(ours("draft.fc_in", 0, f"({n},21504)") for n in range(1, KNOWN_LIMIT + 500)))
    row = row_of(kept)
    assert (row.count, row.spans) == (KNOWN_LIMIT + 499, ((1, KNOWN_LIMIT + 499),))
