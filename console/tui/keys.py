"""The keys: a table of action id → key, title, where it works, and why it does not just now.

Lower-case letters and numbers only look. Capital letters change the node: each plans first, shows the plan, and is
confirmed by the same capital again; only N and G look too, as in every pager. X (take patches back) works on the screen
that shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from console.state.model import ConsoleState

SCREENS = ("node", "logs", "launch", "patches", "probe", "runs")
"""Screens in the order of their numbers."""

Group = Literal["screens", "change", "look", "console"]
WhyNot = Callable[["ConsoleState"], str]


def _always(_state: ConsoleState) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Key:
    """One action: `id` is what a keymap names."""

    id: str
    key: str
    title: str
    group: Group
    why_not: WhyNot = _always
    """Why the action is not to be had in this state; empty when it is."""
    screens: tuple[str, ...] = SCREENS
    shown: str = ""
    """How the key is written, where its name is long."""
    short: str = ""
    """The title on the key bar, where the title is long."""

    @property
    def label(self) -> str:
        return self.shown or self.key

    @property
    def name(self) -> str:
        return self.short or self.title

    @property
    def is_bound(self) -> bool:
        """False for what Textual itself binds: it stands here to be shown."""
        return self.id != "palette"


def _why_no_change(state: ConsoleState) -> str:
    """What stands against every change of the node."""
    if not state.link.is_up:
        reason = f" ({state.link.reason})" if state.link.reason else ""
        return f"not connected: {state.link.name}{reason}"
    if state.node.hello and state.node.hello.readonly:
        return f"read-only: {state.node.hello.readonly_reason}"
    if state.action.is_busy:
        return f"{state.action.title} is {'being planned' if state.action.phase == 'planning' else 'running'}"
    return ""


def _why_no_profile(state: ConsoleState) -> str:
    if why := _why_no_change(state):
        return why
    current = state.profiles.current
    if current is None:
        return "no profile is selected (3 lists them)"
    return f"profile {current.name} cannot be used: {current.problem}" if current.problem else ""


def _why_no_stop(state: ConsoleState) -> str:
    if why := _why_no_change(state):
        return why
    meant = state.servers.meant
    if meant is None:
        return _which_server(state)
    if meant.operator != state.node.operator:
        return f"server {meant.run_id} belongs to {meant.operator}"
    return ""


def _why_no_probe(state: ConsoleState) -> str:
    if why := _why_no_change(state):
        return why
    return "" if state.servers.meant else _which_server(state)


def _which_server(state: ConsoleState) -> str:
    if not state.servers.running:
        return "no server is running"
    return "which server? put the cursor on one (screen 1)"


def _why_no_revert(state: ConsoleState) -> str:
    if why := _why_no_change(state):
        return why
    is_there = state.patches.ledger or state.patches.overlay
    return "" if is_there else "nothing is applied by this account on this node"


def _why_no_resume(state: ConsoleState) -> str:
    if why := _why_no_change(state):
        return why
    shown = state.sweep.shown
    if shown is None:
        return "no sweep of this node is stored"
    return f"sweep {shown.sweep_id} is finished" if shown.is_finished else ""


def _why_no_cancel(state: ConsoleState) -> str:
    return "" if state.action.is_busy else "nothing is running"


def _why_no_clear(state: ConsoleState) -> str:
    if state.action.is_busy:
        return f"{state.action.title} is running"
    return "" if state.runbook.steps else "there is no checklist"


def _log(name: str, key: str, title: str, shown: str = "", short: str = "") -> Key:
    """A key of the log screen."""
    return Key(f"log.{name}", key, title, "look", screens=("logs",), shown=shown, short=short)


KEYS: tuple[Key, ...] = (
    *(Key(f"screen.{name}", str(number), name.capitalize(), "screens") for number, name in enumerate(SCREENS, 1)),
    Key("free", "F", "Free GPUs", "change", _why_no_change, short="Free"),
    Key("patch", "P", "Patch", "change", _why_no_profile),
    Key("launch", "L", "Launch", "change", _why_no_profile),
    Key("probe", "B", "Benchmark", "change", _why_no_probe),
    Key("stop", "S", "Stop", "change", _why_no_stop),
    Key("runbook", "R", "Runbook", "change", _why_no_profile),
    Key("patch_in_place", "I", "Patch in place", "change", _why_no_profile, ("patches",), short="Tree"),
    Key("revert", "X", "Revert patches", "change", _why_no_revert, ("patches",), short="Revert"),
    Key("sweep", "W", "Sweep", "change", _why_no_profile, ("probe",)),
    Key("resume_sweep", "U", "Take up the sweep", "change", _why_no_resume, ("probe",), short="Resume"),
    Key("probe.sweep", "w", "Comparison, or sweeps", "look", screens=("probe",), short="Sweeps"),
    Key("clear", "c", "Clear checklist", "look", _why_no_clear, ("node",), short="Clear"),
    Key("reread", "r", "Re-read", "look"),
    Key("pane", "tab", "Next pane", "look", short="Pane"),
    _log("filter", "slash", "Filter the whole file", "/", "Filter"),
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
    _log("to_bookmark", "apostrophe", "Next bookmark", "'"),
    _log("time", "at", "Go to a time", "@", "Time"),
    _log("copy", "y", "Copy the line", short="Copy"),
    _log("range", "v", "A range begins here", short="Range"),
    _log("save", "f", "Save the range, or what is filtered", short="Save"),
    _log("open", "o", "Open a log file of the node", short="Open"),
    Key("runs.baseline", "b", "As baseline", "look", screens=("runs",), short="Baseline"),
    Key("runs.candidate", "c", "As candidate", "look", screens=("runs",), short="Candidate"),
    Key("cancel", "escape", "Cancel action", "console", _why_no_cancel, shown="esc", short="Cancel"),
    Key("help", "question_mark", "Keys", "console", shown="?"),
    Key("quit", "q", "Quit", "console"),
    Key("palette", "ctrl+p", "Palette", "look", shown="^p"),
)

BY_ID = {each.id: each for each in KEYS}


def on_screen(screen: str) -> tuple[Key, ...]:
    """Return the keys that work on a screen."""
    return tuple(each for each in KEYS if screen in each.screens)
