"""A log on a real node: brought from its tail on, parsed beside, searched there, followed over rotations."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from console.actions.judging import judge_of
from console.logs.history import LogHistory
from console.tui import folding
from console.tui.widgets.log_view import LogView
from tests.tui.events import SHAPE_LINE
from tests.tui.test_log_screen import here, story

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.tui.conftest import Demo
    from tests.tui.driver import Driver

FILLER = b"".join(b"filler %07d of a long log, one line after another as they come\n" % n for n in range(1000))


@asynccontextmanager
async def following(demo: Demo, path: Path) -> AsyncIterator[tuple[Driver, LogView]]:
    """The console on a file of the node, its end on the screen."""
    async with demo.open() as driver:
        await driver.press("2", "o", *str(path), "enter")
        await driver.until(lambda: driver.state.log.path == str(path) and driver.state.log.size >= path.stat().st_size)
        yield driver, driver.app.screen.query_one(LogView)


def counted(driver: Driver) -> bool:
    log = driver.state.log
    return log.reading is not None and not log.fold_behind and log.read_to == log.size


@pytest.mark.slow
async def test_what_the_process_beside_reads_is_what_the_parsers_read_here(demo, tmp_path: Path):
    path = tmp_path / "server.log"
    path.write_bytes(story())
    kept = LogHistory()
    kept.feed(0, story())
    async with following(demo, path) as (driver, view):
        await driver.until(lambda: counted(driver))
        reading = driver.state.log.reading
        assert reading.records == sum(kept.counts.values())
        assert reading.unclaimed == kept.counts["unclaimed"]
        assert [(row.site, row.text, row.count) for row in reading.rows] == [
            (row.site, row.text, row.count) for row in kept.shapes.rows()
        ]
        await driver.press("g", "e")
        assert here(view).endswith("the first error"), "its marks came too"


@pytest.mark.slow
async def test_a_long_log_is_read_at_both_ends_and_what_is_not_counted_is_told(
    demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "HEAD_BYTES", 500_000)
    monkeypatch.setattr(folding, "BACKLOG_LIMIT", 1_000_000)
    path = tmp_path / "server.log"
    path.write_bytes(story() + FILLER * 180 + b"[2026-02-20 10:02:11 TP0] ERROR: at the end\n")
    async with following(demo, path) as (driver, view):
        await driver.until(lambda: counted(driver))
        log = driver.state.log
        assert log.skipped > 5_000_000
        assert "in the middle not counted" in driver.screen()
        assert [row.site for row in log.reading.rows] == ["draft.fc_in", "draft.fc_in"], "how it began is known"
        await driver.press("G", "e")
        assert here(view).endswith("at the end")
        await driver.press("g")
        await driver.until(lambda: here(view).startswith("[2026-02-20 10:00:00 TP0] server_args"))
        await driver.press("slash", *"second warning", "enter")
        await driver.until(lambda: view.row_count == 1)
        await driver.press("slash", *"!filler|TP0|EAGLE", "enter")
        await driver.until(lambda: view.row_count == 0 or here(view) == "")


@pytest.mark.slow
async def test_a_truncated_and_a_replaced_file_are_visible_lines_and_the_new_file_is_followed(demo, tmp_path: Path):
    path = tmp_path / "server.log"
    path.write_bytes(b"one\ntwo\nthree is longer than what follows\n")
    async with following(demo, path) as (driver, view):
        await driver.until_shown("three is longer")
        path.write_bytes(b"four\n")
        await driver.until_shown("four")
        assert "── the file was truncated" in driver.screen()
        assert view.row_count == 5
        (tmp_path / "other").write_bytes(b"five\n")
        (tmp_path / "other").rename(path)
        await driver.until_shown("five")
        assert "three is longer" in driver.screen(), "what was seen stays"
        await driver.until(lambda: counted(driver))
        assert driver.state.log.marks.next("unclaimed", -1) is not None


@pytest.mark.slow
async def test_a_file_that_is_not_there_is_awaited_and_nothing_leads_back_to_the_servers_log(demo, tmp_path: Path):
    path = tmp_path / "later.log"
    async with demo.open() as driver:
        await driver.press("2", "o", *str(path), "enter")
        await driver.until(lambda: driver.state.log.path == str(path))
        path.write_bytes(b"here it is\n")
        await driver.until_shown("here it is")
        await driver.press("o", "enter")
        await driver.pilot.pause()


@pytest.mark.slow
async def test_the_process_beside_is_started_anew_when_it_ends(demo, tmp_path: Path):
    path = tmp_path / "server.log"
    path.write_bytes(story())
    async with following(demo, path) as (driver, _view):
        await driver.until(lambda: counted(driver))
        await driver.app.connected._bridge._feed.close()
        with path.open("ab") as file:
            file.write(b"[2026-02-20 10:02:11 TP0] ERROR: afterwards\n")
        await driver.until(lambda: bool(driver.state.log.problem) or counted(driver))
        records = sum(1 for _ in story().splitlines()) + 1
        await driver.until(lambda: counted(driver) and driver.state.log.reading.records == records)


@pytest.mark.slow
async def test_a_file_is_judged_by_the_checkpoints_that_it_names_where_the_node_has_them(demo, tmp_path: Path):
    here, there = demo.home / "data" / "demo", tmp_path / "server.log"
    named = "model_path='{}/models/kimi-k2.5-int4', speculative_draft_model_path='{}/drafts/output_100k_sglang/4'"
    args = "[2026-02-20 10:00:00] server_args=ServerArgs(" + named + ", tp_size=8)\n"
    shapes = "".join(SHAPE_LINE.format(rank=rank, seq=rank) for rank in range(8))
    there.write_text(shapes)
    async with following(demo, there) as (driver, _view):
        await driver.press("t")
        await driver.until_shown("the log has no server_args= line")
        with there.open("a") as file:
            file.write(args.format(here, here) + shapes)
        await driver.until_shown("draft.fc_in: 3 × 7168")
        assert [judge_of(driver.state.log.record)(row).state for row in driver.state.log.reading.rows] == ["ok"]
        with there.open("a") as file:
            file.write(args.format(here, "/nowhere") + shapes)
        await driver.until_shown("the log's draft /nowhere/drafts/output_100k_sglang/4 cannot be read on the node")
