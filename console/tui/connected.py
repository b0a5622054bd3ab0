"""The side of the console that needs a node: its bridge, its runner, its readings. Imported after the first frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.tui import readings
from console.tui.bridge import Bridge
from console.tui.runner import Runner

if TYPE_CHECKING:
    from textual.app import App

    from console.actions.node import Node
    from console.tui.keys import Key
    from console.tui.stream import EventStream


class Connected:
    """A node and everything that is done with it. `screen` tells which screen is seen."""

    def __init__(self, app: App[Any], stream: EventStream, node: Node) -> None:
        self._app = app
        self._stream = stream
        self._node = node
        self._bridge = Bridge(node, stream)
        self._runner = Runner(app, node, stream, self._after_action)

    async def run(self) -> None:
        """Connect and read until cancelled. Raises Unreachable, AgentStartFailed when the first connect fails."""
        await self._bridge.run()

    async def close(self) -> None:
        """Hang up; servers and probes stay."""
        await self._bridge.close()

    def start(self, key: Key) -> None:
        """Walk the action of a key: plan, show, run, re-read."""
        self._runner.start(key)

    def cancel(self) -> None:
        """Take the running action back."""
        self._runner.cancel()

    def reread(self) -> None:
        """Read again what is shown now; the comparison keeps its two sides."""
        runs = self._stream.state.runs
        self._bridge.reread()
        self.compare(*(side.run_id if side else None for side in (runs.baseline, runs.candidate)))
        self.read_for(self._app.current_mode)

    def open_log(self, path: str) -> None:
        """Follow a file of the node; empty: the newest server's log again."""
        self._bridge.open_log(path)

    def compare(self, baseline: str | None = None, candidate: str | None = None) -> None:
        """Read the stored runs and put two side by side: those named, or those that belong together."""
        readings.runs(self._node, self._stream, self._stream.state.profiles, baseline, candidate)

    def read_for(self, screen: str, after_s: float = 0.0) -> None:
        """Read what only this screen shows; a newer wish takes the place of one that is not done."""
        reading = readings.for_screen(self._node, self._stream, screen, after_s)
        self._app.run_worker(reading, group="reading", exclusive=True, exit_on_error=False)

    def _after_action(self) -> None:
        self._bridge.reread()
        self.compare()  # a probe that has just been made is what one wants to see
        self.read_for(self._app.current_mode)
