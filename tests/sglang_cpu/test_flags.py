"""The parsers of real SGLangs, asked as the agent asks them, declare what the table says of their releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.launch import flag_table
from remote_agent import server_flags
from tests.sglang_cpu import environment

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.sglang_cpu, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("version", "prepare"),
    [
        ("0.5.20", environment.prepare),
        pytest.param("0.5.12.post1", environment.prepare_v1, marks=pytest.mark.slow),  # an environment of its own
    ],
)
def test_a_real_parser_declares_what_the_table_says(version: str, prepare: Callable[[], environment.CpuSGLang]) -> None:
    try:
        cpu = prepare()
    except environment.Unavailable as reason:
        pytest.skip(str(reason))
    (parser,) = flag_table.parsers(version)
    assert set(server_flags._run(str(cpu.python), cpu.env())) == parser.names
