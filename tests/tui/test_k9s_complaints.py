"""What users of the best-known log pane complain of (derailed/k9s, by issue number): what must not happen here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.logs.window import LineWindow
from console.tui.widgets.log_view import LogView
from tests.tui.doors import FileDoor
from tests.tui.events import Log, busy

if TYPE_CHECKING:
    from pathlib import Path

SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=lambda size: f"{size[0]}x{size[1]}")


def numbered(start: int, end: int) -> bytes:
    return b"".join(b"[2026-02-20 10:02:11 TP%d] line %07d of the log\n" % (n % 8, n) for n in range(start, end))


async def opened(driver, log: Log) -> LogView:
    await driver.put(*busy(log))
    await driver.press("2")
    await driver.pilot.pause()
    return driver.app.screen.query_one(LogView)


def lines(driver) -> list[str]:
    return [line for line in driver.screen().splitlines() if " of the log" in line]


async def grown(driver, log: Log, data: bytes) -> None:
    log.add(data)
    await driver.put(*log.fed())


@pytest.mark.slow
async def test_1019_it_does_not_fall_behind_and_says_how_far_it_is(demo, tmp_path: Path):
    """Logs were shown minutes late. Here ten thousand lines are on the screen as soon as they were written."""
    path = tmp_path / "server.log"
    path.write_bytes(numbered(0, 100))
    async with demo.open() as driver:
        await driver.press("2", "o")
        await driver.press(*str(path), "enter")
        await driver.until_shown("line 0000099")
        for start in range(100, 10_100, 1000):
            with path.open("ab") as file:
                file.write(numbered(start, start + 1000))
        await driver.until(lambda: driver.state.log.window.end == path.stat().st_size)
        await driver.until_shown("line 0010099")
        assert driver.state.log.behind_bytes == 0


async def test_1019_what_is_not_here_yet_is_told(forced):
    async with forced() as driver:
        log = Log(numbered(0, 100))
        await opened(driver, log)
        await driver.put(*log.fed(size=log.offset + 5 * 1024 * 1024))
        assert "5 MiB behind" in driver.screen()


@pytest.mark.slow
async def test_1483_a_burst_loses_no_line(demo, tmp_path: Path):
    path = tmp_path / "server.log"
    path.write_bytes(b"")
    async with demo.open() as driver:
        await driver.press("2", "o")
        await driver.press(*str(path), "enter")
        await driver.until(lambda: driver.state.log.path == str(path))
        with path.open("ab") as file:
            file.write(numbered(0, 30_000))
        await driver.until(lambda: driver.state.log.window.end == path.stat().st_size)
        window = driver.state.log.window
        numbers = [int(line.raw[31:38]) for _row, line in window.lines(window.first_row, window.end_row)]
        assert numbers == list(range(30_000))
        await driver.until(lambda: driver.state.log.reading and driver.state.log.reading.records == 30_000)


@SIZES
async def test_3364_a_filter_finds_matches_of_the_whole_file_not_only_of_its_tail(forced, size: tuple[int, int]):
    data = numbered(0, 5000)
    log = Log(data[-len(numbered(4900, 5000)) :], FileDoor(data), len(data) - len(numbered(4900, 5000)))
    async with forced(size) as driver:
        view = await opened(driver, log)
        await driver.press("slash", *"line 0000[0-9]{2}7", "enter")
        await driver.until(lambda: view.row_count == 100)
        assert "line 0000997" in driver.screen()
        await driver.press("g")
        await driver.pilot.pause()
        assert "line 0000007" in driver.screen()


async def test_517_a_filter_works_while_the_view_is_held(forced):
    log = Log(numbered(0, 1000))
    async with forced() as driver:
        view = await opened(driver, log)
        await driver.press("space")
        assert not view.is_following
        await driver.press("slash", *"line 0000[0-9]77", "enter")
        await driver.pilot.pause()
        assert [line.split("line ")[1][:7] for line in lines(driver)] == [f"0000{n}77" for n in range(10)]


async def test_1152_a_filter_goes_on_with_what_comes_while_the_view_is_held(forced):
    log = Log(numbered(0, 1000))
    async with forced() as driver:
        view = await opened(driver, log)
        await driver.press("slash", *"77 of", "enter")
        await driver.pilot.pause()
        await driver.press("space")
        before = lines(driver)
        await grown(driver, log, numbered(1000, 2000))
        assert lines(driver) == before
        assert view.unseen == 10
        assert "held, +10 new" in driver.screen()
        await driver.press("G")
        await driver.pilot.pause()
        assert "line 0001977" in driver.screen()


@SIZES
async def test_155_a_held_view_does_not_move(forced, size: tuple[int, int]):
    log = Log()
    log.window = LineWindow(bytes_limit=1_000_000)
    log.add(numbered(0, 1000))
    async with forced(size) as driver:
        await opened(driver, log)
        await driver.press("k", "k", "pageup")
        before = lines(driver)
        assert before
        for start in range(1000, 61_000, 10_000):
            await grown(driver, log, numbered(start, start + 10_000))
        assert log.window.first_row > 1000, "the window has dropped what is seen"
        assert lines(driver) == before
        assert "held, +60,000 new" in driver.screen()


async def test_3668_a_new_line_does_not_take_the_columns_back(forced):
    log = Log(b"x" * 300 + b" of the log\n")
    async with forced((80, 24)) as driver:
        view = await opened(driver, log)
        await driver.press(*["right"] * 5)
        assert view.left == 40
        await grown(driver, log, numbered(0, 3) + bytes(range(65, 91)) * 8 + b"\n")
        assert view.left == 40
        assert "‹PQRSTUVWXYZABC" in driver.screen()
        await driver.press("k", "G", "t", "t", "t")
        assert view.left == 40


@pytest.mark.slow
async def test_883_a_followed_log_opens_at_its_end_not_with_old_lines(demo, tmp_path: Path):
    path = tmp_path / "server.log"
    path.write_bytes(numbered(0, 200_000))
    async with demo.open() as driver:
        await driver.press("2", "o")
        await driver.press(*str(path), "enter")
        await driver.until(lambda: driver.state.log.window is not None and len(driver.state.log.window) > 0)
        assert driver.state.log.window.line(0).raw[31:38] >= b"0190000", "what came first is the tail"
        await driver.until_shown("line 0199999")


@pytest.mark.slow
async def test_846_no_line_is_shown_twice_where_the_tail_meets_what_is_followed(demo, tmp_path: Path):
    path = tmp_path / "server.log"
    path.write_bytes(numbered(0, 200_000))
    async with demo.open() as driver:
        await driver.press("2", "o")
        await driver.press(*str(path), "enter")
        await driver.until_shown("line 0199999")
        driver.node.agent.session.break_link()
        await driver.until(lambda: driver.state.link.name == "reconnecting")
        with path.open("ab") as file:
            file.write(numbered(200_000, 201_000))
        await driver.until_shown("line 0200999")
        window = driver.state.log.window
        numbers = [int(line.raw[31:38]) for _row, line in window.lines(window.first_row, window.end_row)]
        assert numbers == list(range(numbers[0], 201_000))


async def test_846_scrolling_up_past_the_tail_brings_each_earlier_line_once(forced):
    data = numbered(0, 12_000)
    tail = len(numbered(0, 11_000))
    log = Log(data[tail:], FileDoor(data), tail)
    async with forced() as driver:
        view = await opened(driver, log)
        await driver.press("pageup")
        while view.port.current.offset > 0:
            view.action_page(-7)
            await driver.pilot.pause()
        held = view.port.held
        numbers = [int(line.raw[31:38]) for _row, line in held.lines(held.first_row, held.end_row)]
        assert numbers == list(range(12_000))
        assert "line 0000000" in driver.screen()
