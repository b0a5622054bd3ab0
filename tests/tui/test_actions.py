"""Each capital on a real embedded node: planned, shown, declined, confirmed, measured."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from console.state.events import ProfileSelected
from console.tui.modals.plan import PlanModal
from tests.tui.test_command_line import entered

if TYPE_CHECKING:
    from pathlib import Path


def tree(home: Path) -> str:
    """One hash over the stand-in's sources."""
    files = sorted((home / "data/demo/site/sglang").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


async def test_the_plan_is_shown_and_neither_enter_nor_escape_changes_anything(demo):
    async with demo.open() as driver:
        before = tree(demo.home)
        for key, told, answer in (
            ("F", "nothing of ours to end", "F is refused: "),
            ("P", "appliable srt/models/llama_eagle3.py", "P again: do it"),
            ("L", "--speculative-algorithm EAGLE3", "L is refused: "),  # its patch is not applied
            ("R", "waiting compare: against kimi-k2.5-baseline", "R again: do it"),
        ):
            await driver.ask(key)
            shown = driver.screen()
            assert told in shown
            assert answer in shown
            assert "Leave it (Enter)" in shown
            await driver.press("escape" if key == "R" else "enter")
            await driver.until(lambda: driver.state.action.phase == "idle")
        await driver.press("S", "B")
        await driver.until_shown("no server is running")
        assert driver.state.action.phase == "idle"
        assert tree(demo.home) == before
        assert await driver.node.running() == []


@pytest.mark.slow
async def test_what_others_hold_is_ended_by_its_pid_on_the_command_line(demo):
    colleague = subprocess.Popen(["sleep", "600"])
    try:
        async with demo.open() as driver:
            told = {"pid": colleague.pid, "gpu": 3, "memory": 41000}
            (demo.home / "data/demo/colleague.json").write_text(json.dumps(told))
            await driver.press("r")
            await driver.until(lambda: bool(driver.state.gpus.holders))
            await driver.ask("F")
            assert "F is refused: nothing of ours to end (`:free --pid N` ends what others hold" in driver.screen()
            await driver.press("escape")
            await entered(driver, f"free --pid {colleague.pid}")
            await driver.until(lambda: isinstance(driver.app.screen, PlanModal) and driver.app.screen.is_armed)
            assert f"end pid {colleague.pid} sleep 600" in driver.screen()
            await driver.press("F")
            await driver.until(lambda: driver.state.action.phase == "done")
            assert driver.state.action.outcome == "8/8 GPUs free"
        assert colleague.wait(5) == -signal.SIGTERM
    finally:
        colleague.kill()
        colleague.wait()


@pytest.mark.slow
async def test_patches_are_laid_over_the_tree_and_taken_back_by_their_keys(demo):
    async with demo.open() as driver:
        before = tree(demo.home)
        await driver.press("4")
        await driver.until_shown("nothing applied by this account")
        await driver.until_shown("+++ b/sglang/srt/_spec_console_eagle3.py")
        await driver.confirm("P")
        await driver.until(lambda: driver.state.action.phase == "done")
        assert driver.state.action.outcome == "4 files overlaid, 4 compiled"
        assert tree(demo.home) == before
        await driver.until_shown("serves these patches at the next launch; the tree is as it was")
        assert [file.state for file in driver.state.patches.files] == ["overlaid"] * 4
        assert "PATCHED" not in driver.screen()
        await driver.confirm("X")
        await driver.until(lambda: driver.state.action.phase == "done")
        await driver.until_shown("nothing applied by this account")


@pytest.mark.slow
async def test_patches_go_into_the_tree_by_another_key_and_every_screen_says_that_it_is_dirty(demo):
    async with demo.open() as driver:
        before = tree(demo.home)
        await driver.press("4")
        await driver.until_shown("nothing applied by this account")
        await driver.confirm("I")
        await driver.until(lambda: driver.state.action.phase == "done")
        assert driver.state.action.outcome == "4 files applied, 4 compiled"
        assert tree(demo.home) != before
        await driver.until_shown("applied in place: eagle3-shapes by")
        assert [file.state for file in driver.state.patches.files] == ["applied"] * 4
        for number in "123564":
            await driver.press(number)
            await driver.until_shown("PATCHED eagle3-shapes")
        await driver.confirm("X")
        await driver.until(lambda: driver.state.action.phase == "done")
        assert tree(demo.home) == before
        await driver.until_shown("nothing applied by this account")


async def test_a_refused_plan_says_so_and_cannot_be_confirmed(demo):
    async with demo.open() as driver:
        logs = demo.home / "data/demo/logs"
        logs.rename(logs.with_name("elsewhere"))
        logs.write_text("a file where the folder of logs should be")
        await driver.put(ProfileSelected("kimi-k2.5-eagle3"))
        await driver.ask("L")
        shown = driver.screen()
        assert "L is refused:" in shown
        assert "[log-directory]" in shown
        await driver.press("L")
        assert isinstance(driver.app.screen, PlanModal)
        await driver.press("enter")
        await driver.until(lambda: driver.state.action.phase == "idle")
        assert await driver.node.running() == []


@pytest.mark.slow
async def test_a_running_launch_is_cancelled_and_its_server_stays(demo, monkeypatch):
    monkeypatch.setenv("SPEC_CONSOLE_DEMO_LOAD_S", "20")
    async with demo.open() as driver:
        await driver.put(ProfileSelected("kimi-k2.5-eagle3"))
        await driver.confirm("L")
        await driver.until(lambda: bool(driver.state.servers.running))
        await driver.press("escape")
        await driver.until_shown("C: cancel it.")
        await driver.press("enter")
        assert driver.state.action.phase == "running"
        await driver.ask("ctrl+c")
        await driver.press("C")
        await driver.until(lambda: driver.state.action.phase == "cancelled")
        assert len(await driver.node.running()) == 1
        await driver.press("1")
        await driver.until_shown("Launch: cancelled")


async def test_a_server_that_dies_is_told_with_its_last_lines(demo, monkeypatch):
    async with demo.open() as driver:
        model = demo.home / "data/demo/models/kimi-k2.5-int4/config.json"
        await driver.put(ProfileSelected("kimi-k2.5-eagle3"))
        await driver.ask("L")
        model.write_text("{ not json")
        await driver.press("L")
        await driver.until_shown("Launch failed")
        shown = driver.screen()
        assert "died before it was ready (exit code" in shown
        assert "| " in shown
        await driver.press("enter")
        assert driver.state.action.phase == "failed"


@pytest.mark.slow
async def test_quitting_says_which_server_goes_on(demo):
    async with demo.open() as driver:
        await driver.put(ProfileSelected("kimi-k2.5-eagle3"))
        await driver.confirm("L")
        await driver.until(lambda: driver.state.action.phase == "done")
        await driver.until(lambda: bool(driver.state.servers.running))
        said: list[object] = []
        driver.app.exit = lambda *_args, message=None, **_kwargs: said.append(str(message))  # type: ignore[method-assign]
        await driver.press("q")
        await driver.until(lambda: bool(said))
        assert f"goes on, port {demo.port}" in str(said[0])
        assert "spec-console stop demo" in str(said[0])
