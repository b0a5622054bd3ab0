"""The log screen by its keys: seek, filter, choose ranks, mark, copy, save, shapes and charts; narrow and wide."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from console.errors import NegativeResult
from console.state.events import InventoryRead
from console.tui.widgets.charts import Charts, block, columns, stage_at
from console.tui.widgets.log_desk import LogDesk
from console.tui.widgets.log_view import LogView
from tests.tui.doors import FileDoor
from tests.tui.events import FACTS, RUN_ID, SHAPE_LINE, WIRING, Log, busy, sample
from tests.unit.state.samples import telemetry

if TYPE_CHECKING:
    from pathlib import Path

SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
HEAD = b"[2026-02-20 10:%02d:%02d TP0] "
DECODE = (
    b"Decode batch, #running-req: %d, #token: 5, token usage: 0.10, accept len: %.2f, accept rate: 0.40, "
    b"cuda graph: False, gen throughput (token/s): %.2f, #queue-req: 0\n"
)
CYCLE = (
    b"[EAGLE3_CYCLE] rank=0 seq=%d worker=EAGLEWorkerV2 bs=1 draft_ms=3.125 verify_ms=9.500 target_ms=9.125 "
    b"extend_ms=1.250 cycle_ms=14.000 gap_ms=0.250 clock=cuda\n"
)


def story() -> bytes:
    """A launch, a warning, two errors, speeds with one slow-down, a rank that is wired wrong."""
    said = [HEAD % (0, 0) + b"server_args=ServerArgs(tp_size=8, speculative_num_draft_tokens=6)\n"]
    said += [HEAD % (0, 1) + b"WARNING: the first warning\n", HEAD % (0, 2) + b"ERROR: the first error\n"]
    said += [HEAD % (1, n) + DECODE % (1, 3.0, 60.0 if n == 20 else 100.0 + n % 3) for n in range(30)]
    said += [CYCLE % n for n in range(40)]
    said += [SHAPE_LINE.format(rank=rank, seq=rank).encode() for rank in range(8)]
    said += [SHAPE_LINE.format(rank=3, seq=9).replace("21504", "28672").encode()]
    said += [HEAD % (2, 1) + b"WARNING: the second warning\n", HEAD % (2, 2) + b"ERROR: the second error\n"]
    said += [b"filler %d\n" % n for n in range(100)]
    return b"".join(said)


async def opened(driver, log: Log) -> LogView:
    await driver.put(*busy(log))
    await driver.press("2")
    await driver.pilot.pause()
    return driver.app.screen.query_one(LogView)


def here(view: LogView) -> str:
    assert view.port.current
    return view.port.current.text


@SIZES
@pytest.mark.parametrize(
    ("key", "first", "second"),
    [
        ("e", "ERROR: the first error", "ERROR: the second error"),
        ("w", "WARNING: the first warning", "WARNING: the second warning"),
    ],
)
async def test_errors_and_warnings_are_gone_to_forth_and_back(forced, size, key: str, first: str, second: str) -> None:
    async with forced(size) as driver:
        view = await opened(driver, Log(story()))
        await driver.press("g", key)
        assert here(view).endswith(first)
        await driver.press("n")
        assert here(view).endswith(second)
        await driver.press("N")
        assert here(view).endswith(first)
        await driver.pilot.pause()
        assert first in driver.screen(), "it is seen"
        await driver.press("G", key)
        assert here(view).endswith(second), "from the end, which is followed, the last one"


async def test_a_slow_down_and_a_change_of_a_shape_are_gone_to(forced):
    async with forced() as driver:
        view = await opened(driver, Log(story()))
        await driver.press("g", "s")
        assert "gen throughput (token/s): 60.00" in here(view)
        await driver.press("s")
        await driver.until_shown("no later slow-down")
        await driver.press("d")
        assert "shape=(6,28672)" in here(view) or "rank=7" in here(view)
        await driver.press("G", "d")
        assert "shape=(6,28672)" in here(view)


@SIZES
async def test_n_and_shift_n_go_through_the_matches_of_a_filter_in_their_place(forced, size) -> None:
    async with forced(size) as driver:
        view = await opened(driver, Log(story()))
        await driver.press("slash", *"filler .0$", "enter", "g", "enter")
        assert not view.is_filtered
        assert here(view) == "filler 10"
        await driver.press("n")
        await driver.until(lambda: here(view) == "filler 20")
        await driver.press("N", "N")
        await driver.until_shown("no earlier match")


async def test_a_match_far_away_is_found_on_the_node_and_shown_in_its_place(forced):
    data = b"".join(b"line %06d of the log\n" % n for n in range(30_000))
    tail = 29_900 * 23
    async with forced() as driver:
        view = await opened(driver, Log(data[tail:], FileDoor(data), tail))
        await driver.press("slash", *"000123", "enter")
        await driver.until(lambda: view.row_count == 1)
        await driver.press("enter")
        await driver.until(lambda: not view.is_following and here(view) == "line 000123 of the log")
        assert "line 000120 of the log" in driver.screen()
        await driver.press("G")
        await driver.until_shown("line 029999 of the log")


async def test_a_search_tells_how_far_it_is_and_escape_ends_it(forced):
    data = b"".join(b"line %06d of the log\n" % n for n in range(30_000))
    door, tail = FileDoor(data), 29_900 * 23
    async with forced() as driver:
        view = await opened(driver, Log(data[tail:], door, tail))
        door.gate.clear()
        await driver.press("slash", *"0001", "enter")
        await driver.until_shown("searching 335.8 KiB of 671.6 KiB")
        await driver.press("escape")
        await driver.until(lambda: door.ended == 1)
        assert not view.is_filtered
        assert "searching" not in driver.screen()


async def test_what_cannot_be_searched_is_told_and_what_is_here_is_shown(forced):
    data = b"".join(b"line %06d of the log\n" % n for n in range(30_000))
    door, tail = FileDoor(data), 29_900 * 23
    door.error = NegativeResult("the pattern backtracks", "Say it more simply.")
    async with forced() as driver:
        view = await opened(driver, Log(data[tail:], door, tail))
        await driver.press("slash", *"02999", "enter")
        await driver.until_shown("earlier lines were not searched")
        assert "the pattern backtracks Say it more simply." in driver.screen()
        assert view.row_count == 10


async def test_what_is_no_pattern_is_told_and_nothing_changes(forced):
    async with forced() as driver:
        view = await opened(driver, Log(story()))
        await driver.press("slash", "(", "enter")
        await driver.until_shown("is no regular expression")
        assert not view.is_filtered


@SIZES
async def test_ranks_are_shown_and_hidden_and_equal_lines_are_one(forced, size) -> None:
    async with forced(size) as driver:
        view = await opened(driver, Log(sample()))
        await driver.press("a", *"0,2-3", "enter")
        await driver.pilot.pause()
        assert view.row_count == 4, "three ranks, and the line without one"
        await driver.until_shown("only ranks 0,2,3: 4")
        await driver.press("escape", "x")
        await driver.pilot.pause()
        assert view.row_count == 2
        assert "×8 [EAGLE3_DEBUG] site=draft.fc_in rank=0" in driver.screen()
        await driver.press("a", *"nine", "enter")
        await driver.until_shown("'nine' is no rank")


async def test_only_what_no_parser_knows_is_shown_on_wish_and_as_it_comes(forced):
    log = Log(sample())
    async with forced() as driver:
        view = await opened(driver, log)
        await driver.press("u")
        await driver.pilot.pause()
        assert [line.text for line in view.port.chosen.lines()] == ["a line that no parser knows"]
        log.add(sample("another one\n"))
        await driver.put(*log.fed())
        assert view.row_count == 3


@SIZES
async def test_bookmarks_are_set_and_gone_through(forced, size) -> None:
    async with forced(size) as driver:
        view = await opened(driver, Log(story()))
        await driver.press("apostrophe")
        await driver.until_shown("no bookmark: m makes one")
        await driver.press("g", "e", "m", "w", "m", "G", "apostrophe")
        assert here(view).endswith("the first error")
        await driver.press("apostrophe")
        assert here(view).endswith("the second warning")
        await driver.pilot.pause()
        assert "◆" in driver.screen()
        await driver.press("m")
        await driver.pilot.pause()
        assert "◆" not in driver.screen()


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("10:01", "[2026-02-20 10:01:00 TP0] Decode"),
        ("10:01:20", "[2026-02-20 10:01:20 TP0] Decode"),
        ("2026-02-20 10:01:45", "[2026-02-20 10:02:01 TP0] WARNING"),
    ],
)
async def test_a_time_is_gone_to(forced, typed: str, line: str) -> None:
    data = b"filler\n" * 50_000 + story() + b"filler\n" * 50_000
    tail = len(data) - 7000
    async with forced() as driver:
        view = await opened(driver, Log(data[tail:], FileDoor(data + HEAD % (3, 0) + b"end\n"), tail))
        await driver.put(*Log(data[tail:], offset=tail).fed(size=len(data)))
        await driver.press("at", *typed, "enter")
        await driver.until(lambda: not view.is_following and here(view).startswith(line))


async def test_what_is_no_time_and_what_is_too_late_is_told(forced):
    log = Log(story(), FileDoor(story()))
    async with forced() as driver:
        await opened(driver, log)
        await driver.put(*log.fed())
        await driver.press("at", *"noon", "enter")
        await driver.until_shown("'noon' is no time")
        await driver.press("at", *"23:00", "enter")
        await driver.until_shown("nothing in the log is as late")


async def test_a_line_is_copied_as_text_with_secrets_masked(forced):
    async with forced() as driver:
        await opened(driver, Log(b"\x1b[31mServerArgs(api_key='sk-1234', [bold]port[/]=1)\x1b]52;c;eHg=\x07\n"))
        await driver.press("y")
        await driver.until_shown("the line is copied")
        assert driver.app.clipboard == "ServerArgs(api_key='***', [bold]port[/]=1)"


@pytest.mark.slow
async def test_a_range_is_saved_to_a_new_file_of_this_user(forced, tmp_path: Path) -> None:
    path = tmp_path / "part.log"
    async with forced((80, 24)) as driver:
        await opened(driver, Log(b"one\ntwo\napi_key='sk-1234'\nthree\nfour\n"))
        await driver.press("f", *str(path), "enter")
        await driver.until_shown("no range: v says where")
        await driver.press("v", "escape")
        assert driver.app.screen.query_one(LogView).range_start is None, "escape leaves a range"
        await driver.press("g", "j", "v", "j", "j", "f", *str(path), "enter")
        await driver.until(path.exists)
        await driver.until_shown("3 lines are in")
        assert path.read_text() == "two\napi_key='***'\nthree\n"
        assert path.stat().st_mode & 0o777 == 0o600
        await driver.press("f", *str(path), "enter")
        await driver.until(lambda: any("is there already" in each.message for each in driver.app._notifications))


@pytest.mark.slow
async def test_a_range_that_is_partly_on_the_node_is_saved_whole(forced, tmp_path: Path) -> None:
    data = b"".join(b"line %06d of the log\n" % n for n in range(3000))
    tail, path = 2900 * 23, tmp_path / "part.log"
    async with forced() as driver:
        view = await opened(driver, Log(data[tail:], FileDoor(data), tail))
        view.go_to(10 * 23)
        await driver.until(lambda: here(view) == "line 000010 of the log")
        await driver.press("v")
        view.go_to(2950 * 23)
        await driver.press("f", *str(path), "enter")
        await driver.until(path.exists)
        await driver.until_shown("2,941 lines are in")
        assert path.read_bytes() == data[10 * 23 : 2951 * 23]


@pytest.mark.slow
async def test_what_is_filtered_is_saved(forced, tmp_path: Path) -> None:
    path = tmp_path / "errors.log"
    async with forced() as driver:
        await opened(driver, Log(story()))
        await driver.press("slash", *"ERROR", "enter", "f", *str(path), "enter")
        await driver.until(path.exists)
        await driver.until_shown("2 lines are in")
        assert path.read_text().count("ERROR") == 2


@SIZES
async def test_enter_on_a_shape_goes_to_the_line_of_the_rank_that_differs(forced, size) -> None:
    async with forced(size) as driver:
        log = Log(b"".join(SHAPE_LINE.format(rank=rank, seq=0).encode() for rank in range(7)))
        log.add(SHAPE_LINE.format(rank=7, seq=0).replace("21504", "28672").encode())
        view = await opened(driver, log)
        await driver.press("t")
        await driver.pilot.pause()
        shown = driver.screen()
        assert "Shapes 1, 1 WRONG" in shown
        assert "7/8 not 7" in shown
        assert "rank 7" in shown, "why it is wrong"
        await driver.press("enter")
        await driver.pilot.pause()
        assert "rank=7" in here(view)
        assert "shape=(6,28672)" in here(view)


@SIZES
async def test_the_path_of_the_states_is_drawn_with_its_widths(forced, size) -> None:
    async with forced(size) as driver:
        lines = [SHAPE_LINE.format(rank=rank, seq=0) for rank in range(8)]
        aux = [
            line.replace("draft.fc_in", "target.aux").replace("shape=(6,21504)", "shapes=(6,7168);(6,7168);(6,7168)")
            for line in lines
        ]
        stored = [line.replace("draft.fc_in", "logits.stored").replace("21504", "14336") for line in lines]
        out = [line.replace("draft.fc_in", "draft.fc_out").replace("21504", "7168") for line in lines]
        await opened(driver, Log("".join(aux + stored + lines + out).encode()))
        await driver.press("t")
        await driver.pilot.pause()
        shown = re.sub(r"(target|logits|draft)\.", "", driver.screen())
        assert "aux ─3 × 7168 WRONG▶ stored ─14336 WRONG▶ fc_in ─21504▶ fc_out ─7168▶" in shown


@SIZES
async def test_charts_are_drawn(forced, size) -> None:
    async with forced(size) as driver:
        await opened(driver, Log(story()))
        await driver.press("t", "t")
        await driver.pilot.pause()
        shown = driver.screen()
        for told in (
            *("accept len", "strict accept rate", "gen throughput tok/s", "running requests", "queued requests"),
            *("14.00 ms, verify 67.9 %", "(60.00…102.00)", "░", "█"),
        ):
            assert told in shown, told
        await driver.press("t")
        await driver.pilot.pause()
        assert "ERROR" in driver.screen() or "filler 99" in driver.screen()
        assert driver.app.screen.focused is driver.app.screen.query_one(LogView)


async def test_charts_say_when_there_is_nothing_to_draw(forced):
    async with forced((80, 24)) as driver:
        await opened(driver, Log(b"nothing\n"))
        await driver.press("t", "t")
        await driver.pilot.pause()
        assert "nothing to draw yet" in driver.screen()
        assert driver.app.screen.query_one(Charts).has_focus


def test_a_bar_is_as_high_as_its_value():
    assert [block(value, 16, 0, 2) for value in (0, 0.01, 1, 8, 16)] == [" ", "▁", "▁", "█", "█"]
    assert [block(value, 16, 1, 2) for value in (0, 8, 9, 12, 16, 99)] == [" ", " ", "▁", "▄", "█", "█"]


def test_neighbours_are_joined_where_there_are_more_than_columns_and_idle_ones_do_not_count():
    from console.logs.series import Point

    points = [Point(n, None, float(n), n, n, 1, n % 4 == 3) for n in range(8)]
    assert columns(points, 2) == [(1.0, False), (5.0, False)]
    assert columns(points[3:4], 2)[:1] == [(3.0, True)]
    assert columns([], 10) == []


def test_the_stages_of_a_cycle_stand_on_each_other():
    from console.logs.cycles import CyclePoint

    point = CyclePoint(0, None, 3.0, 9.0, 1.0, 1.0, 14.0, 1)
    assert [stage_at(point, ms) for ms in (0, 2.9, 3.1, 11.9, 12.5, 13.5, 14.5)] == [
        *("draft", "draft", "verify", "verify", "extend", "other", ""),
    ]


@pytest.mark.parametrize("name", ["log.wrap", "log.copy", "log.range", "log.bookmark", "log.next", "log.error"])
async def test_keys_do_no_harm_before_there_is_a_log(forced, name: str) -> None:
    async with forced((80, 24)) as driver:
        await driver.press("2")
        driver.app.screen.query_one(LogDesk).perform(name)
        await driver.pilot.pause()
        assert "No server of yours was launched on this node yet" in driver.screen()


async def test_a_record_of_a_run_judges_its_shapes(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.put(*Log(sample()).events(RUN_ID, wiring={**WIRING, "hidden_size": 4096}))
        await driver.press("2")
        await driver.pilot.pause()
        assert "WRONG" in driver.screen()


async def test_a_killed_server_is_not_ready_whatever_its_log_ends_with(forced) -> None:
    async with forced((80, 24)) as driver:
        log = Log(sample("[2026-11-30 10:00:00] The server is fired up and ready to roll!\n"))
        await opened(driver, log)
        await driver.until_shown("ready ")
        killed = replace(driver.state.servers.runs[0], state="exited", exit_signal=9)
        await driver.put(InventoryRead(FACTS, telemetry(0, 0), (), (killed,), 0, ""))
        await driver.until_shown("exited signal 9")
