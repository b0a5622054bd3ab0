"""Every log of the field and of real GPUs: the finding that must be, and no other."""

from __future__ import annotations

import pytest

from tests.cases.log_cases import DATA, LOG_CASES, Case


@pytest.mark.parametrize("case", LOG_CASES, ids=lambda case: case.id)
def test_a_log_is_explained_by_its_cause_and_by_nothing_else(case: Case) -> None:
    explanation = case.explain()
    assert tuple((each.rule, each.severity) for each in explanation.findings) == case.expects
    if case.says:
        first = explanation.findings[0]
        told = f"{first.message} {first.hint} {first.evidence}"
        assert [piece for piece in case.says if piece not in told] == []


@pytest.mark.parametrize("case", LOG_CASES, ids=lambda case: case.id)
def test_an_explanation_fits_a_screen(case: Case) -> None:
    assert len(list(case.explain().lines())) <= 24


def test_evidence_stands_where_it_says() -> None:
    for case in LOG_CASES:
        data = (DATA / case.file).read_bytes()
        for finding in case.explain().findings:
            for line in finding.evidence.splitlines():
                if line.startswith("byte "):
                    place, _, text = line.removeprefix("byte ").partition(": ")
                    words = text.removesuffix("…").split()
                    assert words[0].encode() in data[int(place) : int(place) + 20_000], (case.id, line)


def test_each_log_is_a_case() -> None:
    known = {case.file for case in LOG_CASES}
    assert {path.relative_to(DATA).as_posix() for path in DATA.glob("*/*.log")} <= known
