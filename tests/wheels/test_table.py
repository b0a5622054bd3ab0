"""The table in the documentation says what the data says; that the data are right, test_releases.py shows on wheels."""

from __future__ import annotations

from console.patches import library
from tests.wheels import expected, table

SIGNS = {"+": "appliable", "·": "not-applicable", "!": "conflict"}


def test_the_documented_table_is_the_expected_one() -> None:
    _, _, rest = table.DOCS.read_text("utf-8").partition(table.BEGIN)
    parts = rest.partition(table.END)[0].split("### ")[1:]
    assert [part.split("\n", 1)[0] for part in parts] == sorted(library.patches())
    for part in parts:
        name, _, head, _, *rows = part.strip().split("\n")
        assert head.strip("|").replace(" ", "").split("|") == ["file", *expected.RELEASES]
        cells = [row.strip("|").replace(" ", "").split("|") for row in rows]
        for index, version in enumerate(expected.RELEASES, start=1):
            assert {row[0]: SIGNS[row[index]] for row in cells} == expected.states(name, version), version
