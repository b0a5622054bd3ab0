"""The first frame: nothing on the way to it is done twice, and what is put off till then begins with it."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from textual.app import App
from textual.css import stylesheet
from textual.widget import Widget

from console.tui import garbage
from console.tui.painting import FrontCompositor
from console.tui.screen import ConsoleScreen
from console.tui.settings import Settings
from tests.tui.events import busy


async def test_the_sheet_is_read_once(forced, monkeypatch):
    read, parse = [], stylesheet.parse

    def noted(scope, css, read_from, **how):
        read.append(Path(read_from[0]).name)
        return parse(scope, css, read_from, **how)

    monkeypatch.setattr(stylesheet, "parse", noted)
    async with forced():
        assert read.count("app.tcss") == 1


@pytest.mark.parametrize(("width", "fitting"), [(160, "-wide"), (80, "-narrow")])
async def test_a_screen_is_made_for_the_width_that_there_is(forced, monkeypatch, width, fitting):
    restyled, update = [], App.update_styles

    def noted(app, node, animate=True):
        restyled.append(node)
        update(app, node, animate=animate)

    monkeypatch.setattr(App, "update_styles", noted)
    async with forced((width, 50)) as driver:
        await driver.press("6")
        assert driver.app.screen.has_class(fitting)
        assert not [each for each in restyled if isinstance(each, ConsoleScreen)]


async def test_the_theme_that_is_asked_for_is_there_from_the_first_frame(forced):
    looks = {}
    for theme in ("dark", "light"):
        async with forced(settings=Settings(theme=theme)) as driver:
            looks[theme] = driver.app.screen.styles.background
    assert looks["dark"].brightness < 0.5 < looks["light"].brightness


async def test_what_is_put_off_while_much_changes_is_drawn_afterwards(forced, monkeypatch):
    drawn, render = [], FrontCompositor.render_update

    def noted(compositor, **how):
        drawn.append(driver.app._batch_count)
        return render(compositor, **how)

    async with forced() as driver:
        monkeypatch.setattr(FrontCompositor, "render_update", noted)
        with driver.app.batch_update():
            await driver.put(*busy())
            driver.app.screen._refresh_layout()
            await driver.pilot.pause()
            assert not drawn
        await driver.pilot.pause()
        assert drawn
        assert not any(drawn)
        assert not driver.app.screen._compositor._dirty_regions


async def test_garbage_is_looked_for_from_the_first_frame_on(forced, monkeypatch):
    was, rendered, render = gc.get_threshold(), [], Widget.render_lines

    def noted(widget, crop):
        rendered.append(gc.isenabled())
        return render(widget, crop)

    monkeypatch.setattr(Widget, "render_lines", noted)
    garbage.put_off()
    try:
        async with forced() as driver:
            await driver.until(gc.isenabled)
            assert gc.get_threshold() == garbage.EARLY
            assert gc.get_freeze_count()
        assert rendered
        assert not rendered[0]
    finally:
        gc.enable()
        gc.unfreeze()
        gc.set_threshold(*was)
