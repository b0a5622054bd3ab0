"""A unified diff fits to the byte or is refused by the name of its hunk."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import UsageError
from console.patches.import_diff import plan_diff, wanted_paths
from tests.examples import examples

if TYPE_CHECKING:
    from console.patches.plan import FilePlan

PATH = "srt/models/llama.py"
OLD = b"a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\ng = 7\nh = 8\ni = 9\nj = 10\n"
NEW = OLD.replace(b"b = 2\n", b"b = 2\nb2 = 2\n").replace(b"i = 9\n", b"i = 99\n")


def diff_of(old: bytes, new: bytes, *, context: int = 3, path: str = PATH) -> bytes:
    names = f"a/python/sglang/{path}".encode(), f"b/python/sglang/{path}".encode()
    lines = difflib.diff_bytes(
        difflib.unified_diff, old.splitlines(keepends=True), new.splitlines(keepends=True), *names, n=context
    )
    return b"".join(one if one.endswith(b"\n") else one + b"\n\\ No newline at end of file\n" for one in lines)


def only(diff: bytes, data: bytes | None = OLD) -> FilePlan:
    (one,) = plan_diff(diff, {PATH: data})
    return one


def test_a_diff_that_fits_gives_the_new_text() -> None:
    one = only(diff_of(OLD, NEW, context=1))
    assert (one.path, one.state, one.new_text) == (PATH, "appliable", NEW)
    assert one.why == "2 hunks fit"
    assert one.sites == ("hunk 1:2", "hunk 2:8")
    assert "+b2 = 2\n" in one.diff


def test_gits_own_form_with_prose_around_it() -> None:
    text = (
        b"From 1234\nSubject: [PATCH] more\n\ndiff --git a/x b/x\nindex 1..2 100644\n"
        + diff_of(OLD, NEW)
        + b"-- \n2.40\n"
    )
    assert only(text).new_text == NEW
    assert wanted_paths(text) == (PATH,)


def test_a_diff_that_is_in_already_is_applied() -> None:
    for context in (0, 1, 3):
        one = only(diff_of(OLD, NEW, context=context), NEW)
        assert (one.state, one.new_text) == ("applied", None)


def test_no_offset_and_no_fuzz() -> None:
    one = only(diff_of(OLD, NEW, context=1), b"# more\n" + OLD)
    assert (one.state, one.new_text) == ("conflict", None)
    assert (
        one.why == "hunk 1 (line 3 of the diff) does not fit: line 2 of the file is another: 'a = 1', and not 'b = 2'"
    )


def test_the_second_hunk_alone_can_refuse_the_file() -> None:
    one = only(diff_of(OLD, NEW, context=1), OLD.replace(b"i = 9", b"i  =  9"))
    assert one.state == "conflict"
    told = "line 9 of the file differs in white space: 'i  =  9', and not 'i = 9'"
    assert one.why == f"hunk 2 (line 7 of the diff) does not fit: {told}"


def test_a_file_that_ends_too_early_and_one_that_is_not_there() -> None:
    assert "the file ends before line 10" in only(diff_of(OLD, NEW), OLD[:-7]).why
    assert only(diff_of(OLD, NEW), None).why == f"this tree has no {PATH}"


def test_a_new_file_is_taken_and_never_over_another() -> None:
    diff = b"--- /dev/null\n+++ b/python/sglang/" + PATH.encode() + b"\n@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\n"
    one = only(diff, None)
    assert (one.state, one.why, one.new_text, one.sha256_before) == ("appliable", "new file", b"x = 1\ny = 2\n", None)
    assert only(diff, b"x = 1\ny = 2\n").state == "applied"
    assert only(diff, b"other\n").why == "another file of this name is there already"


def test_a_text_that_would_not_compile_is_refused() -> None:
    one = only(diff_of(OLD, OLD.replace(b"c = 3", b"c = (")))
    assert (one.state, one.new_text) == ("conflict", None)
    assert "line 3" in one.why


@pytest.mark.parametrize(
    ("diff", "why"),
    [
        (b"", "no unified diff"),
        (b"hello\n", "no unified diff"),
        (b"--- a/sglang/srt/x.py\nfoo\n", "no '\\+\\+\\+ ' line follows"),
        (b"--- a/sglang/srt/x.py\n+++ b/sglang/srt/x.py\n", "should begin a hunk"),
        (b"--- a/sglang/srt/x.py\n+++ b/sglang/srt/x.py\n@@ -1,2 +1,2 @@\n a\n", "line 3 is cut off"),
        (b"--- a/sglang/srt/x.py\n+++ b/sglang/srt/x.py\n@@ -1,1 +1,2 @@\n-a\n b\n+c\n", "other numbers"),
        (b"--- a/sglang/srt/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "a deleted file"),
        (b"rename from a\nrename to b\n", "a renamed file"),
        (b"old mode 100644\nnew mode 100755\n", "a changed file mode"),
        (b"Binary files a/x and b/x differ\n", "a binary file"),
        (b"--- a/etc/passwd\n+++ b/etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", "no file of an `sglang` package"),
        (b"--- a/x\n+++ b/sglang/srt/../../x.py\n@@ -1 +1 @@\n-a\n+b\n", "no file of an `sglang` package"),
        (b"--- a/x\n+++ /sglang/srt//x.py\n@@ -1 +1 @@\n-a\n+b\n", "no file of an `sglang` package"),
        (b"--- /dev/null\n+++ b/sglang/srt/x.py\n@@ -1 +1 @@\n-a\n+b\n", "is new in the diff"),
        (diff_of(OLD, NEW) * 2, "twice"),
        (b"#" * (4 * 1024 * 1024 + 1), "at most"),
    ],
)
def test_what_is_no_diff_of_texts_of_the_package_is_refused_by_name(diff: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        plan_diff(diff, {})


def test_hunks_out_of_order_are_refused() -> None:
    head, first, second = diff_of(OLD, NEW, context=0).partition(b"@@ -9")
    top, _, hunk = head.partition(b"@@ ")
    assert "does not come after" in only(top + first + second + b"@@ " + hunk).why


def test_carriage_returns_are_bytes_like_others() -> None:
    crlf, changed = OLD.replace(b"\n", b"\r\n"), NEW.replace(b"\n", b"\r\n")
    assert only(diff_of(OLD, NEW), crlf).state == "conflict"
    lines = difflib.diff_bytes(
        difflib.unified_diff, crlf.split(b"\n")[:-1], changed.split(b"\n")[:-1], b"a/sglang/" + PATH.encode(),
        b"b/sglang/" + PATH.encode(), lineterm=b"",
    )  # fmt: skip
    assert only(b"\n".join(lines) + b"\n", crlf).new_text == changed


LINES = st.lists(st.sampled_from([b"a = 1\n", b"b = 2\n", b"\n", b"-- c\n", b"++ d\n"]), max_size=14)


@settings(max_examples=examples(300), deadline=None)
@given(LINES, LINES, st.integers(0, 3), st.booleans(), st.booleans())
def test_any_change_of_lines_round_trips(
    old: list[bytes], new: list[bytes], context: int, old_end: bool, new_end: bool
) -> None:
    before, after = b"".join(old), b"".join(new)
    before = before if old_end else before.removesuffix(b"\n")
    after = after if new_end else after.removesuffix(b"\n")
    if before == after:
        return
    one = only(diff_of(before, after, context=context), before)
    assert (one.state, one.new_text) == ("appliable", after)
    assert only(diff_of(before, after, context=context), after).state in ("applied", "appliable"), "or fits once more"


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.sampled_from([*diff_of(OLD, NEW, context=1).splitlines(keepends=True), b"\n", b"+", b"@@ -0 +0 @@\n"]))
)
def test_any_jumble_is_planned_or_refused_by_name(lines: list[bytes]) -> None:
    try:
        plans = plan_diff(b"".join(lines), {PATH: OLD})
    except UsageError:
        return
    assert all(one.state in ("appliable", "applied", "conflict") for one in plans)
