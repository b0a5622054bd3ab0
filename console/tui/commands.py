"""The command line's language: the actions by their ids, with what they take; parsed, completed, offered. Pure."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from console.errors import UsageError
from console.node.server_groups import flags_for, group
from console.tui.keys import SCREENS
from console.tui.runbook_edit import kinds_for
from console.tui.themes import THEMES
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.model import ConsoleState
    from console.tui.keys import KeyTable

Files = Callable[[str], tuple[str, ...]]
"""Local paths that what was typed may be the beginning of."""
Free = Literal["words", "tags", "note", "pattern", "ranks", "time", "file", "runbook", "insert"]
Kind = Literal["", "screen", "profile", "server", "run", "theme", "node", "sweep", "step", "log", "target", Free]

TAKES: dict[str, Kind] = {
    "free": "target",
    "launch": "profile",
    "patch": "profile",
    "patch_in_place": "profile",
    "runbook": "profile",
    "sweep": "profile",
    "probe": "server",
    "stop": "server",
    "runs.baseline": "run",
    "runs.candidate": "run",
    "log.open": "log",
    "theme": "theme",
    "screen": "screen",
    "select": "profile",
    "nodes": "node",
    "resume_sweep": "sweep",
    "launch.edit": "profile",
    "launch.fields": "profile",
    "runs.search": "words",
    "runs.mark": "run",
    "runs.tags": "tags",
    "runs.note": "note",
    "runs.pin": "run",
    "runs.log": "run",
    "runs.delete": "run",
    "log.filter": "pattern",
    "log.ranks": "ranks",
    "log.time": "time",
    "log.save": "file",
    "runbook.open": "step",
    "runbook.log": "step",
    "runbook.skip": "step",
    "runbook.begin": "step",
    "runbook.insert": "insert",
    "runbook.save": "file",
    "runbook.load": "runbook",
}
"""What may stand behind an action; without it the action means what is selected."""
WORDS: dict[Kind, str] = {
    "log": "a path on the node",
    "words": "words that a run has",
    "tags": "nightly -old: one is added, one is taken off",
    "note": "text",
    "pattern": "a regular expression, !first for the others",
    "ranks": "0,2-3",
    "time": "10:02:11, as the log prints it",
    "file": "a local file that is not there yet",
    "runbook": "a local file that `runbook.save` or the verb wrote",
    "insert": "KIND at the end, KIND:STEP before that step",
}
"""What may be anything: how it is written."""
NEEDS = ("screen", "select")
"""Words that are nothing without what they take."""
ALIASES = {"log": "log.open", "q": "quit", "?": "help"}
MAX_LINE = 4096


@dataclass(frozen=True, slots=True)
class Said:
    """One command: the id of an action, or "select", and what it is to be done with."""

    action: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A command that could be given now. `line` is how it is typed; `why` it cannot be, empty when it can."""

    line: str
    title: str
    label: str
    why: str
    is_here: bool
    """Does the action belong to the screen that is seen?"""


def parse(line: str, table: KeyTable, state: ConsoleState) -> Said:
    """Read a command. Raises UsageError with the nearest word that would do."""
    word, _, argument = line.strip().removeprefix(":").strip().partition(" ")
    action, argument = ALIASES.get(word, word), argument.strip()
    if len(line) > MAX_LINE:
        raise UsageError(f"a command of more than {MAX_LINE} characters")
    if action not in table and action not in TAKES:
        raise UsageError(f"no command is called {word!r}", _near(word, words(table), "Tab shows them all."))
    kind = TAKES.get(action, "")
    if argument and not kind:
        raise UsageError(f"{word} takes nothing behind it", f"Enter {word} alone.")
    if not argument and action in NEEDS:
        raise UsageError(f"{word}: which {kind}?", _listed(choices(kind, state)))
    if argument and kind not in WORDS:
        _check(kind, argument, state)
    return Said(f"screen.{argument}") if action == "screen" else Said(action, argument)


def words(table: KeyTable) -> tuple[str, ...]:
    """Return every word that a command may begin with."""
    actions = (each.id for each in table.keys if each.group != "screens" and each.id != "command")
    return tuple(sorted({*actions, *NEEDS, *ALIASES} - {"?"}))


