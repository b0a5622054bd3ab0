"""Scenes: what has happened, and the keys that were pressed. Each screen, each modal, each state of the link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from console.errors import STARTED_READONLY
from console.launch.library import Library
from console.paths import shipped_profiles
from console.remote import prompts
from console.state import events
from console.state.model import ConsoleState, LaunchView, Step
from console.state.update import fold
from console.tui.keys import SCREENS
from console.tui.modals.draft import DraftModal
from console.tui.modals.error import ErrorModal
from console.tui.modals.overview import OverviewModal
from console.tui.modals.plan import PlanModal
from console.tui.modals.question import QuestionModal
from console.tui.modals.typed import TypedModal
from console.tui.settings import Settings
from console.tui.translate import profile_view
from tests.tui.events import COMMAND, FACTS, busy
from tests.tui.sweeps import finished
from tests.unit.state.samples import telemetry

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

    from console.state.events import Event

READONLY = Settings(readonly=STARTED_READONLY)
PLAN = (
    "stop server 20261130T014505-c3534b of me@here: pid 4711 and 8 ranks",
    ("left alone: pid 4242 python train.py on GPU 1, of alice", "warn"),
)


EVA = "eva@desk, patch.apply (agent pid 77 on gpu-node-2, since 2026-11-30 01:00:00 UTC)"
WALKED = profile_view("kimi-k2.5-eagle3-debug", "", Library((shipped_profiles(),)))
_STEPS = (
    Step("free", "this operator's servers end, GPUs are measured free", "done", "8/8 GPUs free", 2.1),
    Step("patch", "eagle3-shapes applied, read back and compiled", "skipped", "left out"),
    Step("launch", "preflight, exact command, ready", "failed", "not launched: port 8000 is taken by pid 77", 0.4),
    *WALKED.steps[4:],
)
EDITED = events.RunbookEdited("kimi-k2.5-eagle3-debug", _STEPS, ("patch",))
LINKED = (events.LinkChanged("connected"),)


def locked() -> events.InventoryRead:
    return events.InventoryRead(replace(FACTS, lock_holder=EVA), telemetry(0, 0, 1, 8 << 30), (), (), 0, "")


NODES = (
    fold(ConsoleState(), busy()),
    fold(ConsoleState(), [events.NodeNamed("gpu-node-2", "me@here", False), *LINKED, locked()]),
    fold(
        ConsoleState(), [events.NodeNamed("gpu-node-3", "me@here", False), events.LinkChanged("disconnected", "no key")]
    ),
)


@dataclass(frozen=True)
class Scene:
    """What is to be seen."""

    name: str
    told: tuple[Event, ...] = ()
    keys: tuple[str, ...] = ()
    modal: Callable[[], Screen[object]] | None = None
    settings: Settings | None = None


def _of_screens() -> list[Scene]:
    seen = [Scene(name, tuple(busy()), (str(number),)) for number, name in enumerate(SCREENS, 1)]
    empty = [Scene(f"{name}-empty", (), (str(number),)) for number, name in enumerate(SCREENS, 1)]
    return [*seen, *empty]


SCENES = (
    *_of_screens(),
    Scene("reconnecting", (*busy(), events.LinkChanged("reconnecting", "EOF"))),
    Scene("disconnected", (*busy(), events.LinkChanged("disconnected", "the host key has changed"))),
    Scene("simulated", (*busy(), events.NodeNamed("demo", "me@here", True))),
    Scene("readonly", tuple(busy()), settings=READONLY),
    Scene("sweep", (*busy(), events.SweepsRead((finished(),))), ("5", "w")),
    Scene("logs-charts", tuple(busy()), ("2", "c")),
    Scene("planned", (*busy(), events.ActionAsked("free", "Free GPUs"), events.ActionPlanned())),
    Scene("locked", (*busy(), locked())),
    Scene("launch-of-before", (*busy(), events.LaunchPlanned(LaunchView("kimi-k2.5-eagle3-debug", COMMAND))), ("3",)),
    Scene("runbook", (*busy(), events.ProfilesListed((WALKED,)), events.RunbookCleared()), ("s",)),
    Scene("runbook-edited", (*busy(), events.ProfilesListed((WALKED,)), EDITED, *LINKED), ("s",)),
    Scene("overview", tuple(busy()), modal=lambda: OverviewModal(lambda: NODES, 1)),
    Scene("command-argument", tuple(busy()), ("colon", *"log.save")),
    Scene("help", tuple(busy()), ("question_mark",)),
    Scene("palette", tuple(busy()), ("ctrl+p",)),
    Scene("command-line", tuple(busy()), ("colon", *"sel", "tab")),
    Scene("row-in-full", tuple(busy()), ("3", "enter")),
    Scene("log-source", tuple(busy()), ("2", "o")),
    Scene("plan", tuple(busy()), modal=lambda: PlanModal("Free GPUs", "F", PLAN)),
    Scene("plan-refused", tuple(busy()), modal=lambda: PlanModal("Launch", "L", PLAN, refusal="port 8000 is taken")),
    Scene("error", tuple(busy()), modal=lambda: ErrorModal("Launch failed", "it died", "Read the log.", "Traceback")),
    Scene("question", modal=lambda: QuestionModal(prompts.password("gpu-node-1"))),
    Scene("unlock", tuple(busy()), modal=lambda: TypedModal("Allow changes?", ["They reach the node."], "gpu-node-1")),
    Scene("draft", tuple(busy()), modal=lambda: DraftModal("mine is not valid", ["mine.yaml:3:1: no key 'x'"])),
)
