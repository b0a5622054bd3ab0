"""docs/security.md names a test for each thing that it says is defended: they are there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "security.md"


def test_every_test_that_the_page_names_is_there():
    named = set(re.findall(r"`((?:unit|e2e|tui|agent)/[\w/]+\.py)", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 15
    assert [name for name in sorted(named) if not (TESTS / name).is_file()] == []
