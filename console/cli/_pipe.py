"""Output into a pipe whose reader may leave: a way to end for what only shows, and no reason to stop a change."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from typing import TextIO

LOOK_S = 0.25


class Unheard:
    """A stream that goes on when nobody reads it any more: what was confirmed is done, also under `| head`."""

    def __init__(self, stream: TextIO) -> None:
        self.heard = stream

    def write(self, text: str) -> int:
        try:
            return self.heard.write(text)
        except BrokenPipeError:
            _let_go(self.heard)
            return len(text)

    def flush(self) -> None:
        try:
            self.heard.flush()
        except BrokenPipeError:
            _let_go(self.heard)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.heard, name)


def go_on_unheard() -> None:
    """From now on a reader that leaves ends nothing."""
    sys.stdout, sys.stderr = Unheard(sys.stdout), Unheard(sys.stderr)


@contextlib.contextmanager
def reader_may_leave() -> Iterator[None]:
    """End quietly when nobody reads stdout any more."""
    stream = getattr(sys.stdout, "heard", sys.stdout)
    try:
        with contextlib.redirect_stdout(stream):
            yield
            stream.flush()
    except BrokenPipeError:
        _let_go(stream)


def _let_go(stream: TextIO) -> None:
    """The interpreter flushes once more at its end: there is nobody to hear of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_out(text: str) -> None:
    """Write to stdout, all of it.

    Python's buffered writer (3.11, 3.13) loses bytes of a long text when a stop (Ctrl-Z, then `fg`) interrupts it in a
    full pipe: the write comes back short.
    """
    sys.stdout.flush()
    try:
        fd = sys.stdout.fileno()
    except (OSError, ValueError):  # no file, as under a test
        sys.stdout.write(text)
        return
    left = memoryview(text.encode(sys.stdout.encoding or "utf-8", "replace"))
    while left:
        left = left[os.write(fd, left) :]


async def while_somebody_reads(work: Coroutine[None, None, None]) -> None:
    """Do `work`; end it when the reader of stdout is gone, also while there is nothing to write."""
    import asyncio

    task = asyncio.create_task(work)
    look = select.poll()
    with contextlib.suppress(OSError, ValueError):  # no file descriptor, as under a test
        look.register(sys.stdout.fileno(), 0)
    while not task.done():
        await asyncio.wait([task], timeout=LOOK_S)
        if any(event & (select.POLLERR | select.POLLHUP) for _fd, event in look.poll(0)):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            return
    task.result()
