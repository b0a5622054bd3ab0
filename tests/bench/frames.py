"""The console as the bench runs it: itself, and a note of when each frame was begun and was done.

A frame begins when the events since the last one are folded, and is done when its bytes go to the terminal. Between lie
the reducers, the widgets, layout and paint, the screen's own timer (60 Hz), and whatever else the loop does meanwhile.
"""

from __future__ import annotations

import atexit
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from console.tui.app import ConsoleApp
    from console.tui.stream import EventStream

NOTES = "SPEC_CONSOLE_BENCH_FRAMES"
"""Environment variable: where the notes go at the end."""


class Made(NamedTuple):
    """One frame; seconds of the monotonic clock, which all processes share."""

    begun: float
    done: float
    cpu: float
    """CPU seconds of the loop's thread in between: what it would take on a core of its own, intake that came in too."""


def main() -> None:
    """Run the command line. The first and the last lines of a frame are timed, and nothing else is changed."""
    from console.cli import main as run
    from console.tui.app import ConsoleApp
    from console.tui.stream import EventStream

    made: list[Made] = []
    begun: list[tuple[float, float]] = []
    flush, display = EventStream.flush, ConsoleApp._display

    def timed_flush(stream: EventStream) -> None:
        begin, before = (time.monotonic(), time.thread_time()), stream.state
        flush(stream)
        if stream.state is not before:
            begun.append(begin)

    def timed_display(app: ConsoleApp, *arguments: Any) -> None:
        display(app, *arguments)
        if begun and not app._batch_count:
            at, cpu = begun[0]
            made.append(Made(at, time.monotonic(), time.thread_time() - cpu))
            begun.clear()

    EventStream.flush = timed_flush  # type: ignore[method-assign]
    ConsoleApp._display = timed_display  # type: ignore[method-assign,assignment]
    atexit.register(lambda: Path(os.environ[NOTES]).write_text(json.dumps(made)))
    run()


def noted(path: Path) -> list[Made]:
    """The frames of a console that has ended."""
    return [Made(*one) for one in json.loads(path.read_text())]


def figures(made: list[Made]) -> tuple[tuple[str, list[float], str], ...]:
    """What is told of frames: a name, seconds of each, and what they are."""
    return (
        (
            "frame made in, p99",
            [one.done - one.begun for one in made],
            "events folded to bytes written; target <= 50 ms",
        ),
        ("CPU of a frame, p99", [one.cpu for one in made], "of the loop's thread in between, intake too: free of load"),
    )


if __name__ == "__main__":
    main()
