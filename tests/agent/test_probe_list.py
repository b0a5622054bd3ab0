"""A node with hundreds of probes lists the newest of them: a message has a longest length."""

from __future__ import annotations

import json
from pathlib import Path


async def test_the_newest_are_listed_and_the_list_stays_a_message(connect):
    async with connect() as agent:
        runs = Path((await agent.facts()).state_dir) / "runs"
        for number in range(200):
            _leave(runs, f"20260101T000000-{number:06x}")
        listed = [each.run_id for each in await agent.probes()]
    assert listed == [f"20260101T000000-{number:06x}" for number in range(200 - len(listed), 200)]
    assert 50 < len(listed) < 200


def _leave(runs: Path, run_id: str) -> None:
    path = runs / run_id
    path.mkdir(parents=True, mode=0o700)
    record = {"kind": "probe", "operator": "me@here", "spool": "/s", "started_at": 1.0, "port": 1}
    (path / "run.json").write_text(json.dumps({**record, "run_id": run_id, "record": {"run": "x" * 4000}}))
