"""The anatomy of a line: wrappers, heads, markers."""

from __future__ import annotations

import pytest

from console.logs.parts import parts
from tests.unit.logs.samples import LOGS, lines


def test_the_head_gives_time_and_ranks_as_a_map() -> None:
    (part,) = parts("[2026-02-20 10:02:11.123 DP1 PP0 ATTN_CP2 MOE_DP0 TP3 EP3] Load weight begin.")
    assert part.ts == "2026-02-20 10:02:11.123"
    assert part.ranks == {"DP": 1, "PP": 0, "ATTN_CP": 2, "MOE_DP": 0, "TP": 3, "EP": 3}
    assert part.message == "Load weight begin."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sglang  | [2026-05-19 00:09:18 TP5 EP5] Load weight begin.", "Load weight begin."),
        ("2025-11-10T09:50:25.135Z sglang-1 | (Worker pid=7, ip=10.0.0.8) plain", "plain"),
        ('2025-11-10T09:50:25.135405929Z   File "x.py", line 1', '  File "x.py", line 1'),
        ("[2026-05-19 00:09:18]", ""),
        ("  [2026-05-19 00:09:18] late", "late"),
        ("100%|███| 23/23 [00:09<00:00]", "100%|███| 23/23 [00:09<00:00]"),
    ],
)
def test_wrappers_are_peeled_and_indentation_is_kept(text: str, message: str) -> None:
    (part,) = parts(text)
    assert (part.text, part.message) == (text, message)


def test_torchs_rank_is_a_rank_and_other_brackets_are_text() -> None:
    assert parts("[rank26]:[E222 08:31:45.11 x.cpp:1] died")[0].ranks == {"rank": 26}
    assert parts("[gpu_id=0] Init nccl begin.")[0].message == "[gpu_id=0] Init nccl begin."


def test_a_record_begins_in_mid_line_after_a_bar() -> None:
    bar, record = parts("  0%|      | 0/23 [00:00<?, ?it/s][2025-03-10 16:21:21 TP1] Capture cuda graph begin.")
    assert (bar.ts, bar.message) == (None, "  0%|      | 0/23 [00:00<?, ?it/s]")
    assert (record.ranks, record.message) == ({"TP": 1}, "Capture cuda graph begin.")


def test_glued_prints_are_parts_and_a_marker_belongs_to_its_own_head() -> None:
    texts = [
        "[2026-02-20 10:02:11 TP0] [EAGLE3_DEBUG] site=a",
        "[EAGLE3_DEBUG] site=b",
        "[2026-02-20 10:02:11 TP1] Decode batch, #x: 1",
        "[EAGLE3_DEBUG] c",
        "[EAGLE3_DIGEST] site=d",
        "[EAGLE3_CYCLE] rank=0",
    ]
    found = parts("".join(texts))
    assert [part.text for part in found] == texts
    assert [part.ranks for part in found] == [{"TP": 0}, {}, {"TP": 1}, {}, {}, {}]


def test_what_only_looks_like_a_head_splits_nothing() -> None:
    assert len(parts("quoted [2026-02-20 10:02:11 and more] text")) == 1


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_parts_join_to_the_line(path: object) -> None:
    for line in lines(path.read_bytes()):  # type: ignore[attr-defined]
        assert "".join(part.text for part in parts(line.text)) == line.text
