"""Walks an action from its key to its proof: plan, show, run, re-read. One action at a time."""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from typing import TYPE_CHECKING, Any

from console.errors import ConsoleError, NodeLost, Refused
from console.state.events import (
    ActionAsked,
    ActionCancelled,
    ActionDeclined,
    ActionFailed,
    ActionFinished,
    ActionPlanned,
    ActionSaid,
    ActionStarted,
)
from console.tui.modals.error import ErrorModal
from console.tui.modals.plan import PlanModal, plan_line
from console.tui.operations import PLANS
from console.tui.text import diff_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import App
    from textual.worker import Worker

    from console.actions.node import Node
    from console.tui.keys import Key
    from console.tui.operations import Outcome, Plan, Planned
    from console.tui.stream import EventStream


class Runner:
    """Runs actions on a node for an app.

    `read_node` reads it anew before the end of one is told: an outcome must not stand beside what was before it.
    `reread` is called when one has ended, however it did.
    """

    def __init__(
        self,
        app: App[Any],
        node: Node,
        stream: EventStream,
        read_node: Callable[[], Awaitable[None]],
        reread: Callable[[], None],
    ) -> None:
        self._app = app
        self._node = node
        self._stream = stream
        self._read_node = read_node
        self._reread = reread
        self._worker: Worker[None] | None = None

    def start(self, key: Key, plan: Plan | None = None) -> None:
        """Begin with the plan, the key's own without another. The caller has made sure that nothing else is running."""
        self._put(ActionAsked(key.id, key.title))
        walk = self._walk(key, plan or PLANS[key.id])
        self._worker = self._app.run_worker(walk, group="action", exit_on_error=False)

    def cancel(self) -> None:
        """Take the running action back."""
        if self._worker:
            self._worker.cancel()

    async def _walk(self, key: Key, plan: Plan) -> None:
        try:
            self._refuse_readonly()
            planned = await plan(self._node, self._stream.state, self._stream.put)
            self._put(ActionPlanned())
            answer: bool | None = await self._app.push_screen_wait(_modal(self._title(key), key, planned))
            self._keep_plan(key, planned, is_confirmed=bool(answer))
            if not answer:
                self._put(ActionDeclined())
                return
            self._refuse_readonly()
            self._put(ActionStarted())
            outcome = await planned.run(lambda line: self._stream.put(ActionSaid(line)))
            await self._measured()
            self._finish(key, outcome)
        except asyncio.CancelledError:
            self._put(ActionCancelled())
            raise
        except ConsoleError as error:
            await self._measured()
            self._put(ActionFailed(error.message, unknown=isinstance(error, NodeLost)))
            self._app.push_screen(ErrorModal(f"{key.title} failed", error.message, error.hint, error.detail))
        except Exception as error:  # noqa: BLE001 - the worker's boundary: a bug must not take the console down
            self._put(ActionFailed(f"{type(error).__name__}: {error}"))
            self._app.push_screen(ErrorModal(f"{key.title}: a bug", repr(error), "", traceback.format_exc()))
        finally:
            self._worker = None
            self._reread()

    async def _measured(self) -> None:
        with contextlib.suppress(ConsoleError):  # the header says that there is no connection
            await self._read_node()

    def _refuse_readonly(self) -> None:
        """Whoever started this: nothing is changed by a read-only console. Raises Refused."""
        if why := self._stream.state.node.why_readonly:
            raise Refused(f"read-only: {why}", ":unlock allows changes, where the console was told to refuse them.")

    def _keep_plan(self, key: Key, planned: Planned, *, is_confirmed: bool) -> None:
        answer = "confirmed" if is_confirmed else planned.refusal or "declined"
        told = {"verb": key.id, "plan": list(planned.lines)}
        self._node.record(time.time(), "plan", told, {"answer": answer})

    def _finish(self, key: Key, outcome: Outcome) -> None:
        self._put(ActionFinished(outcome.ok, outcome.proof, tuple(outcome.lines())))
        error = getattr(outcome, "error", None)
        if isinstance(error, ConsoleError):
            self._app.push_screen(ErrorModal(f"{key.title}: {outcome.proof}", error.message, error.hint, error.detail))

    def _title(self, key: Key) -> str:
        """Of several nodes the one is named: another may be looked at by now."""
        return f"{key.title} on {self._node.name}" if self._stream.state.nodes.tabs else key.title

    def _put(self, event: Any) -> None:
        """An action's own state must be true at once: a second key may come before the next tick."""
        self._stream.put(event)
        self._stream.flush()


def _modal(title: str, key: Key, planned: Planned) -> PlanModal:
    lines = [*map(plan_line, planned.lines), *map(diff_line, planned.diff.splitlines())]
    return PlanModal(title, key.key, lines, refusal=planned.refusal)
