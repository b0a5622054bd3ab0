"""What the tabs tell: every open node by what matters of it, and which one is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.state.server_phase import server_word

if TYPE_CHECKING:
    from console.state.model import ConsoleState


@dataclass(frozen=True, slots=True)
class NodeTab:
    """One open node in short."""

    name: str
    link: str = "connecting"
    age_s: float = 0.0
    """How old what is known of it is; 0 while it is heard."""
    free: int | None = None
    """GPUs that are free; None until they were read."""
    gpus: int = 0
    alarms: tuple[str, ...] = ()
    busy: str = ""
    """The action that runs there."""


@dataclass(frozen=True, slots=True)
class NodesState:
    """The open nodes in the order they were named; nothing where only one is."""

    tabs: tuple[NodeTab, ...] = ()
    shown: int = 0


def tab_of(state: ConsoleState) -> NodeTab:
    """Return a node in short."""
    return NodeTab(
        name=state.node.name,
        link=state.link.name,
        age_s=state.link.age_s,
        free=sum(each.state == "free" for each in state.gpus.verdicts) if state.gpus.sample else None,
        gpus=len(state.gpus.verdicts),
        alarms=tuple(alarms(state)),
        busy=state.action.title if state.action.is_busy else "",
    )


def alarms(state: ConsoleState) -> list[str]:
    """Name what wants to be looked at: a dead server, half a patch, an action without its proof."""
    found = []
    if server_word(state) in ("lost", "died"):
        found.append("server died")
    if any(entry.is_cut_short for entry in state.node.ledger):
        found.append("half patched")
    if state.action.phase in ("failed", "unknown"):
        found.append(f"{state.action.title} {state.action.phase}")
    return found
