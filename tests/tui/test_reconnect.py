"""A link that breaks is shown with its reason, and everything goes on when it is back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from console.state.events import LinkChanged, ProfileSelected

if TYPE_CHECKING:
    from console.logs.window import LineWindow


async def test_a_broken_link_is_shown_and_healed(demo):
    async with demo.open() as driver:
        first = driver.node.agent.hello.pid
        driver.node.agent.session.break_link()
        await driver.until(lambda: driver.state.link.name == "reconnecting")
        shown = driver.screen()
        assert "reconnecting (the link was dropped on request)" in shown
        assert "(not live" in shown
        await driver.press("F")
        await driver.until_shown("not connected: reconnecting")
        await driver.until(lambda: driver.state.link.name == "connected")
        assert driver.state.node.hello
        assert driver.state.node.hello.pid != first
        sample = driver.state.gpus.sample
        await driver.until(lambda: driver.state.gpus.sample is not sample)
        assert "(not live" not in driver.screen()


async def test_the_log_goes_on_over_a_broken_link_without_loss_or_repeat(demo):
    async with demo.open() as driver:
        await driver.put(ProfileSelected("kimi-k2.5-baseline"))
        await driver.confirm("L")
        await driver.until(lambda: driver.state.action.phase == "done")
        await driver.until(lambda: driver.state.log.window is not None)
        window, path = driver.state.log.window, Path(driver.state.log.path)
        assert window
        _append(path, 0, 500)
        await driver.until(lambda: len(_marked(window)) == 500)
        driver.node.agent.session.break_link()
        await driver.until(lambda: driver.state.link.name == "reconnecting")
        _append(path, 500, 1000)
        await driver.until(lambda: len(_marked(window)) >= 1000)
        assert _marked(window) == [f"MARK {number}" for number in range(1000)]
        assert driver.state.log.window is window


def _append(path: Path, start: int, end: int) -> None:
    with path.open("a") as file:
        file.writelines(f"MARK {number}\n" for number in range(start, end))


def _marked(window: LineWindow) -> list[str]:
    lines = window.lines(window.first_row, window.end_row)
    return [line.text for _row, line in lines if line.text.startswith("MARK")]


async def test_a_screen_that_was_looked_at_without_a_link_is_read_when_there_is_one(demo):
    async with demo.open() as driver:
        await driver.put(LinkChanged("reconnecting", "EOF"))
        await driver.press("3")
        await driver.until_shown("not connected: reconnecting")
        await driver.put(LinkChanged("connected"))
        await driver.until_shown("captures the outputs of layers 2, 30, 58")
