"""The side of the console that needs a node: its bridge, its runner, its readings. Imported after the first frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.actions import read_log
from console.tui import readings, run_changes, run_log, runbook_files
from console.tui.bridge import Bridge
from console.tui.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import App

    from console.actions.node import Node
    from console.tui.keys import Key
    from console.tui.log_pick import LogPick
    from console.tui.operations import Plan
    from console.tui.run_changes import RunChange
    from console.tui.stream import EventStream
    from remote_agent import protocol as wire


class Connected:
    """A node and everything that is done with it. `picked`: the log that was picked before there was this side."""

    def __init__(self, app: App[Any], stream: EventStream, node: Node, picked: LogPick) -> None:
        self._app = app
        self._stream = stream
        self._node = node
        self._bridge = Bridge(node, stream, picked)
        self._runner = Runner(app, node, stream, self._bridge.read_node, self._after_action)

    async def run(self) -> None:
        """Connect and read until cancelled. Raises Unreachable, AgentStartFailed when the first connect fails."""
        await self._bridge.run()

    async def close(self) -> None:
        """Hang up; servers and probes stay."""
        await self._bridge.close()

    def start(self, key: Key, plan: Plan | None = None) -> None:
        """Walk the action of a key, by its own plan or another: plan, show, run, re-read."""
        self._runner.start(key, plan)

    def cancel(self) -> None:
        """Take the running action back."""
        self._runner.cancel()

    def be_readonly(self, reason: str) -> None:
        """Have every change refused by the agent too, or allowed again: it is started anew for it."""
        self._node.agent.session.be_readonly(reason)

    def reread(self) -> None:
        """Read again what is shown now; the comparison keeps its two sides."""
        runs = self._stream.state.runs
        self._bridge.reread()
        self.compare(*(side.run_id if side else None for side in (runs.baseline, runs.candidate)))
        self.read_for(self._app.current_mode)

    def open_log(self, picked: LogPick) -> None:
        """Follow a log of the node, now or as soon as there is a link."""
        self._bridge.open_log(picked)

    async def log_sources(self) -> Sequence[wire.LogSource]:
        """Logs that can be found on the node. Raises ConsoleError."""
        return await read_log.sources(self._node)

    def compare(self, baseline: str | None = None, candidate: str | None = None) -> None:
        """Read the stored runs and put two side by side: those named, or those that belong together."""
        readings.runs(self._node, self._stream, self._stream.state.profiles, baseline, candidate)

    def change_run(self, change: RunChange) -> str:
        """Change what stands on a stored run, and show it; return what is to be said of it. Raises ConsoleError."""
        told = run_changes.apply(self._node.journal, change)
        runs = self._stream.state.runs
        baseline, candidate = (side.run_id if side else None for side in (runs.baseline, runs.candidate))
        self.compare(None if change.what in ("pin", "unpin") else baseline, candidate)
        return told

    async def save_runbook(self, path: str) -> str:
        """Write the checklist as it stands to a new local file; return what is to be said. Raises ConsoleError."""
        return await runbook_files.save(self._node, self._stream.state, path)

    async def load_runbook(self, path: str) -> str:
        """Put a local file's checklist in its place; return what is to be said. Raises ConsoleError."""
        return await runbook_files.load(self._node, self._stream, path)

    def log_range(self, run_id: str) -> tuple[int, int]:
        """The bytes of the server's log that were written while a stored run was measured. Raises ConsoleError."""
        return run_log.log_range(self._node.journal, run_id)

    def read_for(self, screen: str, after_s: float = 0.0) -> None:
        """Read what only this screen shows; a newer wish takes the place of one that is not done."""
        reading = readings.for_screen(self._node, self._stream, screen, after_s)
        self._app.run_worker(reading, group=f"reading {self._node.name}", exclusive=True, exit_on_error=False)

    def _after_action(self) -> None:
        self._bridge.reread()
        self.compare()  # a probe that has just been made is what one wants to see
        self.read_for(self._app.current_mode)
