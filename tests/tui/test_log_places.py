"""An older server's log is shown with its own lines, wherever they are now, or it is said that they are gone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from console.state.events import LogFailed, LogOpened
from console.state.model import ConsoleState
from console.state.update import update
from console.tui import run_keys
from console.tui.bridge import Bridge
from console.tui.log_pick import LogPick
from remote_agent.protocol import LogPlace
from tests.unit.state.samples import run

if TYPE_CHECKING:
    from tests.tui.conftest import Demo
    from tests.tui.driver import Driver

OLD, NEW = "20260101T000000-000000", "20260101T000001-000001"


class Stream:
    """Keeps what happened."""

    def __init__(self) -> None:
        self.state, self.events = ConsoleState(), []

    def put(self, event) -> None:
        self.events.append(event)
        self.state = update(self.state, event)


async def test_for_lines_that_are_gone_no_others_are_shown():
    async def log_place(run_id: str, path: str) -> LogPlace:
        assert (run_id, path) == (OLD, "/l")
        return LogPlace("", NEW)

    stream, agent = Stream(), SimpleNamespace(log_place=log_place, session=SimpleNamespace(watch=lambda _on: None))
    bridge = Bridge(SimpleNamespace(name="n1", operator="me@here", simulated=False, agent=agent), stream, LogPick())
    servers = (run(OLD, "me@here", log_path="/l"), run(NEW, "me@here", log_path="/l"))
    stream.state = replace(stream.state, servers=replace(stream.state.servers, runs=servers))
    bridge.open_log(LogPick("/l", OLD))
    for _ in range(2):  # as after each reading of the inventory
        bridge._read.set()
        await bridge._log()
    opened, failed = (each for each in stream.events if isinstance(each, (LogOpened, LogFailed)))
    assert (opened.run_id, opened.window.end, failed.run_id) == (OLD, 0, OLD)
    assert f"/l was moved or replaced by server {NEW}" in stream.state.log.problem


def launched(demo: Demo, log: Path) -> Path:
    """What two launches onto one log leave on the node; returns where the older one's lines are."""
    node = demo.make()
    node.journal.close()
    renamed = Path(f"{log}.{NEW}")
    renamed.write_text("of the old one\n")
    log.write_text("of the new one\n")
    for run_id in (OLD, NEW):
        folder = Path(str(node.config.state_dir)) / "runs" / run_id
        folder.mkdir(parents=True, mode=0o700)
        record = run(run_id, node.operator, log_path=str(log)).__dict__
        (folder / "run.json").write_text(json.dumps({"kind": "server", **record}))
        (folder / "exit.json").write_text(json.dumps({"exit_code": 0, "ended_at": 2.0}))
    return renamed


@pytest.mark.slow
async def test_the_log_of_an_older_server_is_its_own(demo, tmp_path: Path):
    log = tmp_path / "server.log"
    renamed = launched(demo, log)
    async with demo.open() as driver:
        await until_followed(driver, NEW, log, "of the new one")
        server = driver.state.servers.runs[0]
        run_keys.show_log(driver.app, server, 0, "the older one")  # as `o` on screen 6 and a step's log do
        await until_followed(driver, OLD, renamed, "of the old one")
        renamed.unlink()
        driver.app.connected.reread()
        await driver.until_shown(f"was moved or replaced by server {NEW}")
        assert "of the new one" not in driver.screen()


@pytest.mark.slow
async def test_a_file_that_is_none_is_no_server_that_starts(demo):
    async with demo.open() as driver:
        await driver.press("2", "o", *"/nope.log", "enter")
        await driver.until_shown("unknown no line of an SGLang server in it")
        assert "starting" not in driver.screen()


async def until_followed(driver: Driver, run_id: str, path: Path, line: str) -> None:
    await driver.until(lambda: (driver.state.log.run_id, driver.state.log.path) == (run_id, str(path)))
    await driver.press("2")
    await driver.until_shown(line)
