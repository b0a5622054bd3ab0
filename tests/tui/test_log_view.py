"""The log view: follows, stays still when held, filters what is kept, and draws only what is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.app import App

from console.logs.history import LogHistory
from console.tui.widgets.log_view import LogView

if TYPE_CHECKING:
    from textual.pilot import Pilot


class ViewApp(App[None]):
    def compose(self):
        yield LogView("log")


def told(history: LogHistory, start: int, end: int) -> None:
    data = b"".join(b"[TP0] line %06d\n" % number for number in range(start, end))
    history.feed(told.offset, data)
    told.offset += len(data)


@pytest.fixture(autouse=True)
def _from_the_beginning() -> None:
    told.offset = 0


def first_seen(view: LogView) -> str:
    return view.render_line(0).text.strip()


def last_seen(view: LogView) -> str:
    return view.render_line(view.size.height - 1).text.strip()


async def shown(pilot: Pilot[None], history: LogHistory) -> LogView:
    view = pilot.app.query_one(LogView)
    view.show(history)
    await pilot.pause()
    return view


async def test_it_follows_the_newest_line():
    history = LogHistory()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(history, 0, 100)
        view = await shown(pilot, history)
        assert last_seen(view) == "[TP0] line 000099"
        told(history, 100, 150)
        await shown(pilot, history)
        assert last_seen(view) == "[TP0] line 000149"


async def test_moving_up_holds_it_still_and_counts_what_comes():
    history = LogHistory()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(history, 0, 100)
        view = await shown(pilot, history)
        view.focus()
        await pilot.press("k")
        await pilot.pause()
        assert last_seen(view) == "[TP0] line 000098"
        told(history, 100, 60_000)
        await shown(pilot, history)
        assert last_seen(view) == "[TP0] line 000098", "also when the ring has dropped that line"
        assert view.unseen > 40_000
        await pilot.press("G")
        await pilot.pause()
        assert last_seen(view) == "[TP0] line 059999"
        assert view.unseen == 0


async def test_going_down_past_the_end_follows_again():
    history = LogHistory()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(history, 0, 100)
        view = await shown(pilot, history)
        view.focus()
        await pilot.press("pageup")
        await pilot.pause()
        assert not view.is_following
        await pilot.press("pagedown")
        await pilot.pause()
        assert not view.is_following, "its end was not reached before"
        await pilot.press("j")
        await pilot.pause()
        assert view.is_following


async def test_g_goes_to_the_first_line_that_is_kept():
    history = LogHistory()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(history, 0, 51_000)
        view = await shown(pilot, history)
        view.focus()
        await pilot.press("g")
        await pilot.pause()
        assert first_seen(view) == "[TP0] line 001000"


@pytest.mark.parametrize(
    ("text", "count"),
    [("line 00001", 10), ("LINE", 0), ("line 000007", 1), ("!00000", 90), ("!", 100), ("nothing like it", 0)],
)
async def test_a_filter_looks_at_all_that_is_kept_and_at_what_comes(text: str, count: int) -> None:
    history = LogHistory()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(history, 0, 50)
        view = await shown(pilot, history)
        view.set_filter(text)
        told(history, 50, 100)
        await shown(pilot, history)
        assert view.row_count == count


async def test_only_what_no_parser_knows_is_shown_on_wish():
    history = LogHistory()
    async with ViewApp().run_test(size=(60, 10)) as pilot:
        history.feed(
            0, b"Decode batch, #running-req: 1, #token: 5, gen throughput (token/s): 9.9, #queue-req: 0\nwhat?\n"
        )
        view = await shown(pilot, history)
        assert view.row_count == 2
        view.set_filter("", drift_only=True)
        assert view.row_count == 1
        assert first_seen(view) == "what?"


async def test_another_log_begins_anew():
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        history = LogHistory()
        told(history, 0, 100)
        view = await shown(pilot, history)
        view.focus()
        await pilot.press("k")
        other = LogHistory()
        other.feed(0, b"another log\n")
        await shown(pilot, other)
        assert view.row_count == 1
        assert view.is_following
        await shown(pilot, other)
        view.show(None)
        assert view.row_count == 0


async def test_only_visible_rows_are_drawn(monkeypatch):
    drawn: list[int] = []
    original = LogView.render_line
    monkeypatch.setattr(LogView, "render_line", lambda self, y: (drawn.append(y), original(self, y))[1])
    history = LogHistory()
    async with ViewApp().run_test(size=(40, 10)) as pilot:
        told(history, 0, 50_000)
        drawn.clear()
        await shown(pilot, history)
        assert len(drawn) <= 30
