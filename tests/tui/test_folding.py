"""The process beside gets several pieces before it answers the first, and what it answers stays in order."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from console.logs import window as window_module
from console.logs.history import LogHistory
from console.logs.marks import Marks
from console.logs.window import LineWindow
from console.state.events import LogFolded
from console.tui import folding
from console.tui.fold_worker import Feed
from tests.tui.events import SHAPE_LINE, sample
from tests.waiting import until

BEFORE = sample("[2026-02-20 10:00:00 TP0] ERROR: before\n" * 2000)
AFTER = b"[2026-02-20 10:00:01 TP0] ERROR: after\n" + SHAPE_LINE.format(rank=0, seq=1).encode() * 200


class Told:
    """The events, and how many pieces were out when each was told."""

    def __init__(self):
        self.events = []

    def put(self, event):
        self.events.append(event)


@pytest.fixture
def out(monkeypatch):
    """How many pieces were sent and not answered, each time that one was sent."""
    monkeypatch.setattr(folding, "PIECE", 2000)
    monkeypatch.setattr(window_module, "BLOCK_BYTES", 1000)
    counts, sent = [], [0]
    send, answer = folding._Line.send, folding._Line.answer

    def counted_send(line, message):
        sent[0] += 1
        counts.append((sent[0], isinstance(message, Feed)))
        send(line, message)

    async def counted_answer(line):
        told = await answer(line)
        sent[0] -= 1
        return told

    monkeypatch.setattr(folding._Line, "send", counted_send)
    monkeypatch.setattr(folding._Line, "answer", counted_answer)
    return counts


async def test_pieces_go_ahead_of_answers_and_a_file_that_began_anew_waits_for_them(out):
    window, marks, stream = LineWindow(), Marks(), Told()
    grow(window, BEFORE)
    beside = folding.Folding("r1", window, marks, no_read, stream, lambda _reading: None)
    running = asyncio.create_task(beside.run(0, 8))
    await until(lambda: len(out) > folding.AHEAD)
    window.begin_anew("the file was truncated", 0, 0)
    beside.began_anew(0, "the file was truncated", 0)
    grow(window, AFTER)
    beside.grown()

    kept = LogHistory(8, records_limit=0)
    kept.feed(0, BEFORE)
    kept.reset(0, "the file was truncated", 0)
    kept.feed(0, AFTER)
    await until(lambda: bool(stream.events) and records(stream.events[-1]) == sum(kept.counts.values()))
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert max(count for count, _is_feed in out) == folding.AHEAD
    assert [count for count, is_feed in out if not is_feed] == [1], "answers of the file before came first"
    assert marks.next("error", -1) == 0, "only the file as it is now has marks"
    assert marks.next("error", 0) is None
    assert stream.events[-1].behind == 0


def grow(window, data):
    for offset in range(0, len(data), 1000):
        window.append(offset, data[offset : offset + 1000])


async def no_read(_offset, _length):
    return pytest.fail("the window has everything")


def records(event):
    return event.reading.records if isinstance(event, LogFolded) and event.reading else 0
