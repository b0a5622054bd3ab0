"""Walks an action from its key to its proof: plan, show, run, re-read. One action at a time."""

from __future__ import annotations

import asyncio
import traceback
from typing import TYPE_CHECKING, Any

from console.errors import ConsoleError
from console.state.events import (
    ActionAsked,
    ActionCancelled,
    ActionDeclined,
    ActionFailed,
    ActionFinished,
    ActionSaid,
    ActionStarted,
)
from console.tui.modals.error import ErrorModal
from console.tui.modals.plan import PlanModal, plan_line
from console.tui.operations import PLANS
from console.tui.text import diff_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.worker import Worker

    from console.actions.node import Node
    from console.tui.keys import Key
    from console.tui.operations import Outcome, Planned
    from console.tui.stream import EventStream


class Runner:
    """Runs actions on a node for an app: `reread` is called when one has ended, however it did."""

    def __init__(self, app: App[Any], node: Node, stream: EventStream, reread: Callable[[], None]) -> None:
        self._app = app
        self._node = node
        self._stream = stream
        self._reread = reread
        self._worker: Worker[None] | None = None

    def start(self, key: Key) -> None:
        """Begin with the plan. The caller has made sure that nothing else is running."""
        self._put(ActionAsked(key.id, key.title))
        self._worker = self._app.run_worker(self._walk(key), group="action", exit_on_error=False)

    def cancel(self) -> None:
        """Take the running action back."""
        if self._worker:
            self._worker.cancel()

    async def _walk(self, key: Key) -> None:
        try:
            planned = await PLANS[key.id](self._node, self._stream.state, self._stream.put)
            if not await self._app.push_screen_wait(_modal(key, planned)):
                self._put(ActionDeclined())
                return
            self._put(ActionStarted())
            self._finish(key, await planned.run(lambda line: self._stream.put(ActionSaid(line))))
        except asyncio.CancelledError:
            self._put(ActionCancelled())
            raise
        except ConsoleError as error:
            self._put(ActionFailed(error.message))
            self._app.push_screen(ErrorModal(f"{key.title} failed", error.message, error.hint, error.detail))
        except Exception as error:  # noqa: BLE001 - the worker's boundary: a bug must not take the console down
            self._put(ActionFailed(f"{type(error).__name__}: {error}"))
            self._app.push_screen(ErrorModal(f"{key.title}: a bug", repr(error), "", traceback.format_exc()))
        finally:
            self._worker = None
            self._reread()

    def _finish(self, key: Key, outcome: Outcome) -> None:
        self._put(ActionFinished(outcome.ok, outcome.proof, tuple(outcome.lines())))
        error = getattr(outcome, "error", None)
        if isinstance(error, ConsoleError):
            self._app.push_screen(ErrorModal(f"{key.title}: {outcome.proof}", error.message, error.hint, error.detail))

    def _put(self, event: Any) -> None:
        """An action's own state must be true at once: a second key may come before the next tick."""
        self._stream.put(event)
        self._stream.flush()


def _modal(key: Key, planned: Planned) -> PlanModal:
    lines = [*map(plan_line, planned.lines), *map(diff_line, planned.diff.splitlines())]
    return PlanModal(key.title, key.key, lines, refusal=planned.refusal)
