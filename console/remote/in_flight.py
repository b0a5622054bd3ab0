"""Owns what becomes of a change whose answer was lost with the link: read again, and never asked for twice.

An agent whose channel is gone finishes the calls that it has, takes no more, and ends. Once it has ended, what is not
there is not coming any more: done, not done, or (while it may still be at it, or the link stays away) not known.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from console.errors import NegativeResult, NodeLost
from remote_agent.protocol import Terminated, Terminations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.remote.session import Session
    from remote_agent.protocol import Hello, Identity, ProcessInfo

MARK = "asked_as"
"""Key in a run's record: a word of ours that no other request has, by which it is found again."""
SETTLE_S = 10.0
"""For the agent that had the call to end: it drains for 5 s."""
POLL_S = 0.2
_READ_AGAIN = "the answer was lost with the connection; read again"


class InDoubt(NodeLost):
    """The link broke while a change was under way."""

    def __init__(self, method: str, why: str) -> None:
        super().__init__(
            f"the connection was lost during {method}; whether it was done is not known",
            "Connect again: the state is read afresh.",
            why,
        )


class NotDone(NegativeResult):
    """The link broke before the node had begun: it was read again, and nothing was done."""

    def __init__(self, method: str) -> None:
        super().__init__(
            f"the connection was lost before {method} was done; read again, nothing was begun",
            "The connection is back: ask for it again.",
        )


async def settled(session: Session, before: Hello, doubt: InDoubt) -> bool:
    """Wait until the link is back and the agent that had the call has ended; False when it may still be at it.

    Raises InDoubt (the one given) when the link does not come back.
    """
    await session.resumed(doubt)
    after = session.hello
    assert after is not None
    if before.machine_id != after.machine_id:
        raise doubt
    if before.boot_id != after.boot_id:
        return True
    for _ in range(round(SETTLE_S / POLL_S)):
        if not await _lives(session, before.pid):
            return True
        await asyncio.sleep(POLL_S)
    return False


def ended(identities: Iterable[Identity], there: Sequence[ProcessInfo]) -> Terminations:
    """What became of processes that were to end, by what is there now."""
    alive = {(each.identity.pid, each.identity.start_ticks) for each in there if each.state not in "ZX"}
    return Terminations(
        [
            Terminated(who.pid, "alive" if (who.pid, who.start_ticks) in alive else "gone", _READ_AGAIN, 0.0)
            for who in identities
        ]
    )


async def _lives(session: Session, pid: int) -> bool:
    found: list[dict[str, Any]] = await session.read("node.inspect", {"pids": [pid]})
    return any("serve" in each.get("argv", ()) for each in found)
