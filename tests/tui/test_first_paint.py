"""The console is there before the node is, and says how it stands."""

from __future__ import annotations

from console.errors import Unreachable


async def test_it_paints_before_it_is_connected(unreached):
    async with unreached() as driver:
        shown = driver.screen()
        assert "gpu-node-1" in shown
        assert "connecting" in shown
        assert "[1 Node]" in shown
        assert "not read yet" in shown


async def test_what_changes_the_node_says_why_it_cannot_yet(unreached):
    async with unreached() as driver:
        await driver.press("F")
        await driver.until_shown("not connected: connecting")
        assert driver.state.action.phase == "idle"


async def test_a_refused_connection_is_told_with_its_hint_and_tried_again(unreached, session):
    session.error = Unreachable("gpu-node-1 refused us", "Try `ssh gpu-node-1`.", "Permission denied (publickey).")
    async with unreached() as driver:
        session.gate.set()
        await driver.until_shown("Not connected")
        shown = driver.screen()
        assert "gpu-node-1 refused us" in shown
        assert "Try `ssh gpu-node-1`. r tries again." in shown
        assert "| Permission denied (publickey)." in shown
        assert driver.app.failure is session.error
        await driver.press("enter")
        assert "disconnected (gpu-node-1 refused us)" in driver.screen()
        await driver.press("r")
        await driver.until(lambda: session.opened == 2)


async def test_a_mistyped_node_is_answered_with_the_one_that_is_known(unreached, session, tmp_path, monkeypatch):
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "nodes.yaml").write_text("gpu-node-7: {}\n")
    session.error = Unreachable("gpu-node-1 cannot be reached", "Try `ssh gpu-node-1`.")
    async with unreached() as driver:
        session.gate.set()
        await driver.until_shown("Try `ssh gpu-node-1`. Did you mean gpu-node-7? r tries again.")


async def test_a_node_that_cannot_be_made_is_told(tmp_path):
    from console.errors import UsageError
    from console.tui.app import ConsoleApp
    from tests.tui.driver import Driver

    def make():
        raise UsageError("nodes.yaml:3: unknown key transprt", "Nearest: transport.")

    app = ConsoleApp("gpu-node-1", make)
    async with app.run_test() as pilot:
        driver = Driver(app, pilot)
        await driver.until_shown("unknown key transprt")
        assert app.failure
        assert app.failure.exit_code == 2
