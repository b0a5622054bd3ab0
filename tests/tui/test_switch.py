"""Another screen comes to the front: at once, with the newest state, and the keys typed right behind are its own."""

from __future__ import annotations

import pytest
from textual import events

from console.tui import ahead
from console.tui.keys import SCREENS
from console.tui.painting import FrontCompositor
from console.tui.settings import Settings
from console.tui.widgets.log_view import LogView
from console.tui.widgets.table import Table
from tests.tui.events import Log, busy


def typed(app, *keys):
    """As a terminal sends them: one behind the other, without a look at what the first did."""
    for key in keys:
        app.post_message(events.Key(key, key))


@pytest.mark.parametrize(("screen", "table", "row"), [("3", "#profiles", 2), ("6", "#runs", 1)])
async def test_a_key_right_behind_the_first_look_at_a_screen_moves_its_cursor(forced, screen, table, row):
    async with forced() as driver:
        await driver.put(*busy())
        typed(driver.app, screen, "j")
        await driver.until(lambda: bool(driver.app.screen.query(table)))
        await driver.until(lambda: driver.app.screen.query_one(table, Table).cursor == row)


async def test_a_key_right_behind_the_first_look_at_the_log_holds_it(forced):
    async with forced() as driver:
        await driver.put(*busy())
        typed(driver.app, "2", "k")
        await driver.until(lambda: bool(driver.app.screen.query(LogView)))
        await driver.until(lambda: not driver.app.screen.query_one(LogView).is_following)


async def test_screens_made_ahead_show_what_happened_since(forced, monkeypatch):
    monkeypatch.setattr("console.tui.ahead.AHEAD_S", 0.0)
    monkeypatch.setattr("console.tui.garbage.take_over", lambda: None)
    async with forced(settings=Settings(mounts_ahead=True)) as driver:
        await driver.until(lambda: set(driver.app._screen_stacks) == set(SCREENS))
        assert driver.app.current_mode == "node"
        log = Log()
        await driver.put(*busy(log))
        log.add(b"the newest line of all\n")
        await driver.put(*log.fed())
        await driver.press("2")
        assert "the newest line of all" in driver.screen()
        await driver.press("6")
        assert "kimi-k2.5-baseline" in driver.screen()


async def test_screens_made_ahead_are_drawn_before_they_are_looked_at(forced, monkeypatch):
    drawn: list[str] = []
    render = FrontCompositor.render_strips

    def noted(compositor):
        strips = render(compositor)
        drawn.append("\n".join(strip.text for strip in strips))
        return strips

    monkeypatch.setattr("console.tui.ahead.AHEAD_S", 0.0)
    monkeypatch.setattr("console.tui.garbage.take_over", lambda: None)
    async with forced() as driver:
        await driver.put(*busy())
        monkeypatch.setattr(FrontCompositor, "render_strips", noted)
        await ahead.make_all(driver.app)
        assert driver.app.current_mode == "node"
    assert len(drawn) == len(SCREENS) - 1
    assert "kimi-k2.5-baseline" in drawn[SCREENS.index("runs") - 1]


async def test_no_screen_is_made_while_the_console_closes(forced, monkeypatch):
    """Textual walks through the screens then (App._close_all), and stops at one that comes in between."""
    monkeypatch.setattr("console.tui.ahead.AHEAD_S", 0.0)
    async with forced() as driver:
        close_all = driver.app._close_all

        async def closing():
            await ahead.make_all(driver.app)
            made.append(len(driver.app._screen_stacks))
            await close_all()

        made = [len(driver.app._screen_stacks)]
        monkeypatch.setattr(driver.app, "_close_all", closing)
    assert made[0] == made[1]


async def test_a_theme_chosen_elsewhere_is_seen_on_a_screen_that_comes_back(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.press("6")
        before = driver.app.screen.query_one(Table).rich_style.bgcolor
        await driver.press("1")
        driver.app.theme = "textual-light"
        await driver.press("6")
        assert driver.app.screen.query_one(Table).rich_style.bgcolor != before
