"""The user's keymap: what it may say, what is wrong with it and where, and that the whole console shows its keys."""

from __future__ import annotations

import itertools
import json
import string
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.keys import _character_to_key

from console import paths
from console.cli import main
from console.errors import UsageError
from console.tui.key_names import label, name_of, of_character
from console.tui.keymap import load
from console.tui.keys import KEYS, KeyTable
from console.tui.settings import Settings, read_settings
from tests.examples import examples
from tests.tui.events import busy

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.driver import Driver


def loaded(tmp_path: Path, text: str) -> tuple[KeyTable, list[str]]:
    path = tmp_path / "keys.yaml"
    path.write_text(text)
    table, problems = load(path, KeyTable())
    return table, [str(each).replace(f"{path}:", "") for each in problems]


@pytest.mark.parametrize("character", string.ascii_letters + string.digits + string.punctuation + "é")
def test_a_character_has_the_name_that_textual_gives_it(character: str) -> None:
    assert of_character(character) == _character_to_key(character)
    assert name_of(character) == of_character(character)
    assert label(of_character(character)) == character


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("esc", "escape"),
        ("F5", "f5"),
        ("^p", "ctrl+p"),
        ("Ctrl+P", "ctrl+p"),
        ("ctrl+i", "tab"),
        ("ctrl+[", "escape"),
        ("Shift+Tab", "shift+tab"),
        (" ", "space"),
        ("space", "space"),
        ("alt+f", "alt+f"),
        ("hyper", ""),
        ("ctrl+", ""),
        ("ctrl++", ""),
        ("", ""),
        ("f99", ""),
        ("\x1b", ""),
        ("ignore", ""),
    ],
)
def test_a_key_as_it_is_written(written: str, name: str) -> None:
    assert name_of(written) == name


@given(st.text(max_size=12))
@settings(max_examples=examples(60), deadline=None)
def test_whatever_is_written_is_a_key_or_is_not(written: str) -> None:
    name = name_of(written)
    assert name == "" or label(name)


def test_one_key_or_several_or_none(tmp_path: Path) -> None:
    table, problems = loaded(tmp_path, "reread: [f5, r]\nscreen.logs: l\nlog.copy: []\nlaunch: K\nquit: 9\n")
    assert problems == []
    assert table["reread"].keys == ("f5", "r")
    assert table["screen.logs"].label == "l"
    assert table["log.copy"].keys == ()
    assert table["log.copy"].label == ":log.copy"
    assert table["launch"].key == "K"
    assert table["quit"].key == "9"
    assert table["help"] == KeyTable()["help"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("help: f1\nraread: f5\n", "2:1: no action is called 'raread' (nearest: reread)"),
        ("reread: [f5, pagedwn]\n", "1:14: reread: 'pagedwn' is not a key that a terminal sends (nearest: pagedown)"),
        ("reread: yes\n", "1:1: reread: True is not a key: put it in quotes, as it is typed"),
        (
            "reread: ~\n",
            "1:1: reread: no key; one that YAML reads as nothing stands in quotes ('~', '#'), and [] is no key at all",
        ),
        ("reread: q\n", "1:1: q is reread and quit on screen node"),
        ("log.copy: m\n", "1:1: m is log.copy and log.bookmark on screen logs"),
        ("reread: j\n", "1:1: j moves in tables and logs: reread would never have it"),
        ("reread: Y\n", "1:1: reread changes nothing: Y is a capital, and those change the node"),
        ("launch: f6\n", "1:1: launch changes the node: only a capital letter may do that, not f6"),
        ("launch: []\n", "1:1: launch needs a key: it is what confirms the plan"),
        (
            "reread: ctrl+s\n",
            "1:1: reread would not have ^s: the terminal stops its output by it (XOFF): nothing would be drawn",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_nothing_of_the_map_is_used(
    tmp_path: Path, text: str, told: str
) -> None:
    table, problems = loaded(tmp_path, f"{text}theme: f10\n")
    assert problems == [told]
    assert table["theme"].keys == ()


def test_a_swap_is_no_conflict(tmp_path: Path) -> None:
    table, problems = loaded(tmp_path, "log.error: w\nlog.warning: e\n")
    assert problems == []
    assert (table["log.error"].key, table["log.warning"].key) == ("w", "e")


def test_a_prefix_of_a_multiplexer_is_told_and_taken_all_the_same(tmp_path: Path) -> None:
    table, problems = loaded(tmp_path, "reread: ctrl+b\npane: ctrl+a\n")
    assert problems == [
        "1:1: reread has ^b: tmux takes it as its prefix: it arrives only when pressed twice",
        "2:1: pane has ^a: screen takes it as its prefix: it arrives only when pressed twice",
    ]
    assert table["reread"].key == "ctrl+b"


@pytest.mark.parametrize("text", ["- a\n- b\n", "just text\n", "a: [\n", "a: *b\n", "reread: @\n"])
def test_what_is_no_keymap_cannot_be_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"keys\.yaml:\d"):
        loaded(tmp_path, text)


# The verb


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "keys.yaml"


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, words)
    return result.exit_code, result.stdout


