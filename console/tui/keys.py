"""The keys: a table of action id → key, title, where it works, and why it does not just now.

Lower-case letters and numbers only look. Capital letters change the node: each plans first, shows the plan, and is
confirmed by the same capital again; only N and G look too, as in every pager. X (take patches back) works on the screen
that shows them. A user's keymap (`keymap`) makes another table of this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from console.tui import reasons
from console.tui.key_names import label

if TYPE_CHECKING:
    from console.state.model import ConsoleState

SCREENS = ("node", "logs", "launch", "patches", "probe", "runs")
"""Screens in the order of their numbers."""

Group = Literal["screens", "change", "look", "console"]
WhyNot = Callable[["ConsoleState"], str]


@dataclass(frozen=True, slots=True)
class Key:
    """One action: `id` is what a keymap and the command line name."""

    id: str
    key: str
    """As Textual names it; empty where only the command line has the action."""
    title: str
    group: Group
    why_not: WhyNot = reasons.always
    """Why the action is not to be had in this state; empty when it is. Ask the table, which puts keys into it."""
    screens: tuple[str, ...] = SCREENS
    short: str = ""
    """The title on the key bar, where the title is long."""
    more: tuple[str, ...] = ()
    """Further keys, of the user's keymap."""

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key, *self.more) if self.key else ()

    @property
    def label(self) -> str:
        """How it is shown: its key, else what the command line calls it."""
        return label(self.key) if self.key else f":{self.id}"

    @property
    def name(self) -> str:
        return self.short or self.title


def _log(name: str, key: str, title: str, short: str = "") -> Key:
    """A key of the log screen."""
    return Key(f"log.{name}", key, title, "look", screens=("logs",), short=short)


def _runs(name: str, key: str, title: str, why_not: WhyNot = reasons.always, short: str = "") -> Key:
    """A key of the screen of stored runs."""
    return Key(f"runs.{name}", key, title, "look", why_not, ("runs",), short=short)


def _step(name: str, key: str, title: str, why_not: WhyNot = reasons.no_edit, short: str = "") -> Key:
    """A key of the runbook's steps."""
    return Key(f"runbook.{name}", key, title, "look", why_not, ("node",), short)


