"""What verbs share: options, running a coroutine on a node, JSON, narration, confirmation, exit codes."""

from __future__ import annotations

import functools
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from console.errors import EXIT_INTERRUPTED, EXIT_OK, ConsoleError, Refused
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from console.actions.node import Node

node_argument = click.argument("node")

CHANGING = (
    "patch-apply",
    "patch-revert",
    "patch-import",
    "draft-set",
    "draft-revert",
    "launch",
    "runbook",
    "sweep",
    "calibrate",
)
"""Verbs that change or run the files of a node: they first finish or undo a change that was cut short."""

TELL_THEMSELVES = ("probe",)
"""Verbs that say what becomes, at Ctrl-C, of what they started."""
INTERRUPTED = "interrupted"
GOES_ON = f"{INTERRUPTED}; what was started on the node goes on there (`status` shows it)"


@dataclass(frozen=True, slots=True)
class Options:
    """Options that every verb has."""

    verb: str
    as_json: bool
    yes: bool
    dry_run: bool
    readonly: bool
    accept_new_host_key: bool


def shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options and hand them over as one `options`; the function's result is the exit code."""

    @click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
    @click.option("--yes", is_flag=True, help="Confirm the plan.")
    @click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")
    @click.option("--readonly", is_flag=True, help="Start an agent that refuses every change.")
    @click.option("--accept-new-host-key", is_flag=True, help="Remember an unknown host key.")
    @functools.wraps(function)
    def wrapper(
        *, as_json: bool, yes: bool, dry_run: bool, readonly: bool, accept_new_host_key: bool, **rest: Any
    ) -> None:
        verb = click.get_current_context().command_path.split(" ", 1)[-1].replace(" ", "-")
        options = Options(verb, as_json, yes, dry_run, readonly, accept_new_host_key)
        sys.exit(guarded(options, _node_of(rest), lambda: function(options=options, **rest)))

    return wrapper


def _node_of(chosen: dict[str, Any]) -> str | None:
    """The one node that is meant; None where there is none, or several."""
    several = chosen.get("nodes", ())
    return chosen.get("node") or (several[0] if len(several) == 1 else None)


def guarded(options: Options, node: str | None, work: Callable[[], int]) -> int:
    """Run `work`; an expected failure is told (as JSON too) and gives its exit code."""
    try:
        return work()
    except ConsoleError as error:
        if options.as_json:
            emit(options, False, node, {**error.plan, "error": error_json(error)})
        tell_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        say(INTERRUPTED if node is None or options.verb in TELL_THEMSELVES else GOES_ON)
        if options.as_json:
            emit(options, False, node, {"error": {"message": "interrupted", "exit_code": EXIT_INTERRUPTED}})
        return EXIT_INTERRUPTED


def on_node(name: str, options: Options, work: Callable[[Node], Awaitable[int]], *, reconnect: bool = True) -> int:
    """Connect, run `work`, hang up; returns its exit code."""
    import asyncio  # 27 ms that --help need not pay

    from console.actions import recover
    from console.cli._nodes import open_node

    async def connected() -> int:
        async with open_node(name, options, reconnect=reconnect) as node:
            await recover.on_connect(node, say, change=options.verb in CHANGING and not options.dry_run)
            return await work(node)

    return asyncio.run(connected())


def confirm(
    options: Options,
    lines: Iterable[str],
    plan_json: dict[str, Any],
    node: str | None,
    refusal: Refused | None = None,
) -> bool:
    """Show the plan; True to go on. False after --dry-run. Raises Refused when nobody confirms.

    `refusal` says why the plan would not be carried out: it is raised, with --dry-run behind the plan. The journal
    keeps the plan, and what was answered, before anything is done.
    """
    lines = list(lines)
    try:
        if refusal is not None and not options.dry_run:
            raise refusal  # asking first would only waste an answer
        goes_on = _confirm(options, lines, plan_json, node, refusal)
    except Refused as error:
        keep_plan(options, lines, node, error.message)
        raise
    keep_plan(options, lines, node, "confirmed" if goes_on else "only shown")
    return goes_on


def keep_plan(options: Options, lines: list[str], node: str | None, answer: str) -> None:
    """Keep a plan in the journal, and what became of it."""
    import time

    from console import paths
    from console.store.journal import Journal

    with Journal(paths.locate().database) as journal:
        told = {"verb": options.verb, "plan": lines}
        journal.add_action(time.time(), node or "", "plan", told, {"answer": answer})


def _confirm(
    options: Options, lines: list[str], plan_json: dict[str, Any], node: str | None, refusal: Refused | None
) -> bool:
    if options.dry_run:
        show_plan(options, lines, plan_json, node, refusal)
        return False
    for line in lines:
        say(line)
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise Refused("not confirmed: there is no terminal to ask on", "Add --yes, or --dry-run to see the plan.")
    if not click.confirm("Do this?", default=False, err=True):
        raise Refused("not confirmed", "Nothing was changed.")
    return True


def show_plan(
    options: Options, lines: list[str], plan_json: dict[str, Any], node: str | None, refusal: Refused | None = None
) -> None:
    """The plan alone, for --dry-run. A refusal is raised with it, so that --json stays one object."""
    values = {"dry_run": True, "plan": [*map(plain, lines)], **plan_json}
    if not options.as_json:
        for line in lines:
            click.echo(plain(line))
    if refusal is not None:
        refusal.plan = values
        raise refusal
    if options.as_json:
        emit(options, True, node, values)


def report(options: Options, node: str | None, outcome: Any) -> int:
    """Print an action's outcome; 0 when it is ok, else 1."""
    if options.as_json:
        emit(options, outcome.ok, node, outcome.to_json())
    else:
        for line in outcome.lines():
            click.echo(plain(line))
    return EXIT_OK if outcome.ok else 1


def emit(options: Options, ok: bool, node: str | None, values: dict[str, Any]) -> None:
    """The one JSON object of a verb."""
    verb = options.verb.split("-", 1)[0]
    head: dict[str, Any] = {"schema": f"spec-console/{verb}/1", "ok": ok}
    if node is not None:
        head["node"] = node
    click.echo(json.dumps({**head, **values}, ensure_ascii=True, allow_nan=False))


def say(line: str) -> None:
    """Narrate on stderr: plain text."""
    click.echo(plain(line), err=True)


def tell_error(error: ConsoleError) -> None:
    """What failed, its last lines, what to do next."""
    for line in error.detail.splitlines():
        say(f"  | {line}")
    say(f"error: {error.message}")
    if error.hint:
        say(f"hint: {error.hint}")


def error_json(error: ConsoleError) -> dict[str, Any]:
    return {
        "message": error.message,
        "hint": error.hint,
        "detail": error.detail,
        "exit_code": error.exit_code,
        **({"findings": error.findings} if error.findings else {}),
    }
