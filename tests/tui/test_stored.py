"""What the journal holds, as the screens get it: the two sides, a known curve beside them, sweeps judged anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from console.launch.library import Library
from console.probe.sweep import RunSummary, StoredSweep, SweepPoint
from console.state.model import ProfilesState, ProfileView
from console.store import Journal
from console.tui import readings
from console.tui.stream import EventStream
from tests.unit.probe.runs import SPECULATIVE, stored

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from console.probe.stored import StoredRun
    from console.state.model import ConsoleState

PROFILES = ProfilesState(
    (ProfileView("small", "", baseline="plain", varies=("speculative",)), ProfileView("plain", ""))
)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., ConsoleState]:
    """Keep runs, a sweep and a curve; read them as the console does."""

    def _read(runs: list[StoredRun], sweep: StoredSweep | None = None, golden: str = "") -> ConsoleState:
        if golden:
            (tmp_path / "golden").mkdir()
            (tmp_path / "golden" / "small.yaml").write_text(golden)
        with Journal(tmp_path / "runs.sqlite3") as journal:
            for run in runs:
                journal.add_run(run, b"")
            if sweep:
                journal.add_sweep(sweep)
            stream = EventStream(lambda _state: None)
            node = SimpleNamespace(name="n", journal=journal, library=Library((tmp_path,)))
            readings.runs(node, stream, PROFILES)  # type: ignore[arg-type]
            stream.flush()
        return stream.state

    return _read


def made(run_id: str, profile: str, rate: float, **changes: Any) -> StoredRun:
    blocks = [rate * each for each in (0.99, 1.0, 1.01, 1.0)]
    given = {"node": "n", "profile": profile, "output_tok_s": rate, "accept_len": 2.0, **changes}
    return stored(*blocks, run_id=run_id, **given)


def test_points_of_a_sweep_are_no_side_of_the_comparison_unasked(read):
    runs = [
        made("r1", "plain", 90.0, at=1.0),
        made("r2", "small", 80.0, at=2.0, argv=SPECULATIVE),
        made("r3", "plain", 95.0, at=3.0, kind="sweep"),
        made("r4", "small", 70.0, at=4.0, kind="sweep", argv=SPECULATIVE),
    ]
    found = read(runs).runs
    assert [run.run_id for run in found.runs] == ["r4", "r3", "r2", "r1"]
    assert (found.baseline.run_id, found.candidate.run_id) == ("r1", "r2")
    assert found.comparison.verdict == "slower"
    assert found.comparison.golden is None


def test_a_curve_of_the_candidates_profile_stands_beside_it_and_a_broken_one_is_told(read, tmp_path):
    runs = [made("r1", "plain", 90.0, at=1.0), made("r2", "small", 80.0, at=2.0, argv=SPECULATIVE)]
    golden = read(runs, golden="name: my pair\ncurve: {5: 2.5}\n").runs.comparison.golden
    assert (golden.name, golden.steps, golden.expected) == ("my pair", 5, 2.5)
    assert golden.difference == pytest.approx(-0.2)
    (tmp_path / "golden" / "small.yaml").write_text("name: my pair\ncurve: 3\n")
    state = read([])
    assert state.runs.comparison.golden is None
    assert "small.yaml" in state.notices.recent[-1].text


def test_a_stored_sweep_is_judged_anew_and_one_whose_runs_are_gone_is_shown(read):
    runs = [
        made("a", "plain", 90.0, at=1.0, kind="sweep"),
        made("b", "small", 70.0, at=2.0, kind="sweep", argv=SPECULATIVE),
        made("c", "small", 95.0, at=3.0, kind="sweep", argv=SPECULATIVE, env={"NCCL_PROTO": "LL128"}),
    ]
    kept = {run.run_id: RunSummary.of(run) for run in runs}
    points = (
        SweepPoint(1, "baseline_start", state="done", run=kept["a"]),
        SweepPoint(2, "point", {}, {"NCCL_PROTO": "LL"}, state="done", run=kept["b"]),
        SweepPoint(3, "point", {}, {"NCCL_PROTO": "LL128"}, state="done", run=kept["c"]),
        SweepPoint(4, "point", {}, {"NCCL_PROTO": None}, state="done", run=RunSummary("gone", 99.0)),
    )
    stored_sweep = StoredSweep("s1", 1.0, "n", "small", {}, "stopped", points)
    shown = read(runs, stored_sweep).sweep.shown
    assert (shown.state, shown.measured, shown.best.number, shown.best.verdict) == ("stopped", 4, 3, "faster")
    assert shown.best.cant_tell_from == ()
    assert [point.tok_s for point in shown.points] == [90.0, 70.0, 95.0, 99.0]
    assert shown.points[3].env == (("NCCL_PROTO", "–"),)


def test_a_sweep_whose_console_was_killed_is_not_said_to_run(read):
    killed = StoredSweep("s1", 1.0, "n", "small", {}, "running", (SweepPoint(1, "point", {}, {}, state="waiting"),))
    assert read([], killed).sweep.shown.state == "begun, not ended"


def test_a_journal_that_was_set_aside_is_told_once(read, tmp_path):
    (tmp_path / "runs.sqlite3").write_bytes(b"no database at all " * 500)
    (notice,) = read([]).notices.recent
    assert "was damaged" in notice.text
    assert read([]).notices.recent == ()
    assert list(tmp_path.glob("runs.sqlite3.damaged-*"))


def test_a_pinned_run_stands_beside_the_newest_one_before_others(read, tmp_path):
    runs = [made("r1", "plain", 90.0, at=1.0), made("r2", "plain", 92.0, at=2.0), made("r3", "small", 80.0, at=3.0)]
    assert read(runs).runs.baseline.run_id == "r2"
    with Journal(tmp_path / "runs.sqlite3") as journal:
        journal.pin("r1", 5.0)
        journal.tag("r1", ["kept"])
    found = read([]).runs
    assert (found.baseline.run_id, found.baseline.pinned, found.baseline.tags) == ("r1", True, ("kept",))
    with Journal(tmp_path / "runs.sqlite3") as journal:
        assert [each.request["baseline"] for each in journal.list_actions(verb="compare")] == ["r1", "r2"]
