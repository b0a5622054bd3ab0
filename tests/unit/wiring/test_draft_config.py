"""The edit of a config's text: only the ids change, and what cannot be read in one way is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.wiring.draft_config import NotEditable, read, set_ids
from console.wiring.layers import KEY
from tests.examples import examples

NEW = [3, 31, 59]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"eagle_config": {"%s": [2, 30, 58]}, "a": 1}\n', '{"eagle_config": {"%s": [3, 31, 59]}, "a": 1}\n'),
        ('{"eagle_config":{"%s":[2,30,58]}}', '{"eagle_config":{"%s":[3,31,59]}}'),
        ('{"eagle_config":{"%s":[ 2,30 , 58\t]}}', '{"eagle_config":{"%s":[ 3,31 , 59\t]}}'),
        ('{"eagle_config":{"%s":[\r\n 2,\r\n 30]}}', '{"eagle_config":{"%s":[\r\n 3,\r\n 31,\r\n 59]}}'),
        ('{"eagle_config":{"%s":[2,14,30,58]}}', '{"eagle_config":{"%s":[3,31,59]}}'),
        ('{"eagle_config":{"%s": []}}', '{"eagle_config":{"%s": [3, 31, 59]}}'),
        ('{"eagle_config":{"%s": null, "b": 2}}', '{"eagle_config":{"%s": [3, 31, 59], "b": 2}}'),
        ('{"eagle_config":{"b":2}}', '{"eagle_config":{"b":2,"%s":[3,31,59]}}'),
        ('{"eagle_config": {"b": 2}}', '{"eagle_config": {"b": 2,"%s": [3, 31, 59]}}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2, "eagle_config": {"%s": [3, 31, 59]}}'),
        ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "eagle_config": {\n    "%s": [3, 31, 59]\n  }\n}\n'),
        ('{\r\n\t"a": null\r\n}', '{\r\n\t"a": null,\r\n\t"eagle_config": {\r\n\t\t"%s": [3, 31, 59]\r\n\t}\r\n}'),
        ('{\n "eagle_config": {}\n}', '{\n "eagle_config": {\n  "%s": [3, 31, 59]\n }\n}'),
        ('{"eagle_config":null}', '{"eagle_config":{"%s":[3,31,59]}}'),
        ('{"%s": [9], "eagle_config": {"b": 1, "c": 2}}', None),
    ],
)
def test_only_the_ids_change(before: str, after: str | None) -> None:
    old = before.replace("%s", KEY).encode()
    new = set_ids(old, NEW)
    if after is not None:
        assert new.decode() == after.replace("%s", KEY)
    said = read(old)
    said["eagle_config"] = {**(said.get("eagle_config") or {}), KEY: NEW}
    assert json.loads(new) == said


def test_a_bom_and_escapes_stay() -> None:
    ids = b'"eagle_config": {"\\u0065agle_aux_hidden_state_layer_ids": [2]}'
    old = b'\xef\xbb\xbf{"n": "\\ud83d\\ude00 \xc3\xa9", "e": 1e-05, ' + ids + b"}"
    assert set_ids(old, [7]) == old.replace(b"[2]", b"[7]")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b'{"eagle_config": {"x": 1}, "\\u0065agle_config": {}}', "stands twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1,}', "line 1, column"),
        (b'{"a": 1} {}', "not JSON"),
        (b"[1]", "no object"),
        (b"{}", "empty object"),
        (b'{"eagle_config": [1]}', "eagle_config is no object"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "too deep|cannot be read"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "cannot be read"),
        (b" " * (2 << 20), "more than"),
        (b"", "not JSON"),
    ],
)
def test_what_has_no_one_meaning_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(NotEditable, match=why):
        set_ids(text, NEW)


_keys = st.text(max_size=6) | st.sampled_from([KEY, "eagle_config", "use_aux_hidden_state"])
_scalars = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
_values = st.recursive(
    _scalars | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=8,
)
_ids = st.lists(st.integers(-1, 99), min_size=1, max_size=5)
_sections = st.fixed_dictionaries({KEY: _ids}) | st.dictionaries(_keys, _values, max_size=3)
_styles = st.sampled_from([(None, None), (None, (",", ":")), (2, None), ("\t", None), (0, (",", " : "))])


@st.composite
def _files(draw: st.DrawFn) -> tuple[bytes, dict[str, Any]]:
    config = draw(st.dictionaries(_keys, _values, min_size=1, max_size=4))
    if draw(st.booleans()):
        config["eagle_config"] = draw(_sections)
    indent, separators = draw(_styles)
    text = json.dumps(config, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))) + draw(st.sampled_from(["", "\n", "\r\n  "]))
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, written as it is
        data = json.dumps(config).encode()
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + data, config


@settings(max_examples=examples(300))
@given(_files(), _ids)
def test_any_config_says_the_same_but_for_the_ids(file: tuple[bytes, dict[str, Any]], ids: list[int]) -> None:
    data, config = file
    eagle = config.get("eagle_config")
    if eagle is not None and not isinstance(eagle, dict):
        with pytest.raises(NotEditable):
            set_ids(data, ids)
        return
    edited = set_ids(data, ids)
    assert read(edited) == {**config, "eagle_config": {**(eagle or {}), KEY: ids}}
    assert edited.startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf")
    assert set_ids(edited, ids) == edited
    old = (eagle or {}).get(KEY)
    if isinstance(old, list) and len(old) == len(ids) and all(type(each) is int for each in old):
        assert set_ids(edited, old) == data, "there and back is the same to the byte"
    elif "eagle_config" not in config or (eagle is not None and KEY not in eagle):
        assert _is_subsequence(data, edited), "nothing of the old text is lost"


def _is_subsequence(part: bytes, whole: bytes) -> bool:
    at = iter(whole)
    return all(byte in at for byte in part)


@given(st.binary(max_size=200) | st.text(alphabet='{}[]",: \n123eagle_configNaN\\u', max_size=80).map(str.encode))
def test_hostile_bytes_are_refused_or_edited_but_never_crash(data: bytes) -> None:
    try:
        edited = set_ids(data, NEW)
    except NotEditable:
        return
    assert read(edited)["eagle_config"][KEY] == NEW
