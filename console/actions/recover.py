"""Changes of files that a crash or a lost connection cut short: say which, and finish or undo them on the next connect.

Every file of such a change is its original or its new text; which of the two, the node tells. An application that was
begun is finished when all of its contents are there and no file was changed meanwhile, else undone; a revert that was
begun is finished.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from console.errors import Refused
from remote_agent.protocol import Unfinished, to_wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from console.actions.node import Node, Say
    from remote_agent.protocol import CutShort, FileOutcome, LedgerEntry, Recovered

_DONE = {
    "finished": "finished",
    "undone": "undone: every file is as it was before",
    "left": "undone, but for files that were changed meanwhile: `patch revert` says what stands in the way",
    "busy": "left alone: somebody is at it",
    "stuck": "not finished and not undone; it is tried again on the next connect",
}
"""What the user is told for each outcome of the agent."""


async def unfinished(node: Node) -> Unfinished:
    """Changes of this node's files that were begun, are not finished, and have nobody at them any more."""
    found = await node.agent.unfinished()
    return Unfinished([cut for cut in found.entries if not cut.holder], found.leftovers)


def told(cut: CutShort) -> Iterator[str]:
    """What was cut short, by whom, when, and which files are original and which applied."""
    yield f"cut short: {_headline(cut.entry)}"
    yield from _by_state(cut.files)


async def run(node: Node, say: Say) -> tuple[Recovered, ...]:
    """Finish or undo everything, say how each went, and keep it in the journal.

    Raises:
        Refused: another console is changing this node.
    """
    started = time.time()
    done = await node.agent.recover()
    for each in done.entries:
        why = f" ({each.reason})" if each.reason else ""
        say(f"{_headline(each.entry)}: {_DONE.get(each.outcome, each.outcome)}{why}")
        for file in each.files:
            if file.outcome in ("drifted", "replaced"):
                say(f"  {file.outcome} {file.path}: {file.reason}")
    if done.entries:
        ok = all(each.outcome in ("finished", "undone") for each in done.entries)
        node.record(started, "patch recover", {}, {"ok": ok, "entries": [to_wire(each) for each in done.entries]})
    return tuple(done.entries)


async def on_connect(node: Node, say: Say, *, change: bool) -> None:
    """What every connect does first: say what was cut short and, where the caller may change the node, deal with it.

    Somebody else who changes the node just now is no error here: what comes next meets the same lock.
    """
    found = await unfinished(node)
    for line in (line for cut in found.entries for line in told(cut)):
        say(line)
    if not change or node.agent.hello.readonly:
        if found.entries:
            say("the next `patch apply`, `patch revert`, `launch` or `runbook` finishes or undoes it")
        return
    if found.entries or found.leftovers:
        try:
            await run(node, say)
        except Refused as error:
            say(f"not now: {error.message}")


def _headline(entry: LedgerEntry) -> str:
    doing, begun = ("taking back", "applied") if entry.state == "reverting" else ("applying", "begun")
    at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(entry.at))
    return f"{doing} {', '.join(entry.patches)} in {entry.root}, {begun} by {entry.operator} at {at}"


def _by_state(files: Iterable[FileOutcome]) -> Iterator[str]:
    paths: dict[str, list[str]] = {}
    for file in files:
        paths.setdefault(file.outcome, []).append(file.path)
    for state in sorted(paths):
        yield f"  {state}: {', '.join(paths[state])}"
