"""--record FILE: what the console is told of a node, kept as a file that `replay` shows."""

from __future__ import annotations

import contextlib
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from console.state.events import Event
    from console.tui.stream import EventStream


@dataclass(frozen=True, slots=True)
class Record:
    """The recording that is wanted; without a path none."""

    path: Path | None = None
    over: bool = False
    """Whether a file that is there is replaced."""


NO_RECORD = Record()


def record_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --record and --record-over; the function is given one `record`."""

    @click.option("--record", type=click.Path(path_type=Path), help="Keep what is shown, for `replay`: a new file.")
    @click.option("--record-over", is_flag=True, help="Replace the file of --record.")
    @functools.wraps(function)
    def wrapper(*, record: Path | None, record_over: bool, **rest: Any) -> Any:
        return function(record=Record(record, record_over), **rest)

    return wrapper


@contextlib.contextmanager
def recorded(stream: EventStream, node: str, record: Record) -> Iterator[None]:
    """Record what the stream folds meanwhile, if that is wanted. Raises Refused, UsageError."""
    if record.path is None:
        yield
        return
    from console.launch.secret_text import known_secrets
    from console.state.events import Noticed
    from console.store.recordings import Recorder

    recorder = Recorder(record.path, _facts(node), known_secrets(os.environ), overwrite=record.over)

    def take(events: Sequence[Event]) -> None:
        before = recorder.problem
        recorder.take(events)
        if recorder.problem and not before:
            stream.put(Noticed("warn", recorder.problem))

    stream.tap = take
    try:
        yield
    finally:
        stream.tap = None
        stopped = recorder.problem
        recorder.close()
        say(stopped or f"recorded: {record.path}")


def _facts(node: str) -> dict[str, Any]:
    import platform
    import time
    from importlib.metadata import version

    names = ("spec-console", "textual")
    versions = {"python": platform.python_version(), **{name: version(name) for name in names}}
    return {"node": node, "simulated": node == "demo", "at": time.time(), "versions": versions}
