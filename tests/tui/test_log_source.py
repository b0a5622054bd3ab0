"""Which log is followed is picked from what the node tells of, or typed; what is picked too early is done later."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING

import pytest
from textual.app import App

from console.errors import NegativeResult
from console.tui.app import ConsoleApp
from console.tui.log_pick import LogPick
from console.tui.modals.log_source import LogSourceModal
from remote_agent.protocol import LogSource
from tests.tui.driver import Driver
from tests.tui.test_hostile import HOSTILE, PLAIN
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

FOUND = [
    LogSource("run", "/logs/sglang_eagle3_debug.log", "port 8000", 1 << 20, run_id="20261130T014505-c3534b"),
    LogSource("process", "/home/colleague/out.txt", "python -m sglang.launch_server", 5, pid=4242),
    LogSource("process", "/proc/77/fd/1", "sglang::router", pid=77, problem="it writes to a pipe (pipe:[9])"),
    LogSource("docker", "/var/lib/docker/containers/ab/ab-json.log", "sglang-prod", 7),
]


class ModalApp(App[None]):
    """A picker over nothing."""

    CSS_PATH = "../../console/tui/app.tcss"

    def __init__(self, found: list[LogSource] | Exception | None) -> None:
        super().__init__()
        self.found = found
        self.answers: list[object] = []

    async def read(self) -> list[LogSource]:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found or []

    def on_mount(self) -> None:
        self.push_screen(LogSourceModal(None if self.found is None else self.read), self.answers.append)


SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=lambda size: f"{size[0]}x{size[1]}")


@SIZES
async def test_every_kind_of_log_is_shown_with_its_size_and_the_cursors_whole_path(size) -> None:
    async with ModalApp(FOUND).run_test(size=size) as pilot:
        driver = Driver(pilot.app, pilot)
        await driver.until_shown("found: 4")
        shown = driver.screen()
        for told in ("newest server", "server 20261130T014505-c3534b", "1 MiB", "pid 4242", "docker sglang-prod"):
            assert told in shown, told
        await driver.press("down", "down")
        await driver.until_shown("/home/colleague/out.txt")
        assert "python -m sglang.launch_server" in driver.screen()
        await driver.press("down")
        await driver.until_shown("cannot be followed: it writes to a pipe (pipe:[9])")


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("enter",), LogPick()),
        (("down", "enter"), LogPick("/logs/sglang_eagle3_debug.log", "20261130T014505-c3534b")),
        (("down", "down", "enter"), LogPick("/home/colleague/out.txt")),
        (("tab", "G", "enter"), LogPick("/var/lib/docker/containers/ab/ab-json.log")),
        (("down", *"/tmp/x y", "enter"), LogPick("/tmp/x y")),
        (("escape",), None),
    ],
    ids=["newest", "run", "process", "docker", "typed", "left"],
)
async def test_what_is_picked(keys: tuple[str, ...], answer: object) -> None:
    app = ModalApp(FOUND)
    async with app.run_test(size=(80, 24)) as pilot:
        await Driver(app, pilot).until_shown("found: 4")
        await pilot.press(*keys)
        await until(lambda: app.answers == [answer])


async def test_what_cannot_be_followed_is_not_picked():
    app = ModalApp(FOUND)
    async with app.run_test(size=(80, 24)) as pilot:
        await Driver(app, pilot).until_shown("found: 4")
        await pilot.press("down", "down", "down", "enter")
        await pilot.pause()
        assert isinstance(app.screen, LogSourceModal)
        assert app.answers == []


@SIZES
async def test_hostile_names_are_text(size) -> None:
    found = [LogSource("docker", HOSTILE, HOSTILE, 1), LogSource("process", f"{HOSTILE}x", "", pid=1, problem=HOSTILE)]
    async with ModalApp(found).run_test(size=size) as pilot:
        driver = Driver(pilot.app, pilot)
        await driver.until_shown("found: 2")
        await driver.press("down")
        await driver.until_shown(PLAIN[:60])
        await driver.press("down")
        await driver.until_shown("cannot be followed: [bold red]X[/bold red]")
        assert not {"\x1b", "\x07", "\u202e"} & set(driver.screen())


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (None, "not connected: a pick is opened once there is a connection"),
        ([], "no log was found"),
        (NegativeResult("the agent is too old", "Connect again."), "no logs were found: the agent is too old"),
    ],
    ids=["no link", "none", "failed"],
)
async def test_a_path_can_be_typed_whatever_the_node_says(found, told: str) -> None:
    app = ModalApp(found)
    async with app.run_test(size=(80, 24)) as pilot:
        await Driver(app, pilot).until_shown(told)
        await pilot.press(*"/x", "enter")
        await until(lambda: app.answers == [LogPick("/x")])


@pytest.mark.slow
async def test_a_log_that_is_picked_before_there_is_a_link_is_opened_once_there_is_one(
    demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, real = threading.Event(), importlib.import_module

    def held(name: str, package: str | None = None) -> object:
        if name == "console.tui.connected":
            assert gate.wait(30)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", held)
    path = tmp_path / "server.log"
    path.write_text("picked early\n")
    app = ConsoleApp("demo", demo.make, simulated=True)
    try:
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            driver = Driver(app, pilot)
            await driver.press("2", "o")
            await driver.until_shown("not connected")
            await driver.press(*str(path), "enter")
            await driver.until_shown("opened once connected:")
            assert app.connected is None
            gate.set()
            await driver.until(lambda: driver.state.log.path == str(path))
            await driver.until_shown("picked early")
    finally:
        gate.set()


@pytest.mark.slow
async def test_the_log_of_a_run_is_picked_with_its_record(demo):
    from console.state.events import ProfileSelected

    async with demo.open((80, 24)) as driver:
        await driver.put(ProfileSelected("kimi-k2.5-baseline"))
        await driver.confirm("L")
        await driver.until(lambda: driver.state.action.phase == "done")
        await driver.until(lambda: driver.state.servers.newest_own is not None)
        run = driver.state.servers.newest_own
        await driver.press("2", "o", *"/nowhere/x.log", "enter")
        await driver.until(lambda: driver.state.log.path == "/nowhere/x.log")
        await driver.press("o")
        await driver.until_shown("found: 1")
        await driver.press("down", "enter")
        await driver.until(lambda: driver.state.log.run_id == run.run_id)
        assert driver.state.log.record["profile"]["name"] == "kimi-k2.5-baseline"
