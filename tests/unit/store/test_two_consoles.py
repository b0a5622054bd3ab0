"""Two processes that write one journal at once lose no row of either."""

from __future__ import annotations

import subprocess
import sys

from console.store import Journal

ROWS = 30
WRITE = """
import sys
from pathlib import Path
from console.store import Journal
from tests.unit.probe.runs import stored

path, name, rows = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with Journal(path, busy_timeout_s=30.0) as journal:
    print("open", flush=True)
    sys.stdin.readline()
    for number in range(rows):
        run_id = f"{name}-{number}"
        assert journal.add_run(stored(90.0, run_id=run_id), b"spool of " + run_id.encode())
        journal.add_action(float(number), "n", "probe", {"run": run_id}, {"ok": True})
        journal.tag(run_id, [name])
"""


def test_two_consoles_at_once_lose_no_row(tmp_path, request):
    path = tmp_path / "runs.sqlite3"
    consoles = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(path), name, str(ROWS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=request.config.rootpath,
        )
        for name in ("one", "two")
    ]
    for console in consoles:  # both have it open before either writes
        assert console.stdout.readline() == "open\n"
    for console in consoles:
        console.stdin.write("go\n")
        console.stdin.flush()
    for console in consoles:
        console.communicate(timeout=60)
        assert console.returncode == 0
    wanted = {f"{name}-{number}" for name in ("one", "two") for number in range(ROWS)}
    with Journal(path) as journal:
        assert {run.run_id for run in journal.list_runs(limit=1000)} == wanted
        assert {each.request["run"] for each in journal.list_actions(limit=1000)} == wanted
        assert set(journal.labels()) == wanted
        assert all(journal.spool(run_id) == f"spool of {run_id}".encode() for run_id in wanted)