def test_the_verb_lists_every_action_with_the_users_key(home: Path) -> None:
    home.write_text("reread: [f5, r]\n")
    code, told = run("keys", "list")
    assert code == 0
    assert {line.split()[0] for line in told.splitlines()} == {key.id for key in KEYS}
    assert any(line.split()[:4] == ["reread", "f5", "r", "Re-read"] for line in told.splitlines())
    code, told = run("keys", "list", "--json")
    actions = {each["id"]: each for each in json.loads(told)["actions"]}
    assert actions["reread"]["keys"] == ["f5", "r"]
    assert actions["revert"] == {
        "id": "revert",
        "keys": ["X"],
        "title": "Revert patches",
        "group": "change",
        "screens": ["patches"],
    }


def test_the_verb_checks_the_keymap_and_its_exit_code_says_how_it_stands(home: Path) -> None:
    assert run("keys", "check") == (0, f"{home}: not there: the keys are as they come\n")
    home.write_text("reread: f5\n")
    assert run("keys", "check") == (0, f"{home}: in order\n")
    home.write_text("reread: ctrl+b\nhelp: q\n")
    code, told = run("keys", "check", "--json")
    assert code == 1
    answer = json.loads(told)
    assert answer["schema"] == "spec-console/keys/1"
    assert [(each["severity"], each["where"]) for each in answer["problems"]] == [
        ("warn", f"{home}:1:1"),
        ("error", f"{home}:2:1"),
    ]
    home.write_text("reread: [\n")
    assert run("keys", "check")[0] == 2


# The console


async def test_the_users_keys_work_and_are_shown_everywhere(forced, tmp_path: Path) -> None:
    table, problems = loaded(tmp_path, "free: K\nhelp: f1\nscreen.logs: f2\nprobe: V\npalette: f9\n")
    assert problems == []
    async with forced(settings=Settings(table)) as driver:
        await driver.put(*busy())
        assert {"K Free", "V Benchmark", "f1 Keys", "f2 Logs", "f9 Palette"} <= set(_pairs(driver.screen()))
        await driver.press("F", "question_mark", "2")
        await driver.pilot.pause()
        assert driver.app.current_mode == "node", "the old keys mean nothing any more"
        await driver.press("f2")
        await driver.until(lambda: driver.app.current_mode == "logs")
        await driver.press("f1")
        await driver.until_shown("  K     Free GPUs")
        await driver.press("escape", "f9")
        await driver.until_shown("Free GPUs  K  :free")


def test_what_is_wrong_with_a_keymap_is_said_when_the_console_opens(home: Path) -> None:
    home.write_text("quit: f10\nraread: f5\n")
    found = read_settings(paths.locate())
    assert [told.replace(f"{home}:", "") for told in found.complaints] == [
        "2:1: no action is called 'raread' (nearest: reread)",
        "the keys stay as they come; `spec-console keys check` says all",
    ]
    assert found.table["quit"].key == "q"
    home.write_text("quit: [\n")
    assert "keys.yaml:2:1: not valid YAML" in read_settings(paths.locate()).complaints[0]
    home.unlink()
    assert read_settings(paths.locate(), readonly=True).complaints == ()


@pytest.mark.slow
async def test_a_broken_keymap_is_said_and_the_keys_stay_as_they_come(forced, home: Path) -> None:
    home.write_text("quit: f10\nraread: f5\n")
    async with forced(settings=read_settings(paths.locate())) as driver:
        await driver.until_shown("raread")
        assert "no action is called 'raread'" in _toasts(driver)
        assert "the keys stay as they come" in _toasts(driver)
        assert "q Quit" in driver.screen()
        assert driver.app.table["quit"].key == "q"


@pytest.mark.slow
async def test_a_keymap_that_is_no_yaml_does_not_keep_the_console_from_opening(forced, home: Path) -> None:
    home.write_text("quit: [\n")
    async with forced(settings=read_settings(paths.locate())) as driver:
        await driver.until_shown("YAML")
        assert "keys.yaml:2:1: not valid YAML" in _toasts(driver)
        assert "q Quit" in driver.screen()


def _toasts(driver: Driver) -> str:
    """Their whole text: where a line is broken goes by the length of a path."""
    return "\n".join(each.message for each in driver.app._notifications)


def _pairs(shown: str) -> list[str]:
    words = shown.split()
    return [f"{a} {b}" for a, b in itertools.pairwise(words)]
