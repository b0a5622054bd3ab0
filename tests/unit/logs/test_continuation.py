"""Source lines under frames and warnings belong to them; other indented lines do not."""

from __future__ import annotations

from console.logs.continuation import REACH
from tests.unit.logs.samples import history, told

FRAME = '  File "/opt/x.py", line 9, in forward\n'
CODE = "    hidden = self.fc(x)\n"


def kinds(text: str) -> list[str]:
    return [one.kind for one in told(text).records]


def test_the_line_under_a_frame_is_the_traceback_s():
    kept = told(FRAME + CODE)
    assert [(one.kind, one.fields["part"]) for one in kept.records] == [("traceback", "frame"), ("traceback", "source")]
    assert kept.unclaimed()["count"] == 0


def test_the_line_under_a_warning_is_its_own():
    assert kinds("/opt/x.py:9: UserWarning: no\n  warnings.warn(\n") == ["python_warning", "python_warning"]


def test_another_rank_s_line_may_stand_between():
    between = "[2026-01-05 10:00:00 TP5] Load weight begin. avail mem=90.00 GB\n"
    assert kinds(FRAME + between + CODE)[-1] == "traceback"
    assert kinds(FRAME + between * REACH + CODE)[-1] == "unclaimed"


def test_wrappers_are_peeled_first():
    head = "2025-11-10T09:50:25.135404509Z "
    assert kinds(head + FRAME + head + CODE) == ["traceback", "traceback"]
    assert [one.kind for one in history("cases/D08-interleaved.log").records if one.ranks == {"TP": 0, "EP": 0}] == [
        *("traceback", "traceback"),
    ]


def test_what_is_not_indented_or_follows_nothing_stays_unclaimed():
    assert kinds(FRAME + "hidden = self.fc(x)\n") == ["traceback", "unclaimed"]
    assert kinds(CODE) == ["unclaimed"]
    assert kinds("/opt/x.py:9: UserWarning: no\nwarnings.warn(\n")[-1] == "unclaimed"
