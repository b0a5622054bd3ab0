"""A node with hundreds of processes: a server of eight ranks has some 270, each with the files of eight GPUs open."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from remote_agent.gpu import Source
from remote_agent.handlers import gpus
from remote_agent.protocol import MAX_LINE, encode_answer, to_wire

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ["x" * 4000] * 4
COUNT = 40


@pytest.fixture
def waiting() -> Iterator[list[int]]:
    """Processes with long command lines, which end with their input."""
    started = [
        subprocess.Popen(["cat", "--", "-", *WORDS], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(COUNT)
    ]
    yield [each.pid for each in started]
    for each in started:
        assert each.stdin
        each.stdin.close()
        each.wait(20)


async def test_what_is_longer_than_a_line_comes_whole(connect, waiting):
    async with connect() as agent:
        told = await agent.inspect(waiting)
    assert [each.identity.pid for each in told] == waiting
    assert sum(len(each.title) for each in told) > MAX_LINE
    assert all(each.argv[-1] == WORDS[-1] for each in told)


def test_a_process_that_has_eight_gpus_open_is_told_once(monkeypatch, waiting):
    monkeypatch.setattr(gpus, "_device_files", lambda: ({pid: [*range(8)] for pid in waiting}, 0))
    node = SimpleNamespace(gpu=Source("no driver"), idle=SimpleNamespace(note=lambda *_: None))
    found = gpus.processes_(node, None)
    assert len(found.holders) == 8 * COUNT
    assert found.cpu_s > 0
    assert [each.identity.pid for each in found.processes] == sorted(waiting)
    (one, *_others) = [each for each in found.holders if each.pid == waiting[0]]
    each_row = len(encode_answer({"jsonrpc": "2.0", "id": 1, "result": to_wire(one)})[0])
    assert each_row < 250
