"""Where a server stands on every screen: by the log that is followed and by its process, and by neither alone."""

from __future__ import annotations

import pytest

from console.state import events
from console.state.model import ConsoleState
from console.state.nodes_state import alarms
from console.state.server_phase import log_phase, server_word
from console.state.summary import summary
from console.state.update import fold
from tests.tui.events import RUN_ID, Log, busy
from tests.unit.state.samples import run

READY = b"[2026-11-30 10:00:00] The server is fired up and ready to roll!\n"
DIED = READY + b"[2026-11-30 10:00:01 TP0] Scheduler hit an exception: Traceback (most recent call last):\nOSError: x\n"
KILLED = {"state": "exited", "exit_signal": 9}


def followed(text: bytes, **record: object) -> ConsoleState:
    """A node whose newest server is of this record, and its log followed."""
    ours = run(RUN_ID, "me@here", **record)
    read = [each for each in busy(Log(text)) if not isinstance(each, events.InventoryRead)]
    (inventory,) = (each for each in busy() if isinstance(each, events.InventoryRead))
    return fold(ConsoleState(), [*read, events.InventoryRead(inventory.facts, inventory.sample, (), (ours,), 0, "")])


@pytest.mark.parametrize(
    ("text", "record", "name", "detail", "found"),
    [
        (READY, {}, "ready", "", []),
        (READY, KILLED, "exited", "signal 9", []),
        (READY, {"state": "lost"}, "lost", "gone without an exit record", ["server died"]),
        (DIED, {"state": "exited", "exit_code": 1}, "died", None, ["server died"]),
    ],
)
def test_log_and_process_together_tell(text: bytes, record: dict, name: str, detail: str, found: list[str]) -> None:
    state = followed(text, **record)
    phase = log_phase(state)
    assert phase is not None
    assert (phase.name, server_word(state), summary(state)["log"]["phase"]) == (name, name, name)
    assert detail is None or phase.detail == detail
    assert alarms(state) == found


def test_another_log_is_told_by_itself_and_the_server_by_its_record() -> None:
    state = fold(followed(READY, **KILLED), Log(READY).events("other", "/elsewhere"))
    assert (log_phase(state).name, server_word(state)) == ("ready", "exited")  # type: ignore[union-attr]
    assert (log_phase(ConsoleState()), server_word(ConsoleState())) == (None, "none")
