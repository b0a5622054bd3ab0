"""The width verdict, case by case. Kimi's numbers: hidden size 7168, three captures, fc wants 21504."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.logs.history import LogHistory
from console.logs.shapes import DifferingRank, ShapeRow
from console.wiring.widths import Verdict, judge, judge_matmul

H, K = 7168, 3
TARGET, DRAFT = "DeepseekV3ForCausalLM", "LlamaForCausalLMEagle3"
LOG = Path(__file__).parents[2] / "data" / "logs" / "h200" / "tp4-eagle3-debug.log"


def row(site: str, *widths: int | None, model: str | None = DRAFT, mode: str | None = "DRAFT_EXTEND_V2") -> ShapeRow:
    """A row of one tensor, or of a list where several widths (or a single one in a list site) are given."""
    shapes = tuple((None, width) for width in widths)
    is_list = len(shapes) > 1
    return ShapeRow(site, model, mode, "8/8", shapes if is_list else shapes[0], "bfloat16", 8, (), is_list)


def aux(count: int, width: int = H, model: str | None = TARGET) -> ShapeRow:
    return ShapeRow("target.aux", model, "TARGET_VERIFY", "8/8", ((None, width),) * count, "bfloat16", 8, (), True)


@pytest.mark.parametrize(
    ("given", "state", "says"),
    [
        (row("draft.fc_in", 21504), "ok", "3 × 7168"),
        (row("draft.fc_in", 28672), "wrong", "4 captures, 3 wanted (hidden size 7168): one too many"),
        (row("draft.fc_in", 14336), "wrong", "one too few"),
        (row("draft.fc_in", 37 * H), "wrong", "34 too many"),
        (row("draft.fc_in", 7168), "wrong", "fc is bypassed"),
        (row("draft.fc_in", 7168, mode="EXTEND"), "wrong", "fc is bypassed"),
        (row("draft.fc_in", 7168, mode="DECODE"), "ok", "fc is skipped"),
        (row("draft.fc_in", 7168, mode="2"), "unknown", "mode is not named"),
        (row("draft.fc_in", 7168, mode=None), "unknown", "mode is not named"),
        (row("draft.fc_in", 21504, mode="7"), "ok", "3 × 7168"),
        (row("draft.fc_in", 5376), "wrong", "21504 / 4: a shard"),
        (row("draft.fc_in", 12288), "wrong", "another hidden size"),
        (row("draft.fc_in", None), "unknown", "no width"),
        (row("draft.fc_out", 7168), "ok", "hidden size"),
        (row("draft.fc_out", 3584), "wrong", "3584 wide"),
        (aux(3), "ok", "3 × 7168"),
        (aux(4), "wrong", "one too many"),
        (aux(2), "wrong", "one too few"),
        (aux(0), "wrong", "0 captures, 3 wanted"),
        (aux(3, 4096), "wrong", "4096 wide"),
        (aux(1, model=DRAFT), "ok", "draft's own"),
        (aux(1, model=None), "unknown", "names no model"),
        (row("target.aux", 21504, model=TARGET), "ok", "3 × 7168"),
        (row("target.aux", 28672, model=TARGET), "wrong", "one too many"),
        (row("target.aux", 7168, model=DRAFT), "ok", "draft's own"),
        (row("logits.stored", 21504, model=TARGET), "ok", "3 × 7168"),
        (row("logits.stored", 7168, model=TARGET), "wrong", "algorithm EAGLE"),
        (row("logits.stored", 7168, model=DRAFT), "ok", "draft's own"),
        (row("logits.stored", 7168, model=None), "unknown", "names no model"),
        (row("logits.stored", 7168, model="LogitsProcessor"), "unknown", "names no model"),
        (row("logits.cat_in", H, H, H, model=TARGET), "ok", "3 × 7168"),
        (row("fc in", 21504, model=None, mode=None), "unknown", "3 × 7168"),
        (row("q_proj", 8192, model=None, mode=None), "unknown", "8192 wide"),
    ],
)
def test_a_width_is_judged_by_its_site(given: ShapeRow, state: str, says: str) -> None:
    verdict = judge(given, H, K)
    assert verdict.state == state
    assert says in verdict.sentence


def test_the_rows_are_never_factored() -> None:
    shape = ShapeRow("draft.fc_in", DRAFT, "EXTEND", "8/8", (28672, 21504), "bfloat16", 1)
    assert judge(shape, H, K).state == "ok"


def test_a_rank_that_differs_is_named() -> None:
    given = ShapeRow(
        *("draft.fc_in", DRAFT, "EXTEND", "7/8", (None, 21504), "bfloat16", 8),
        differing_ranks=(DifferingRank(3, (None, 28672)),),
    )
    assert judge(given, H, K) == Verdict("wrong", "ranks differ: rank 3 has (*,28672), the others (*,21504)")


@pytest.mark.parametrize(
    ("given", "expect", "state"),
    [
        (row("draft.fc_in", 21504), 21504, "ok"),
        (row("draft.fc_in", 21504), 28672, "wrong"),
        (row("draft.fc_in", 7168, mode="DECODE"), 21504, "ok"),
        (row("draft.fc_in", 7168, mode="2"), 21504, "unknown"),
        (row("logits.stored", 7168, model=DRAFT), 21504, "ok"),
        (row("logits.stored", 7168, model=None), 21504, "unknown"),
    ],
)
def test_the_profile_s_width_is_the_captures_not_the_draft_s_own(given: ShapeRow, expect: int, state: str) -> None:
    assert judge(given, H, K, {str(given.site): expect}).state == state


def test_without_facts_only_the_profile_speaks() -> None:
    assert judge(row("draft.fc_in", 21504), None, None).state == "unknown"
    assert judge(row("draft.fc_in", 21504), None, None, {"draft.fc_in": 21504}).state == "ok"
    assert judge(row("draft.fc_in", 28672), None, None, {"draft.fc_in": 21504}).state == "wrong"
    assert judge(row("draft.fc_in", 7168, mode="DECODE"), None, None, {"draft.fc_in": 21504}).state == "unknown"


def test_a_draft_of_another_hidden_size_bypasses_at_its_own_width() -> None:
    assert judge(row("draft.fc_in", 24576), 8192, 3, embedding_width=6144).state == "ok"
    assert judge(row("draft.fc_in", 6144), 8192, 3, embedding_width=6144) == Verdict(
        "wrong", "as wide as the embedding on DRAFT_EXTEND_V2: fc is bypassed"
    )
    assert judge(row("draft.fc_out", 6144), 8192, 3, embedding_width=6144).state == "ok"


def test_one_capture_that_is_wanted_is_no_bypass() -> None:
    assert judge(row("draft.fc_in", H), H, 1).state == "ok"


@pytest.mark.parametrize(
    ("given", "wanted", "hidden_size", "expected"),
    [
        (28672, 21504, 7168, Verdict("wrong", "4 captures given, 3 wanted (hidden size 7168): one too many")),
        (151552, 12288, 4096, Verdict("wrong", "37 captures given, 3 wanted (hidden size 4096): 34 too many")),
        (4096, 3072, 1024, Verdict("wrong", "4 captures given, 3 wanted (hidden size 1024): one too many")),
    ],
)
def test_torchs_sentence_is_told_in_captures(given: int, wanted: int, hidden_size: int, expected: Verdict) -> None:
    assert judge_matmul(given, wanted, hidden_size) == expected


def test_sizes_that_do_not_factor_are_left_alone() -> None:
    assert judge_matmul(100, 21504, 7168).state == "unknown"
    assert judge_matmul(28672, 21504, None).state == "unknown"


def test_the_real_debug_log_is_judged_with_what_its_lines_name() -> None:
    kept = LogHistory()
    kept.feed(0, LOG.read_bytes())
    states = {(one.site, one.mode, one.widths): judge(one, 1024, 3).state for one in kept.shapes.rows()}
    assert states == {
        ("target.aux", "1", (1024, 1024, 1024)): "ok",
        ("target.aux", "1", (1024,)): "unknown",
        ("target.aux", "2", (1024,)): "unknown",
        ("target.aux", "5", (1024, 1024, 1024)): "ok",
        ("target.aux", "7", (1024,)): "unknown",
        ("logits.stored", None, (1024,)): "unknown",
        ("logits.stored", None, (3072,)): "ok",
        ("draft.fc_in", "1", (3072,)): "ok",
        ("draft.fc_in", "2", (1024,)): "unknown",
        ("draft.fc_in", "7", (3072,)): "ok",
        ("draft.fc_out", None, (1024,)): "ok",
    }
