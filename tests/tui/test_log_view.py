"""The log view: follows, stays still when held, goes back through the file, and draws only what is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.app import App

from console.logs.choice import Choice
from console.logs.window import LineWindow
from console.tui.widgets.log_view import LogView

if TYPE_CHECKING:
    from textual.pilot import Pilot


class ViewApp(App[None]):
    """A view alone; what it asks for is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[object] = []

    def compose(self):
        yield LogView("log")

    def on_log_view_wants(self, message: LogView.Wants) -> None:
        self.wanted.append(message.where)


LINE = 19


def text(start: int, end: int) -> bytes:
    return b"".join(b"[TP0] line %07d\n" % number for number in range(start, end))


def told(window: LineWindow, start: int, end: int) -> None:
    for first in range(start, end, 1000):
        window.append(first * LINE, text(first, min(first + 1000, end)))


def shown_in(view: LogView) -> list[str]:
    """The rows on the screen, without gutter and scrollbar."""
    view._shown = view.port.shown()
    return [view.render_line(y).text[1:-1].rstrip() for y in range(view.size.height)]


def last_seen(view: LogView) -> str:
    return shown_in(view)[-1]


async def shown(pilot: Pilot[None], window: LineWindow) -> LogView:
    view = pilot.app.query_one(LogView)
    view.show(window)
    view.focus()
    await pilot.pause()
    return view


async def test_it_follows_the_newest_line():
    window = LineWindow()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(window, 0, 100)
        view = await shown(pilot, window)
        assert last_seen(view) == "[TP0] line 0000099"
        told(window, 100, 150)
        await shown(pilot, window)
        assert last_seen(view) == "[TP0] line 0000149"


async def test_moving_up_holds_it_still_and_counts_what_comes():
    window = LineWindow(bytes_limit=500_000)
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(window, 0, 100)
        view = await shown(pilot, window)
        await pilot.press("k")
        before = shown_in(view)
        assert view.port.cursor == 98
        told(window, 100, 60_000)
        await shown(pilot, window)
        assert window.first_row > 100
        assert shown_in(view) == before, "also when the window has dropped those lines"
        assert view.unseen == 59_900
        await pilot.press("G")
        assert last_seen(view) == "[TP0] line 0059999"
        assert view.unseen == 0


async def test_the_cursor_takes_the_view_along_only_at_its_edges():
    window = LineWindow()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(window, 0, 100)
        view = await shown(pilot, window)
        await pilot.press(*["k"] * 9)
        assert shown_in(view)[0] == "[TP0] line 0000090"
        await pilot.press("k")
        assert shown_in(view)[0] == "[TP0] line 0000089"
        await pilot.press("j")
        assert shown_in(view)[0] == "[TP0] line 0000089"


async def test_going_down_past_the_end_follows_again():
    window = LineWindow()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(window, 0, 100)
        view = await shown(pilot, window)
        await pilot.press("pageup", "pagedown")
        assert not view.is_following, "its end was not reached before"
        told(window, 100, 110)
        await shown(pilot, window)
        await pilot.press("j")
        assert not view.is_following, "there is more than was held"
        assert view.unseen == 0
        await pilot.press("pagedown", "pagedown")
        await pilot.press("j")
        assert view.is_following


async def test_the_top_of_a_file_that_is_not_here_is_asked_for_and_earlier_parts_join_as_one_scrolls():
    window = LineWindow()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(window, 500, 600)
        view = await shown(pilot, window)
        await pilot.press("g")
        assert pilot.app.wanted == [0]
        assert shown_in(view)[0] == "[TP0] line 0000500"
        await pilot.press("k")
        assert pilot.app.wanted == [0, "before"]
        before = shown_in(view)
        view.port.joined("before", 400 * LINE, text(400, 500))
        assert shown_in(view) == before, "nothing moves"
        await pilot.press("k")
        assert shown_in(view)[0] == "[TP0] line 0000499"


async def test_another_part_of_the_file_is_gone_through_and_joins_the_end_again():
    window = LineWindow()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(window, 500, 600)
        view = await shown(pilot, window)
        view.go_to(100 * LINE)
        await pilot.pause()
        assert pilot.app.wanted == [100 * LINE]
        part = LineWindow()
        told(part, 50, 500)
        view.port.open_elsewhere(part, 100 * LINE)
        assert view.port.current.text == "[TP0] line 0000100"
        view.go_to(499 * LINE)
        await pilot.press("j")
        await pilot.pause()
        assert pilot.app.wanted[-1] == "after"
        view.port.joined("after", 500 * LINE, text(500, 520))
        await pilot.press("j")
        assert view.port.current.text == "[TP0] line 0000500"
        await pilot.press(*["pagedown"] * 4)
        assert view.port.current.text > "[TP0] line 0000520"


async def test_another_log_begins_anew():
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        window = LineWindow()
        told(window, 0, 100)
        view = await shown(pilot, window)
        await pilot.press("k")
        other = LineWindow()
        other.append(0, b"another log\n")
        await shown(pilot, other)
        assert view.row_count == 1
        assert view.is_following
        view.show(None)
        assert view.row_count == 0
        assert view.port.current is None
        await pilot.press("k", "j", "g", "G", "pageup", "pagedown", "enter")


async def test_only_visible_rows_are_drawn(monkeypatch):
    drawn: list[int] = []
    original = LogView._row
    monkeypatch.setattr(LogView, "_row", lambda self, y, frame: (drawn.append(y), original(self, y, frame))[1])
    window = LineWindow()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(window, 0, 50_000)
        drawn.clear()
        await shown(pilot, window)
        assert 10 <= len(drawn) <= 30


async def test_long_lines_are_wrapped_on_wish_and_the_last_is_seen_whole():
    window = LineWindow()
    async with ViewApp().run_test(size=(22, 6)) as pilot:
        window.append(0, b"a" * 50 + b"\n" + b"b" * 30 + b"\n")
        view = await shown(pilot, window)
        assert shown_in(view)[:2] == ["a" * 19 + "›", "b" * 19 + "›"]
        view.toggle_wrap()
        assert shown_in(view)[:5] == ["a" * 20, "a" * 20, "a" * 10, "b" * 20, "b" * 10]
        window.append(82, b"c" * 100 + b"\n")
        await shown(pilot, window)
        assert shown_in(view) == ["b" * 10, *["c" * 20] * 5]
        await pilot.press("k", "k")
        assert view.port.current.raw == b"a" * 50
        assert shown_in(view)[0] == "a" * 20


async def test_columns_are_gone_through_sideways():
    window = LineWindow()
    async with ViewApp().run_test(size=(22, 6)) as pilot:
        window.append(0, bytes(range(97, 123)) * 4 + b"\n")
        view = await shown(pilot, window)
        await pilot.press("right")
        assert shown_in(view)[0] == "‹jklmnopqrstuvwxyza›"
        await pilot.press("left", "left")
        assert shown_in(view)[0] == "abcdefghijklmnopqrs›"


@pytest.mark.parametrize("choice", [Choice("00000"), Choice("", frozenset({0}))])
async def test_a_choice_that_is_taken_back_keeps_the_line_of_the_cursor(choice: Choice) -> None:
    window = LineWindow()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(window, 0, 100)
        view = await shown(pilot, window)
        view.choose(choice)
        await pilot.press("pageup")
        line = view.port.current
        view.choose(Choice())
        assert view.port.current == line
        assert not view.is_following
