"""A patch that only the ledger knows: where it stands, also under later patches of the same file."""

from __future__ import annotations

import pytest

from console.patches import recorded
from remote_agent.protocol import LedgerEntry, LedgerFile

A, B = "srt/a.py", "srt/b.py"


def entry(patch_id: str, *files: tuple[str, str | None, str]) -> LedgerEntry:
    changed = [LedgerFile(path, before, after, 0o644) for path, before, after in files]
    return LedgerEntry("id", "/tree", [patch_id], "me", 1.0, "applied", changed)


LEDGER = (
    entry("import:fix", (A, "a0", "a1"), (B, None, "b1")),
    entry("eagle3-shapes", (A, "a1", "a2")),
    entry("mine", (A, "a2", "a3"), ("srt/c.py", None, "c1")),
)


@pytest.mark.parametrize(
    ("a", "b", "states", "why"),
    [
        ("a3", "b1", ["applied", "applied"], "as it was written"),
        ("a1", "b1", ["drifted", "applied"], "it was changed since"),
        ("a0", None, ["drifted", "drifted"], "it was put back by hand"),
        (None, "b1", ["drifted", "applied"], "it was changed since"),
    ],
)
def test_where_it_stands(a: str | None, b: str | None, states: list[str], why: str) -> None:
    found = recorded.plan("import:fix", LEDGER, {A: a, B: b})
    assert [file.path for file in found.files] == [A, B]
    assert [file.state for file in found.files] == states
    assert found.files[0].why == why
    assert found.changes == ()


def test_ids_and_paths_are_the_ledgers() -> None:
    assert recorded.ids(LEDGER) == ("import:fix", "eagle3-shapes", "mine")
    assert recorded.paths("mine", LEDGER) == (A, "srt/c.py")
    assert recorded.paths("other", LEDGER) == ()
