"""What a number of rows tells, case by case; nothing where it tells nothing."""

from __future__ import annotations

import pytest

from console.logs.hints import Batching, hint
from tests.unit.logs.samples import history
from tests.unit.logs.test_shapes import ours, row_of, told

STORY = Batching(draft_tokens=6, topk=1)


def of(rows: int, mode: str | None, batching: Batching = STORY) -> str:
    return hint(row_of(told(ours("draft.fc_in", 0, f"({rows},21504)", mode or "UNKNOWN"))), batching)


def test_the_field_s_rows():
    rows = {row.site: hint(row, STORY) for row in history("cases/F08-rows.log").shapes.rows()}
    assert rows == {
        "fc in": "6, 12: whole verify of 1, 2 requests; 1433: prefill",
        "draft hidden": "1: draft step of 1 request",
    }


@pytest.mark.parametrize(
    ("rows", "mode", "said"),
    [
        (0, "EXTEND", ""),
        (0, None, ""),
        (6, "EXTEND", "6: prefill"),
        (6, "TARGET_VERIFY", "6: whole verify of 1 request"),
        (12, "DRAFT_EXTEND_V2", "12: whole verify of 2 requests"),
        (4, "DRAFT_EXTEND", "4: accepted tokens"),
        (3, "DECODE", "3: draft step of 3 requests"),
        (7, "TARGET_VERIFY", ""),
        (3, None, ""),
    ],
)
def test_by_mode(rows: int, mode: str | None, said: str):
    assert of(rows, mode) == said


def test_without_numbers_only_the_mode_tells():
    assert of(6, None, Batching()) == ""
    assert of(6, "EXTEND", Batching()) == "6: prefill"
    assert of(4, "DECODE", Batching(draft_tokens=32, topk=8)) == ""
    assert of(16, "DECODE", Batching(draft_tokens=32, topk=8)) == "16: draft step of 2 requests"


def test_more_requests_than_the_server_takes_are_none():
    assert of(600, None) == "600: prefill"
    assert of(60, None, Batching(6, 1, 8)) == "60: prefill"


def test_the_launch_tells_its_numbers():
    assert history("h200/tp4-eagle3.log").batching == Batching(6, 1, 48)
    args = "server_args=ServerArgs(speculative_num_draft_tokens=None, max_running_requests=True)\n"
    assert told(args).batching == Batching(None, None, 1)
