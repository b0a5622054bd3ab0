"""Every key of the table is pressed on every screen that has it: it does what it says, or says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.state import events
from console.state.sweep_state import SweepView
from console.tui.keys import KEYS, SCREENS, KeyTable
from console.tui.widgets.log_view import LogView
from console.units import plain
from tests.tui.events import Log, busy, sample

if TYPE_CHECKING:
    from console.state.events import Event
    from console.tui.keys import Key
    from tests.tui.driver import Driver

OPENS = {
    "help": "HelpModal",
    "command": "CommandLine",
    "palette": "CommandPalette",
    "log.open": "LogSourceModal",
    "cancel": "PlanModal",
}
"""Action → the class of what it opens."""
RUNNING: tuple[Event, ...] = (events.ActionAsked("probe", "Benchmark"), events.ActionStarted())
IDLE: tuple[Event, ...] = (events.ActionFinished(True, "measured", ()),)
STEPS = next(event for event in busy() if isinstance(event, events.RunbookMoved))
LINES = sample("2026-11-30 01:45:10 TP0] ERROR: it failed\n" * 3 + "2026-11-30 01:45:11 TP1] WARNING: beware\n")


class Asked:
    """Stands where the node would be: what was asked of it."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def __getattr__(self, name: str):
        return lambda *given, **_named: self.told.append((name, *given))

    async def close(self) -> None:
        return None

    def log_range(self, _run_id: str) -> tuple[int, int]:
        return 0, 10

    async def log_sources(self) -> list[object]:
        return []


async def opened(driver: Driver) -> Asked:
    asked = Asked()
    driver.app.nodes.shown.connected = asked  # type: ignore[assignment]
    driver.app.exit = lambda *_given, **_named: asked.told.append(("exit",))  # type: ignore[method-assign]
    driver.app.copy_to_clipboard = lambda text: asked.told.append(("copied", text))  # type: ignore[method-assign]
    await driver.put(*busy(Log(LINES)), events.SweepsRead((SweepView("s1", 1.0, "kimi", "stopped", ()),)))
    return asked


def drawn(driver: Driver) -> str:
    """The screen as it is laid out now: a twentieth of the time that a picture takes."""
    return "\n".join(strip.text for strip in driver.app.screen._compositor.render_strips())


def seen(driver: Driver, asked: Asked) -> tuple[object, ...]:
    """All that a user can notice of a key."""
    app = driver.app
    stack = [type(each).__name__ for each in app.screen_stack]
    logs = app.screen.query(LogView)
    log = [(each.range_start, each.choice, each.is_following, len(each.bookmarks), each.place) for each in logs]
    return (
        log,
        app.current_mode,
        stack,
        app.focused,
        [each.message for each in app._notifications],
        app.theme,
        len(asked.told),
        drawn(driver),
    )


async def settled(driver: Driver) -> None:
    await driver.pilot.pause()
    await driver.until(lambda: not any(worker.group in ("seek", "command") for worker in driver.app.workers), 10)
    await driver.pilot.pause()


async def left(driver: Driver, screen: str) -> None:
    """Back to the screen, with nothing open over it."""
    while len(driver.app.screen_stack) > 1:
        before = len(driver.app.screen_stack)
        await driver.press("escape")
        await driver.until(lambda: len(driver.app.screen_stack) < before, 5)  # noqa: B023
    if driver.app.current_mode != screen:
        driver.app.go_to(screen)
    await driver.press("escape")
    if not driver.state.runbook.steps:
        await driver.put(STEPS)
    await driver.pilot.pause()


async def does(driver: Driver, asked: Asked, key: Key) -> None:
    """Press a key and see that it does what it says."""
    if key.id == "cancel":
        await driver.put(*RUNNING)
    before, why = seen(driver, asked), driver.app.table.why_not(key.id, driver.state)
    assert not (why and key.group == "change"), (key.id, why)
    driver.app.clear_notifications()
    await driver.press(key.key)
    await settled(driver)
    if why:
        (said,) = driver.app._notifications
        assert (said.title, said.message) == (f"{key.title}: not now", plain(why))
    elif key.group == "screens":
        assert driver.app.current_mode == key.id.removeprefix("screen.")
    elif key.group == "change":
        name, given = asked.told[-1]  # type: ignore[misc]
        assert (name, given.id) == ("start", key.id)
    elif key.id == "quit":
        assert asked.told[-1] == ("exit",)
    elif key.id in OPENS:
        await driver.until(lambda: type(driver.app.screen).__name__ == OPENS[key.id], 5)
    else:
        assert seen(driver, asked) != before, f"{key.id}: nothing is seen of it"
    if key.id == "cancel":
        await driver.put(*IDLE)


@pytest.mark.parametrize(
    "screen", [screen if screen == "patches" else pytest.param(screen, marks=pytest.mark.slow) for screen in SCREENS]
)
async def test_every_key_of_a_screen_does_what_it_says(forced, screen: str) -> None:
    # Keys of every screen are pressed on the first: what they do there they do everywhere.
    keys = [each for each in KeyTable().on_screen(screen) if each.key and (screen == "node" or each.screens != SCREENS)]
    if screen == "runs":
        keys += [each for each in KEYS if each.id == "screen.node"]  # a screen that one comes from, not only to
    async with forced((80, 24)) as driver:
        asked = await opened(driver)
        for key in keys:
            if key.id == f"screen.{screen}":
                continue
            await left(driver, screen)
            await does(driver, asked, key)


@pytest.mark.slow
async def test_every_change_says_why_not_while_there_is_no_node(forced):
    async with forced((80, 24)) as driver:
        asked = await opened(driver)
        await driver.put(events.LinkChanged("reconnecting", "EOF"))
        for key in KEYS:
            if key.group != "change":
                continue
            await left(driver, key.screens[0])
            told = len(asked.told)
            driver.app.clear_notifications()
            await driver.press(key.key)
            await driver.pilot.pause()
            (said,) = driver.app._notifications
            assert (said.title, said.message) == (f"{key.title}: not now", "not connected: reconnecting (EOF)")
            assert len(asked.told) == told


@pytest.mark.slow
async def test_escape_with_nothing_to_leave_does_nothing(forced):
    async with forced((80, 24)) as driver:
        asked = await opened(driver)
        for screen in SCREENS:
            await left(driver, screen)
            before = seen(driver, asked)
            await driver.press("escape")
            await driver.pilot.pause()
            assert seen(driver, asked) == before


async def test_a_click_on_the_head_or_the_key_bar_is_as_good_as_the_key(forced):
    async with forced((80, 24)) as driver:
        asked = await opened(driver)
        rows = drawn(driver).splitlines()
        await driver.pilot.click("#header", offset=(rows[1].index("3 Launch") + 2, 1))
        await driver.until(lambda: driver.app.current_mode == "launch")
        changes = next(row for row in rows if "B Benchmark" in row)
        await driver.pilot.click("#keys", offset=(changes.index("B Benchmark"), 0))
        await driver.until(lambda: ("start", driver.app.table["probe"]) in asked.told)
