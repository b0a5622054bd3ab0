"""Draw docs/screenshots anew from the real console on the embedded node: `python -m tests.docs.pictures [FOLDER]`.

Five to ten minutes, most of it a sweep of fifteen points; the numbers are those of that walk, SIMULATED as all of it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from console import paths
from console.cli._nodes import make_node
from console.tui.app import ConsoleApp
from tests.cli import free_port
from tests.docs.reference import DOCS
from tests.tui.conftest import OPTIONS, Demo
from tests.tui.driver import Driver

SIZE = (160, 50)
PROFILE, SWEPT = "kimi-k2.5-eagle3-debug", "kimi-k2.5-eagle3"
LONG_S = 300.0
HOME = "demo-folder"
PREFIX = "/home/me/ml-env-2026-11-30"
"""Stands for where this Python is installed."""


async def draw(folder: Path, home: Path) -> None:
    port = free_port()
    os.environ.update(SPEC_CONSOLE_HOME=str(home), SPEC_CONSOLE_DEMO_PORT=str(port))
    app = ConsoleApp("demo", lambda: make_node("demo", OPTIONS, paths.locate(), reconnect=True), simulated=True)
    try:
        async with app.run_test(size=SIZE, notifications=True) as pilot:
            driver = Driver(app, pilot)
            await driver.until(lambda: bool(app.state.node.facts and app.state.profiles.found), LONG_S)
            await _walk(driver, folder)
            await _logs(driver, folder)
            await _measured(driver, folder)
    finally:
        await Demo(home, port).end_servers()


async def _walk(driver: Driver, folder: Path) -> None:
    await _select(driver, PROFILE)
    await _shot(driver, folder, "launch", "findings and command")
    await driver.confirm("R")
    await driver.press("1")
    await driver.until(lambda: not driver.state.action.is_busy and bool(driver.state.runbook.steps), LONG_S)
    await _shot(driver, folder, "node", "Runbook 7/7")


async def _logs(driver: Driver, folder: Path) -> None:
    await driver.press("2")
    await _shot(driver, folder, "logs", "EAGLE3_DEBUG")
    await driver.press("t")
    await _shot(driver, folder, "logs-shapes", "draft.fc_in")
    await driver.press("t")
    await _shot(driver, folder, "logs-charts", "accept")


async def _measured(driver: Driver, folder: Path) -> None:
    await driver.press("5")
    await _shot(driver, folder, "probe", "accept_len")
    await _select(driver, SWEPT)
    await driver.press("5", "w")
    await driver.confirm("W")
    await driver.until(lambda: not driver.state.action.is_busy and driver.state.sweep.shown is not None, 4 * LONG_S)
    await _shot(driver, folder, "sweep", "best")


async def _select(driver: Driver, profile: str) -> None:
    await driver.press("3")
    names = [each.name for each in driver.state.profiles.found]
    await driver.press("g", *["j"] * names.index(profile))
    await driver.until(lambda: driver.state.profiles.selected == profile and driver.state.profiles.launch is not None)


async def _shot(driver: Driver, folder: Path, name: str, awaited: str) -> None:
    await driver.until_shown(awaited, LONG_S)
    path = folder / f"{name}.svg"
    drawn = driver.app.export_screenshot(title="spec-console demo (SIMULATED)")
    # Of the same length, for the texts have places.
    path.write_text(drawn.replace(sys.prefix, PREFIX[: len(sys.prefix)].ljust(len(sys.prefix), "0")), encoding="utf-8")
    print(f"wrote {path}")


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.gettempdir()) / HOME
    home.mkdir(mode=0o700)  # one that is there is somebody's
    try:
        asyncio.run(draw(folder, home))
    finally:
        shutil.rmtree(home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
