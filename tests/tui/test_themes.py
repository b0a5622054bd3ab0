"""Colours: three themes, none with NO_COLOR, and nothing that is told by a colour alone."""

from __future__ import annotations

import re

import pytest
from textual.theme import BUILTIN_THEMES

from console.cli.connect import COMMAND
from console.errors import UsageError
from console.tui.keys import SCREENS
from console.tui.settings import Settings
from console.tui.text import as_line
from console.tui.themes import THEMES, default_theme, next_theme, textual_theme
from console.tui.widgets.table import Table
from tests.tui.events import busy


def test_the_themes_are_those_of_textual_and_of_the_option():
    assert set(THEMES.values()) <= set(BUILTIN_THEMES)
    (option,) = (each for each in COMMAND.params if each.name == "theme")
    assert list(option.type.choices) == list(THEMES)


def test_a_theme_that_is_not_known_is_refused_with_the_nearest():
    with pytest.raises(UsageError) as caught:
        textual_theme("drak")
    assert caught.value.hint == "Nearest: dark."


def test_the_themes_go_round():
    assert [next_theme(THEMES[name]) for name in THEMES] == ["light", "ansi", "dark"]
    assert next_theme("nord") == "dark"


@pytest.mark.parametrize(("environ", "name"), [({}, "dark"), ({"NO_COLOR": ""}, "dark"), ({"NO_COLOR": "1"}, "ansi")])
def test_the_theme_that_nobody_named(environ: dict[str, str], name: str) -> None:
    assert default_theme(environ) == name


@pytest.mark.parametrize("screens", [("launch",), pytest.param(SCREENS, marks=pytest.mark.slow)])
async def test_with_no_color_there_is_none_and_the_cursor_is_seen(
    forced, monkeypatch: pytest.MonkeyPatch, screens: tuple[str, ...]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with forced((80, 24)) as driver:
        await driver.put(*busy())
        for screen in screens:
            driver.app.go_to(screen)
            await driver.pilot.pause()
            strips = driver.app.screen._compositor.render_strips()
            styles = [segment.style for strip in strips for segment in strip if segment.style]
            for style in styles:
                assert style.color is None or style.color.is_default, style
                assert style.bgcolor is None or style.bgcolor.is_default, style
            if screen == "launch":
                assert any(style.reverse for style in styles), "where the cursor is"


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
async def test_every_screen_is_drawn_in_every_theme(forced, theme: str) -> None:
    async with forced((80, 24), Settings(theme=theme)) as driver:
        assert driver.app.theme == THEMES[theme]
        await driver.put(*busy())
        for screen in SCREENS:
            driver.app.go_to(screen)
            await driver.pilot.pause()
        assert "q Quit" in driver.screen()


@pytest.mark.slow
async def test_what_a_cell_says_by_its_colour_a_word_of_its_row_says_too(forced):
    async with forced() as driver:
        await driver.put(*busy())
        judged = 0
        for screen in SCREENS:
            driver.app.go_to(screen)
            await driver.pilot.pause()
            for table in driver.app.screen.query(Table):
                for row in table.rows:
                    tones = {tone for _text, tone in map(as_line, row.cells)} & {"ok", "warn", "error"}
                    for tone in tones:
                        told = [text for text, each in map(as_line, row.cells) if each == tone]
                        assert any(re.search(r"[A-Za-z]{2}", text) for text in told), (table.id, row)
                        judged += 1
        assert judged > 8