KEYS: tuple[Key, ...] = (
    *(Key(f"screen.{name}", str(number), name.capitalize(), "screens") for number, name in enumerate(SCREENS, 1)),
    Key("free", "F", "Free GPUs", "change", reasons.no_change, short="Free"),
    Key("patch", "P", "Patch", "change", reasons.no_profile),
    Key("launch", "L", "Launch", "change", reasons.no_profile),
    Key("probe", "B", "Benchmark", "change", reasons.no_probe),
    Key("stop", "S", "Stop", "change", reasons.no_stop),
    Key("runbook", "R", "Runbook", "change", reasons.no_profile),
    Key("patch_in_place", "I", "Patch in place", "change", reasons.no_profile, ("patches",), short="Tree"),
    Key("revert", "X", "Revert patches", "change", reasons.no_revert, ("patches",), short="Revert"),
    Key("sweep", "W", "Sweep", "change", reasons.no_profile, ("probe",)),
    Key("resume_sweep", "U", "Take up the sweep", "change", reasons.no_resume, ("probe",), short="Resume"),
    Key("probe.sweep", "w", "Comparison, or sweeps", "look", screens=("probe",), short="Sweeps"),
    Key("clear", "c", "Clear checklist", "look", reasons.no_clear, ("node",), short="Clear"),
    _step("open", "o", "Go to what the step did", reasons.no_steps, short="Step"),
    Key("reread", "r", "Re-read", "look"),
    Key("pane", "tab", "Next pane", "look", short="Pane"),
    _step("log", "v", "The step's part of the log", reasons.no_steps, short="Its log"),
    _step("skip", "s", "Leave the step out, or not", short="Skip"),
    _step("begin", "b", "Begin at the step", short="Begin"),
    _step("insert", "i", "Put a step in", short="Insert"),
    _step("save", "f", "Save the runbook as a file", reasons.no_save, short="Save"),
    _step("load", "t", "Take a runbook from a file", reasons.no_load, short="Load"),
    _log("filter", "slash", "Filter the whole file", "Filter"),
    _log("follow", "space", "Pause, or follow again", short="Pause"),
    _log("view", "t", "Lines, shapes, charts", short="View"),
    _log("next", "n", "Next of what was sought last", short="Next"),
    _log("previous", "N", "Previous of what was sought last", short="Previous"),
    _log("error", "e", "Next error", short="Error"),
    _log("warning", "w", "Next warning", short="Warning"),
    _log("shape", "d", "Next change of a shape", short="Shape change"),
    _log("slow", "s", "Next slow-down", short="Slow-down"),
    _log("ranks", "a", "Ranks to show", short="Ranks"),
    _log("collapse", "x", "Equal lines of ranks as one", short="As one"),
    _log("unclaimed", "u", "Lines that no parser knows", short="Unclaimed"),
    _log("wrap", "z", "Wrap long lines", short="Wrap"),
    _log("bookmark", "m", "Bookmark", short="Mark"),
    _log("to_bookmark", "apostrophe", "Next bookmark"),
    _log("time", "at", "Go to a time", "Time"),
    _log("copy", "y", "Copy the line", short="Copy"),
    _log("range", "v", "A range begins here", short="Range"),
    _log("save", "f", "Save the range, or what is filtered", short="Save"),
    _log("open", "o", "Open a log file of the node", short="Open"),
    Key("launch.fields", "f", "Fields of the profile", "look", screens=("launch",), short="Fields"),
    Key("launch.edit", "e", "Edit the profile in $EDITOR", "look", screens=("launch",), short="Edit"),
    _runs("search", "slash", "Search the runs", short="Search"),
    _runs("baseline", "b", "As baseline", short="Baseline"),
    _runs("candidate", "c", "As candidate", short="Candidate"),
    _runs("mark", "m", "Mark: two that are marked are compared", short="Mark"),
    _runs("tags", "t", "Tags", reasons.no_run),
    _runs("note", "n", "Note", reasons.no_run),
    _runs("pin", "p", "Pin as baseline, or unpin", reasons.no_run, short="Pin"),
    _runs("log", "o", "Open its part of the server's log", reasons.no_run, short="Log"),
    _runs("delete", "d", "Delete", reasons.no_run),
    _runs("undo", "u", "Bring back what was deleted last", reasons.no_journal, short="Undo"),
    Key("cancel", "escape", "Cancel action", "console", reasons.no_cancel, short="Cancel"),
    Key("help", "question_mark", "Keys", "console"),
    Key("quit", "q", "Quit", "console"),
    Key("command", "colon", "Command line", "console", short="Command"),
    Key("palette", "ctrl+p", "Palette", "console"),
    Key("nodes", "0", "All nodes", "console", reasons.one_node, short="All nodes"),
    Key("node.next", "right_square_bracket", "Next node", "console", reasons.one_node, short="Next node"),
    Key("node.previous", "left_square_bracket", "Previous node", "console", reasons.one_node, short="Previous"),
    Key("theme", "", "Theme: dark, light, ansi", "console", short="Theme"),
    Key("readonly", "", "Refuse every change", "console", reasons.no_lock, short="Read-only"),
    Key("unlock", "", "Allow changes again", "console", reasons.no_unlock, short="Unlock"),
)


class KeyTable:
    """The actions by id and by screen, with the keys that the user has for them."""

    def __init__(self, keys: tuple[Key, ...] = KEYS) -> None:
        self.keys = keys
        self._by_id = {each.id: each for each in keys}

    def __getitem__(self, name: str) -> Key:
        return self._by_id[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_id

    def on_screen(self, screen: str) -> tuple[Key, ...]:
        """Return the actions that a screen has."""
        return tuple(each for each in self.keys if screen in each.screens)

    def with_keys(self, given: Mapping[str, tuple[str, ...]]) -> KeyTable:
        """Return a table with these keys, as Textual names them, in place of its own; () takes an action's key."""
        return KeyTable(
            tuple(
                replace(each, key=(given[each.id] or ("",))[0], more=given[each.id][1:]) if each.id in given else each
                for each in self.keys
            )
        )

    def hint(self, text: str) -> str:
        """Put the key of an action where its id stands in braces: "{probe} measures" is "B measures"."""
        return re.sub(
            r"\{([a-z_.]+)\}", lambda found: self[found[1]].label if found[1] in self else found.group(), text
        )

    def why_not(self, name: str, state: ConsoleState) -> str:
        """Return why an action is not to be had in this state; empty when it is."""
        return self.hint(self[name].why_not(state))


def table_of(app: object) -> KeyTable:
    """Return the table of the app that a widget stands in."""
    found = getattr(app, "table", None)
    return found if isinstance(found, KeyTable) else KeyTable()
