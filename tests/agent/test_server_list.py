"""A node with hundreds of launches lists the newest, and all that live: a message has a longest length."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from remote_agent.handlers import servers
from remote_agent.protocol import MAX_LINE, encode_line, to_wire
from remote_agent.state_dir import StateDir

RUNS = 300


@pytest.mark.parametrize("seed", range(3))
def test_the_newest_are_listed_no_living_one_is_dropped_and_the_list_stays_a_message(tmp_path, seed):
    chance = random.Random(seed)
    ids = [f"20260101T000000-{number:06x}" for number in range(RUNS)]
    living = set(chance.sample(ids, chance.randrange(6)))
    for run_id in ids:
        _leave(tmp_path / "runs" / run_id, run_id not in living, "ü" * chance.randrange(6000))
    found = servers.list_(SimpleNamespace(state=StateDir(str(tmp_path))), None)
    listed = [run.run_id for run in found.runs]
    ended = [run_id for run_id in listed if run_id not in living]
    assert living <= set(listed)
    assert listed == sorted(listed)
    assert ended == [run_id for run_id in ids if run_id not in living][-len(ended) :], "the newest"
    assert found.left_out == RUNS - len(listed) > 0
    assert len(encode_line({"jsonrpc": "2.0", "id": 1, "result": to_wire(found)})) < MAX_LINE


async def test_what_is_listed_comes_over_the_wire(connect):
    async with connect() as agent:
        state_dir = (await agent.facts()).state_dir
        for number in range(RUNS):
            _leave(Path(state_dir) / "runs" / f"20260101T000000-{number:06x}", True, "x" * 4000)
        listed = await agent.servers()
    assert 50 < len(listed) < RUNS
    assert listed[-1].run_id == f"20260101T000000-{RUNS - 1:06x}"


def _leave(path: Path, has_ended: bool, text: str) -> None:
    """A run directory; one that has not ended is that of a supervisor that has not reported yet."""
    path.mkdir(parents=True, mode=0o700)
    record = {"kind": "server", "operator": "me@here", "argv": ["sglang"], "env": {}, "cwd": "/", "log_path": "/l"}
    told = {**record, "log_offset": 0, "port": 1, "started_at": 1.0, "run_id": path.name, "record": {"profile": text}}
    (path / "run.json").write_text(json.dumps(told))
    if has_ended:
        (path / "exit.json").write_text(json.dumps({"exit_code": 0, "ended_at": 2.0}))
