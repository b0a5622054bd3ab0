"""Profiles edited from the Launch screen: the form with what each field means, and the user's own editor."""

from __future__ import annotations

import contextlib
import signal
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from console import paths
from console.state.events import ProfilesListed, RunbookMoved
from console.state.model import ProfileView, Step
from console.tui import profile_edit
from console.tui.modals.draft import DraftModal
from console.tui.modals.fields import FieldsModal
from tests.bench.terminal import Terminal
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.tui.driver import Driver

DEBUG = "kimi-k2.5-eagle3-debug"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


async def launch_screen(driver: Driver) -> None:
    await driver.put(ProfilesListed((ProfileView(DEBUG, "x.yaml"),), DEBUG))
    await driver.press("3")


async def test_the_form_says_what_a_field_means_and_writes_what_is_typed(
    forced: Callable[..., Any], home: Path
) -> None:
    copy = home / "config" / "profiles" / f"{DEBUG}.yaml"
    async with forced((80, 24)) as driver:
        await launch_screen(driver)
        await driver.press("f")
        await driver.until(lambda: isinstance(driver.app.screen, FieldsModal))
        await driver.press("down")
        await driver.until_shown("Tensor parallel")
        assert "takes a whole number; --tp-size: SGLang 0.4.6.post1 to 0.5.23" in driver.screen()
        await driver.press("x", "enter")
        await driver.until_shown("tp_size: wants a whole number")
        assert not copy.exists()
        await driver.press("backspace", "4", "enter")
        await driver.until_shown("written: ")
        assert copy.read_text().endswith("tp_size: 4\n")
        assert copy.read_text().startswith((paths.shipped_profiles() / copy.name).read_text())
        await driver.press("escape")
        await driver.until(lambda: not isinstance(driver.app.screen, FieldsModal))


async def test_without_a_terminal_of_its_own_the_verb_is_named(forced: Callable[..., Any], monkeypatch: Any) -> None:
    monkeypatch.setenv("EDITOR", sys.executable)
    async with forced() as driver:
        await launch_screen(driver)
        await driver.press("e")
        await driver.until_shown(f"spec-console profiles edit {DEBUG}")


async def test_an_invalid_draft_is_edited_again_kept_or_discarded(
    forced: Callable[..., Any], home: Path, monkeypatch: Any
) -> None:
    texts = iter(["tp_sizes: 1\n", "extends: kimi-k2.5-eagle3\nport: 7\n", "port: x\n", "port: y\n"])

    async def edited(_app: Any, _words: Any, path: Path) -> bool:
        path.write_text(next(texts))
        return True

    monkeypatch.setattr(profile_edit, "_in_editor", edited)
    copy, draft = home / "config" / "profiles" / f"{DEBUG}.yaml", home / "state" / "drafts" / f"{DEBUG}.yaml"
    async with forced() as driver:
        await launch_screen(driver)
        await driver.press("e")
        await driver.until_shown("line 1:1: unknown key 'tp_sizes' (nearest: tp_size)")
        await driver.press("e")
        await until(copy.exists)
        assert copy.read_text().endswith("port: 7\n")
        for key, is_kept in (("enter", True), ("D", False)):
            await driver.press("e")
            await driver.until(lambda: isinstance(driver.app.screen, DraftModal))
            await driver.press(key)
            await driver.until(lambda: not isinstance(driver.app.screen, DraftModal))
            assert draft.exists() == is_kept
        assert copy.read_text().endswith("port: 7\n")


async def test_an_interrupt_right_before_or_behind_the_editor_does_not_end_the_console(monkeypatch: Any) -> None:
    """The terminal is not raw then: Ctrl-C is a signal, for the console too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextlib.contextmanager
    def suspended() -> Iterator[None]:
        signal.raise_signal(signal.SIGINT)
        yield
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(profile_edit, "edit", lambda _words, _path: True)
    app: Any = SimpleNamespace(batch_update=contextlib.nullcontext, suspend=suspended)
    try:
        assert await profile_edit._in_editor(app, ("vi",), paths.locate().config) is True
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


async def test_ctrl_c_keeps_an_invalid_draft_as_escape_does(
    forced: Callable[..., Any], home: Path, monkeypatch: Any
) -> None:
    async def edited(_app: Any, _words: Any, path: Path) -> bool:
        path.write_text("port: x\n")
        return True

    monkeypatch.setattr(profile_edit, "_in_editor", edited)
    async with forced() as driver:
        await launch_screen(driver)
        await driver.press("e")
        await driver.until(lambda: isinstance(driver.app.screen, DraftModal))
        await driver.press("ctrl+c")
        await driver.until_shown("kept as a draft")
        assert driver.app.is_running
        assert (home / "state" / "drafts" / f"{DEBUG}.yaml").exists()


async def test_a_step_leads_to_what_it_did(forced: Callable[..., Any]) -> None:
    steps = (Step("free", "x", "done"), Step("probe-2", "x", "running"))
    async with forced() as driver:
        await driver.put(RunbookMoved(DEBUG, steps))
        await driver.press("o")
        await driver.until(lambda: driver.app.current_mode == "probe")


@pytest.mark.slow
def test_the_editor_gets_the_terminal_and_the_console_comes_back(home: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\npath = pathlib.Path(sys.argv[1])\nprint('IN THE EDITOR', sys.stdin.isatty())\n"
        "path.write_text(path.read_text() + f'port: {input()}\\n')\n"
    )
    command = [sys.executable, "-c", "from console.cli import main; main()", "demo"]
    terminal = Terminal(command, EDITOR=f"{sys.executable} {editor}", VISUAL="", SPEC_CONSOLE_HOME=str(home))
    try:
        terminal.until("8/8 free")
        terminal.type("3")
        terminal.until("baseline differs")
        terminal.type("e")
        assert terminal.until_printed(b"IN THE EDITOR True", 30)
        terminal.type("8123\n")
        terminal.until("baseline differs")
        terminal.until("saved ")
    finally:
        terminal.close()
    assert (home / "config" / "profiles" / f"{DEBUG}.yaml").read_text().endswith("port: 8123\n")
