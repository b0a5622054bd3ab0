"""The table of flags is what the wheels declare."""

from __future__ import annotations

import pytest

from console.launch import flag_table
from tests.wheels import expected, released, server_flags

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(600)]


@pytest.mark.parametrize("version", ["0.5.12.post1", "0.5.20"])
def test_the_table_has_the_flags_that_a_wheel_declares(version: str) -> None:
    try:
        found = server_flags.flags(version)
    except released.Unavailable as reason:
        pytest.skip(str(reason))
    (parser,) = flag_table.parsers(version)
    assert {"help", *(flag.name for flag in found)} == parser.names


@pytest.mark.slow
def test_the_table_is_what_28_wheels_declare() -> None:
    try:
        found = {version: server_flags.flags(version) for version in expected.RELEASES}
    except released.Unavailable as reason:
        pytest.skip(str(reason))
    assert server_flags.TABLE.read_text("utf-8") == server_flags.table(found)
