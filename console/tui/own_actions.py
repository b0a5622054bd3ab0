"""The actions that are the console's own: neither the node's nor one screen's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from console.state.events import ReadonlySet, RunbookCleared
from console.tui import themes
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.tui.app import ConsoleApp
    from console.tui.commands import Said
    from console.tui.text import Line

_STAYS = "A server that it has started stays; a probe is ended."
LOCKED = "the console was told to: :readonly"


def cancel(app: ConsoleApp) -> None:
    """Ask whether what runs is to be cancelled."""
    app.run_worker(_cancel(app), group="question")


def quit_(app: ConsoleApp) -> None:
    """Leave; ask first while an action runs."""
    app.run_worker(_quit(app), group="question")


async def _cancel(app: ConsoleApp) -> None:
    stream, connected = app.stream, app.connected
    title = stream.state.action.title

    def is_on() -> bool:
        return stream.state.action.is_busy and stream.state.action.title == title

    footer = "C: cancel it.  Enter, Esc: let it go on."
    if connected and is_on() and await _asked(app, f"Cancel {title}?", "C", f"{title} is running.", footer, is_on):
        connected.cancel()


async def _quit(app: ConsoleApp) -> None:
    state, key = app.stream.state, app.table["quit"]
    if state.replay.source:
        app.exit()
        return
    busy = app.nodes.busy()
    if busy and not await _asked(
        app,
        "Quit?",
        key.key or "q",
        f"{'; '.join(busy)}.",
        f"{key.label if key.key else 'q'} again: quit.  Enter, Esc: stay.",
        lambda: app.nodes.busy() == busy,
    ):
        return
    told = app.nodes.farewell()
    app.exit(message=Text(plain("\n".join(told), lines=True)) if told else None)


async def _asked(app: ConsoleApp, title: str, key: str, line: str, footer: str, is_open: Callable[[], bool]) -> bool:
    """Ask about what runs, as long as it does."""
    from console.tui.modals.plan import PlanModal

    modal = PlanModal(title, key, [line, _STAYS], footer=footer, is_open=is_open)
    answer: bool | None = await app.push_screen_wait(modal)
    return bool(answer)


def _help(app: ConsoleApp) -> None:
    from console.tui.modals.help import HelpModal

    app.push_screen(HelpModal(app.table, app.current_mode, app.stream.state))


def _palette(app: ConsoleApp) -> None:
    from console.tui.palette import make_palette

    app.push_screen(make_palette())


def command(app: ConsoleApp, begun: str = "") -> None:
    """Open the command line, with a line that is begun already."""
    from console.tui.command_history import CommandHistory
    from console.tui.modals.command_line import CommandLine

    history = CommandHistory(app.settings.history)

    def given(said: Said | None) -> None:
        if history.problem:
            app.say(history.problem, "warning")
        if said:
            app.obey(said)

    app.push_screen(CommandLine(app.table, lambda: app.stream.state, history, begun), given)


def _nodes(app: ConsoleApp) -> None:
    from console.tui.modals.overview import OverviewModal

    nodes = app.nodes
    modal = OverviewModal(lambda: [each.state for each in nodes.all], nodes.all.index(nodes.shown))
    app.push_screen(modal, lambda at: None if at is None else nodes.look_at(at))


def _clear(app: ConsoleApp) -> None:
    app.stream.put(RunbookCleared())


def _reread(app: ConsoleApp) -> None:
    """Read everything that this screen shows; when the first connect failed, try it again."""
    if app.stream.state.link.name == "disconnected":
        app.connect(app.nodes.shown)
    elif app.connected:
        app.connected.reread()


def _theme(app: ConsoleApp) -> None:
    name = themes.next_theme(app.theme)
    app.theme = themes.textual_theme(name)
    app.say(f"theme: {name}")


def _readonly(app: ConsoleApp) -> None:
    _lock(app, LOCKED)


def _unlock(app: ConsoleApp) -> None:
    app.run_worker(_ask_unlock(app), group="question")


async def _ask_unlock(app: ConsoleApp) -> None:
    from console.tui.modals.typed import TypedModal

    node = app.stream.state.node
    lines: tuple[Line | str, ...] = (
        f"Nothing on {node.name} can be changed from here: {node.readonly}.",
        ("With changes allowed the console connects anew; each is still planned, shown and confirmed.", "dim"),
    )
    answer: bool | None = await app.push_screen_wait(TypedModal(f"Allow changes on {node.name}?", lines, node.name))
    if answer:
        _lock(app, "")


def _lock(app: ConsoleApp, reason: str) -> None:
    """Refuse every change for this reason, or allow them: in the state, and by an agent that refuses them itself."""
    app.stream.put(ReadonlySet(reason))
    app.stream.flush()
    if app.connected:
        app.connected.be_readonly(reason)


OWN: dict[str, Callable[[ConsoleApp], object]] = {
    "nodes": _nodes,
    "node.next": lambda app: app.nodes.step(1),
    "node.previous": lambda app: app.nodes.step(-1),
    "help": _help,
    "palette": _palette,
    "command": command,
    "clear": _clear,
    "reread": _reread,
    "theme": _theme,
    "readonly": _readonly,
    "unlock": _unlock,
    "cancel": lambda app: cancel(app) if app.stream.state.action.is_busy else None,
    "quit": quit_,
}
"""By the action's id in `keys`."""