def choices(kind: Kind, state: ConsoleState) -> tuple[str, ...]:
    """Return what is known now that may stand behind an action; of a log any path may."""
    known: dict[Kind, tuple[str, ...]] = {
        "screen": SCREENS,
        "theme": tuple(THEMES),
        "profile": tuple(each.name for each in state.profiles.found),
        "sweep": tuple(each.sweep_id for each in state.sweep.stored if not each.is_finished),
        "tags": tuple(sorted({tag for each in state.runs.runs for tag in each.tags})),
        "step": tuple(step.id for step in state.steps),
        "insert": kinds_for(state),
        "server": tuple(run.run_id for run in state.servers.running),
        "run": tuple(run.run_id for run in state.runs.runs),
        "node": tuple(tab.name for tab in state.nodes.tabs),
        "target": _targets(state),
        "log": tuple(dict.fromkeys(run.log_path for run in reversed(state.servers.runs) if run.log_path)),
    }
    return known.get(kind, ())


def _targets(state: ConsoleState) -> tuple[str, ...]:
    """What a free may name without more words: what takes the node's name typed out is the verb's."""
    groups = group(state.gpus.holders)
    found = dict.fromkeys(flags_for(holder, groups) for holder in state.gpus.holders)
    return tuple(flags for flags in found if flags and "HOST" not in flags)


def complete(line: str, table: KeyTable, state: ConsoleState, files: Files = lambda _typed: ()) -> tuple[str, ...]:
    """Return every line that `line` may be the beginning of: of its first word, else of what stands behind it."""
    word, space, argument = line.lstrip(": ").partition(" ")
    if not space:
        return tuple(each for each in words(table) if each.startswith(word))
    kind, argument = TAKES.get(ALIASES.get(word, word), ""), argument.lstrip()
    found = [each for each in choices(kind, state) if each.startswith(argument)]
    if kind == "tags":
        found = _next_tags(argument, choices(kind, state))
    elif kind == "insert" and ":" in argument:
        before = (f"{argument.partition(':')[0]}:{name}" for name in choices("step", state))
        found = [each for each in before if each.startswith(argument)]
    elif kind in ("file", "runbook") or (kind == "log" and argument and _is_here(state)):
        found += files(argument)
    return tuple(f"{word} {each}" for each in dict.fromkeys(found))


def _next_tags(argument: str, known: tuple[str, ...]) -> list[str]:
    """The words before the last one stay; a tag may be taken off by a minus."""
    before, space, last = argument.rpartition(" ")
    sign = "-" if last.startswith("-") else ""
    return [f"{before}{space}{sign}{tag}" for tag in known if tag.startswith(last.removeprefix(sign))]


def _is_here(state: ConsoleState) -> bool:
    """Are the node's files those of this machine?"""
    facts = state.node.facts
    return facts is not None and facts.hostname == platform.node()


def extended(line: str, found: tuple[str, ...]) -> str:
    """Return `line` as far as all of `found` agree; a blank behind the only one that takes something."""
    if len(found) == 1 and " " not in found[0]:
        return found[0] + (" " if TAKES.get(ALIASES.get(found[0], found[0])) else "")
    for at, characters in enumerate(zip(*found, strict=False)):
        if len(set(characters)) > 1:
            return found[0][:at]
    return min(found, key=len, default=line)


def offers(table: KeyTable, state: ConsoleState, screen: str) -> Iterator[Offer]:
    """Yield every action of the table, those of the screen first, each followed by what it can be done with."""
    for each in sorted(table.keys, key=lambda key: screen not in key.screens):
        if each.id in ("palette", "command"):
            continue
        is_here, why = screen in each.screens, table.why_not(each.id, state)
        line = each.id.replace("screen.", "screen ", 1)
        title = f"Screen {each.title}" if each.group == "screens" else each.title
        yield Offer(line, title, each.label, why, is_here)
        for choice in choices(TAKES.get(each.id, ""), state):
            yield Offer(f"{each.id} {choice}", f"{title} {choice}", "", why, is_here)
    for name in choices("profile", state):
        yield Offer(f"select {name}", f"Select {name}", "", "", True)


def about(line: str, table: KeyTable, state: ConsoleState) -> str:
    """Say what the command does whose word is typed, or why it does not now; "" while there is no such word."""
    word = line.lstrip(": ").partition(" ")[0]
    action = ALIASES.get(word, word)
    if action not in table:
        return ""
    why, taken = table.why_not(action, state), TAKES.get(action, "")
    told = f"{table[action].title}{f' [{WORDS.get(taken, taken)}]' if taken else ''}"
    return f"{told}: not now: {why}" if why else told


def _check(kind: Kind, argument: str, state: ConsoleState) -> None:
    known = choices(kind, state)
    if argument not in known:
        raise UsageError(f"no {kind} is called {argument!r}", _near(argument, known, _listed(known)))


def _near(word: str, known: tuple[str, ...], otherwise: str) -> str:
    near = nearest(word, known)
    return f"Nearest: {near}." if near else otherwise


def _listed(known: tuple[str, ...]) -> str:
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    return f"There are: {', '.join(known[:8])}{more}." if known else "There is none."
