"""The table of flags is what the wheels declare."""

from __future__ import annotations

import pytest

from tests.wheels import expected, released, server_flags

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(600)]


def test_the_table_is_what_28_wheels_declare() -> None:
    try:
        found = {version: server_flags.flags(version) for version in expected.RELEASES}
    except released.Unavailable as reason:
        pytest.skip(str(reason))
    assert server_flags.TABLE.read_text("utf-8") == server_flags.table(found)
