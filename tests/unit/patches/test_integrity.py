from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.patches import chain, integrity
from console.patches.library import patches
from remote_agent.protocol import LedgerEntry, LedgerFile
from tests.examples import examples
from tests.installed import STANDIN

PATH = "srt/models/llama_eagle3.py"
ORIGINAL = (STANDIN / PATH).read_bytes()
KNOWN = tuple(patches().values())
EDITS = st.lists(st.text(st.characters(codec="ascii", exclude_characters="\r\0\x0b\x0c"), max_size=20), max_size=3)


def patched(data: bytes) -> bytes:
    (change,) = [
        file
        for file in chain.changes(chain.plan_all([(one, (PATH,)) for one in KNOWN], {PATH: data}))
        if file.path == PATH
    ]
    assert change.new_text is not None
    return change.new_text


def entry(name: str, before: str | None, after: str, path: str = PATH) -> LedgerEntry:
    return LedgerEntry(name, "/tree", [name], "me", 0.0, "applied", [LedgerFile(path, before, after, 0o644)])


@pytest.mark.parametrize(
    ("now", "before", "by"),
    [
        ("c", "a", ("one", "two")),
        ("b", "a", ("one",)),
        ("a", "a", ()),
        ("x", "x", ()),
        (None, None, ()),
    ],
)
def test_the_ledger_leads_back_as_far_as_its_changes_follow_on_each_other(now, before, by):
    ledger = [entry("one", "a", "b"), entry("two", "b", "c"), entry("other", "a", "c", "elsewhere.py")]
    assert integrity.by_ledger(PATH, now, ledger) == (before, by)


def test_a_file_that_a_patch_made_had_nothing_before():
    assert integrity.by_ledger(PATH, "b", [entry("one", None, "b")]) == (None, ("one",))


@settings(deadline=None, max_examples=examples(40))
@given(EDITS)
def test_an_edit_at_the_end_is_what_is_left_without_our_lines(lines):
    edited = ORIGINAL + "".join(f"# {line!r}\n" for line in lines).encode()
    base, found = integrity.without_patches(PATH, patched(edited), KNOWN)
    assert base == edited
    assert found


def test_a_line_with_our_mark_that_is_none_of_ours_stays():
    forged = ORIGINAL + b"x = 1  # spec-console eagle3-shapes\n"
    assert integrity.without_patches(PATH, forged, KNOWN) == (forged, ())
    both = patched(ORIGINAL) + b"x = 1  # spec-console eagle3-shapes\n"
    assert integrity.without_patches(PATH, both, KNOWN) == (both, ())


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_told_as_they_are(data):
    assert integrity.without_patches(PATH, data, KNOWN) == (data, ())
    assert integrity.runtime_of(KNOWN[0].helper.path, data, KNOWN) is None


def test_a_runtime_file_is_ours_to_the_byte_and_otherwise_only_calls_itself_so():
    helper = KNOWN[0].helper
    assert integrity.runtime_of(helper.path, helper.text, KNOWN) == KNOWN[0].id
    assert integrity.runtime_of("srt/other.py", helper.text, KNOWN) is None
    older = helper.heading + b"\nimport antigravity\n"
    assert integrity.runtime_of(helper.path, older, KNOWN) is None
    assert integrity.has_our_heading(helper.path, older, KNOWN)


def test_a_long_diff_is_cut_and_says_how_much_is_left():
    shown = integrity.shown("a.py", None, b"".join(b"%d\n" % n for n in range(1000))).splitlines()
    assert shown[:2] == ["--- /dev/null", "+++ b/sglang/a.py"]
    assert len(shown) == integrity.MAX_DIFF_LINES + 1
    assert shown[-1] == "… 603 more lines"


def test_a_set_of_edits_has_one_short_word_whatever_its_order():
    one, two = ("a.py", "aa"), ("b.py", None)
    assert integrity.digest([one, two]) == integrity.digest([two, one]) != integrity.digest([one])
