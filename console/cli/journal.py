"""journal: what was asked of which node, what came of it, newest first: plans, actions, launches, probes, verdicts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from console.cli._journal import none_of, open_journal
from console.cli._shared import Options, emit, say, shared_options
from console.units import plain

if TYPE_CHECKING:
    from console.store.journal import ActionRecord

TOLD = ("profile", "server", "run", "baseline", "candidate", "answer", "verdict", "why", "error")
"""What a line says of an entry, from its request and its outcome."""


@click.command("journal")
@click.option("--node", "of_node", help="Only entries of this node.")
@click.option("--verb", help="Only entries of this verb: plan, free, launch, probe, compare …")
@click.option("--search", default="", metavar="TEXT", help="Only entries that have all its words.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@shared_options
def COMMAND(options: Options, of_node: str | None, verb: str | None, search: str, limit: int) -> int:
    """Show what this console did and was shown, newest first."""
    with open_journal() as journal:
        entries = journal.list_actions(of_node, limit, verb=verb, search=search)
        if not entries:
            counts = journal.count_actions()
            verbs = f"; verbs: {', '.join(counts)}" if verb and verb not in counts and counts else ""
            say(none_of(sum(counts.values()), "entry", "entries") + verbs)
    if options.as_json:
        emit(options, True, None, {"entries": [_json(each) for each in entries]})
        return 0
    for each in entries:
        click.echo(plain(_line(each)))
    return 0


def _json(entry: ActionRecord) -> dict[str, Any]:
    return {
        "number": entry.action_id,
        "at": entry.at,
        "node": entry.node,
        "verb": entry.verb,
        "request": entry.request,
        "outcome": entry.outcome,
    }


def _line(entry: ActionRecord) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
    both: dict[str, Any] = {**entry.request, **entry.outcome}
    ended = "" if "ok" not in both else "ok" if both["ok"] else "NOT OK"
    verb = f"plan {both.get('verb', '')}" if entry.verb == "plan" else entry.verb
    told = [f"{name} {_word(both[name])}" for name in TOLD if both.get(name) not in (None, "", [])]
    return " ".join(filter(None, [f"#{entry.action_id}", when, entry.node or "-", f"{verb}:", ended, ", ".join(told)]))


def _word(value: object) -> str:
    """A server or run stands by its id."""
    if isinstance(value, dict):
        value = value.get("id", "")
    return str(value)[:120]
