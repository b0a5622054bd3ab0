"""RECORD and METADATA as anybody may have written them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remote_agent import record

FIELD = "sha256=LXEWQrcmsEQBYnyp-6wy9ch7T5GPuwn_VghhY0pfrYg"
LOOSE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
HASHES = st.one_of(LOOSE, st.just(FIELD), st.binary(max_size=40).map(lambda raw: "sha256=" + raw.hex()))


def test_sources_of_the_package_alone_with_their_hash():
    digest = hashlib.sha256(b"x = 1\n").digest()
    field = "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    rows = [
        f"sglang/a.py,{field},6",
        f"sglang_router/a.py,{field},6",
        f"../../bin/sglang,{field},6",
        "sglang/lib.so,sha256=x,1",
        '"sglang/b,""c"".py",,',
        "sglang/d.py,md5=abc,1",
        "sglang/e.py",
        "",
    ]
    found = record.sources("\r\n".join(rows).encode(), "sglang")
    assert found == {"a.py": digest.hex(), 'b,"c".py': None, "d.py": None, "e.py": None}


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data):
    try:
        found = record.sources(data, "sglang")
    except record.RecordError:
        return
    assert all(path.endswith(".py") for path in found)


@settings(deadline=None)
@given(st.lists(st.tuples(LOOSE, HASHES), max_size=8))
def test_every_row_that_csv_writes_is_read_back(rows):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([f"sglang/{path}.py", field, "1"] for path, field in rows)
    try:
        found = record.sources(text.getvalue().encode(), "sglang")
    except record.RecordError:
        assert any("\0" in path + field or "\r" in path + field for path, field in rows)
        return
    assert set(found) == {f"{path}.py" for path, _field in rows}
    assert all(value is None or len(value) == 64 for value in found.values())


@pytest.mark.parametrize(
    "field", ["sha256=", "sha256=AAAA", "sha256=" + "A" * 44, "sha256=é", "sha512=" + FIELD[7:], "="]
)
def test_a_hash_that_is_none_is_none(field):
    assert record.sources(f"sglang/a.py,{field},1\n".encode(), "sglang") == {"a.py": None}


def test_more_rows_than_any_release_has_are_refused():
    with pytest.raises(record.RecordError, match="rows"):
        record.sources(b"x\n" * (record.MAX_ROWS + 1), "sglang")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Metadata-Version: 2.1\nversion:  0.5.20 \n\nVersion: 9", "0.5.20"),
        ("Name: sglang\n\nVersion: 9", None),
        ("Version:\n", None),
        ("", None),
    ],
)
def test_the_version_is_that_of_the_head(text, version):
    assert record.version(text.encode()) == version


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_metadata_is_read(data):
    version = record.version(data)
    assert version is None or 0 < len(version) <= 100
