"""What is left out of a frame is what nobody sees: every cell that is written is the one Textual itself would write."""

from __future__ import annotations

import pytest
from textual._compositor import Compositor
from textual.geometry import Region

from console.tui.painting import FrontCompositor
from console.tui.widgets.log_view import LogView
from tests.tui.events import Log, busy, sample


def cells(update):
    """What an update writes: by row and column the character and its style."""
    found = {}
    for y, first, behind in update.spans:
        for x, strip in update.chops[y].items():
            at = x
            for text, style, _control in strip or ():
                for character in text:
                    if first <= at < behind:
                        found[y, at] = (character, style)
                    at += 1
    return found


WIDE, NARROW = (160, 50), (80, 24)


@pytest.mark.parametrize(("screen", "size"), [("2", WIDE), ("5", WIDE), ("1", NARROW)])
async def test_a_partial_frame_is_cell_for_cell_the_one_of_textual(forced, screen, size):
    async with forced(size) as driver:
        await driver.put(*busy(Log(sample("a line\n" * 100))))
        await driver.press(screen)
        await driver.pilot.pause()
        ours = driver.app.screen._compositor
        assert isinstance(ours, FrontCompositor)
        shown = {each: region for each, (region, _clip) in ours.visible_widgets.items()}
        widgets = [shown[each] for each in driver.app.screen.query("Table, LogView, #header") if each in shown]
        across = Region(3, 1, size[0] - 10, size[1] - 6)
        for changed in ([widgets[0]], [widgets[-1]], widgets, [across], [across, *widgets], [Region(7, 5, 1, 3)]):
            inside = {each.intersection(ours.size.region) for each in changed}
            ours._dirty_regions = set(inside)
            written = cells(ours.render_partial_update())
            ours._dirty_regions = set(inside)
            assert written == cells(Compositor.render_partial_update(ours))
            assert len(written) == len({(y, x) for each in inside for y in each.line_range for x in each.column_range})


async def test_the_containers_of_the_log_are_not_rendered_when_it_grows(forced, monkeypatch):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.press("2")
        await driver.pilot.pause()
        view = driver.app.screen.query_one(LogView)
        ours = driver.app.screen._compositor
        ours._dirty_regions = {ours.visible_widgets[view][0]}
        rendered = []
        for widget in ours.visible_widgets:
            monkeypatch.setattr(widget, "render_lines", lambda crop, widget=widget: rendered.append(widget) or [])
        ours.render_partial_update()
        assert rendered == [view]
