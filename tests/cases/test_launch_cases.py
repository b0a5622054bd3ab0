"""Each launch line has its findings, and no others."""

from __future__ import annotations

import pytest

from tests.cases.launch_cases import LAUNCH_CASES, Case, found


@pytest.mark.parametrize("case", LAUNCH_CASES, ids=lambda case: case.id)
def test_a_launch_line_has_these_findings_and_no_others(case: Case) -> None:
    assert tuple((finding.rule, finding.severity) for finding in found(case)) == case.expects
