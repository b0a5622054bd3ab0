"""One value is written into a YAML text, and all else of it stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console import yaml_file
from console.errors import UsageError
from tests.examples import examples

TEXT = """\
# head
a: 1 # one
b:
  # inside
  c: two words
  d: [1, 2]  # list

  # before e
e: {f: 1, g: 2}
h: |
  block
# between
i:
  - x
  - y
# tail
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        ("a", 2, "a: 1 # one", "a: 2 # one"),
        ("b.c", "x: y", "c: two words", "c: 'x: y'"),
        ("b.d", [3], "d: [1, 2]  # list", "d: [3]  # list"),
        ("e.f", "1", "{f: 1,", "{f: '1',"),
        ("e.z", True, "e: {f:", "e: {z: true, f:"),
        ("b.z", None, "  c: two", "  z: null\n  c: two"),
        ("h", "line", "h: |\n  block\n", "h: line\n"),
        ("i", [], "i:\n  - x\n  - y\n", "i:\n  []\n"),
        ("z.y.x", 1.5, "# tail\n", "# tail\nz: {y: {x: 1.5}}\n"),
        ("a.b", 1, "a: 1 # one", "a: {b: 1} # one"),
    ],
)
def test_only_the_value_changes(path: str, value: Any, old: str, new: str) -> None:
    assert old in TEXT
    assert yaml_file.set_value(TEXT, tuple(path.split(".")), value, "t") == TEXT.replace(old, new, 1)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "a:\n", "a:", "{}", "{a: 1}\n", "---\na: 1\n", "a: 1"])
def test_short_texts(text: str) -> None:
    for path in (("a",), ("b",), ("a", "c")):
        try:
            changed = yaml_file.set_value(text, path, 7, "t")
        except UsageError:
            continue
        found = yaml_file.load(changed, "t").data
        for part in path:
            found = found[part]
        assert found == 7


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=12)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), WORDS, st.lists(st.integers(-9, 9), max_size=3))
DATA = st.recursive(VALUES, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8)


KEYS = st.sampled_from("abc")


@settings(max_examples=examples(50))
@given(st.dictionaries(KEYS, DATA, max_size=3), st.lists(KEYS, min_size=1, max_size=3), VALUES)
def test_any_block_text_gets_the_value_and_keeps_the_rest(data: dict[str, Any], path: list[str], value: Any) -> None:
    before = yaml_file.dump(data) if data else ""
    changed = yaml_file.load(yaml_file.set_value(before, tuple(path), value, "t"), "t").data
    assert changed == yaml_file._nested(data, tuple(path), value)


@settings(max_examples=examples(50))
@given(st.text(max_size=60), WORDS)
def test_no_text_is_damaged(text: str, value: str) -> None:
    try:
        changed = yaml_file.set_value(text, ("a",), value, "t")
    except UsageError:
        return
    assert yaml_file.load(changed, "t").data["a"] == value
