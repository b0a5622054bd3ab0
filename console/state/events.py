"""What can happen, in the past tense: facts about the node and about actions. Nobody's wish is an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.state.action_events import ActionAsked as ActionAsked
from console.state.action_events import ActionCancelled as ActionCancelled
from console.state.action_events import ActionDeclined as ActionDeclined
from console.state.action_events import ActionFailed as ActionFailed
from console.state.action_events import ActionFinished as ActionFinished
from console.state.action_events import ActionPlanned as ActionPlanned
from console.state.action_events import ActionSaid as ActionSaid
from console.state.action_events import ActionStarted as ActionStarted
from console.state.replay_state import ReplayMoved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.marks import Marks
    from console.logs.reading import LogReading
    from console.logs.window import LineWindow
    from console.node.holders import Holder
    from console.state.log_state import LogDoor
    from console.state.model import LaunchView, LoadedRunbook, PatchFile, ProfileView, Severity, Step
    from console.state.nodes_state import NodeTab
    from console.state.runs_state import ComparisonView, RunView
    from console.state.sweep_state import SweepView
    from remote_agent.protocol import Hello, LedgerEntry, NodeFacts, ServerRun, TelemetrySample


@dataclass(frozen=True, slots=True)
class NodeNamed:
    """The console was opened on a node."""

    name: str
    operator: str
    simulated: bool


@dataclass(frozen=True, slots=True)
class ReadonlySet:
    """The console began to refuse every change, for this reason; without one it allows them again."""

    reason: str


@dataclass(frozen=True, slots=True)
class NodesSeen:
    """Another node was looked at, or one of several nodes changed; `shown` is the place of the one that is seen."""

    tabs: tuple[NodeTab, ...]
    shown: int


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """The connection went over to another state."""

    name: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LinkSilent:
    """Nothing was heard of the node for this many seconds: what is shown of it is that old."""

    age_s: float


@dataclass(frozen=True, slots=True)
class AgentGreeted:
    """An agent said hello, at the first connect and after each reconnect."""

    hello: Hello


@dataclass(frozen=True, slots=True)
class TelemetrySampled:
    """The GPUs were read."""

    sample: TelemetrySample


@dataclass(frozen=True, slots=True)
class InventoryRead:
    """Facts, GPUs, holders and run records were read at one moment."""

    facts: NodeFacts
    sample: TelemetrySample
    holders: tuple[Holder, ...]
    runs: tuple[ServerRun, ...]
    unreadable_pids: int
    reason: str
    ledger: tuple[LedgerEntry, ...] = ()
    cpu_s: float = 0.0
    """What it cost the node, seconds of a core."""


@dataclass(frozen=True, slots=True)
class ServerChosen:
    """The user's cursor came to a server."""

    run_id: str


@dataclass(frozen=True, slots=True)
class RunbookMoved:
    """The checklist was planned, or a step of it changed."""

    profile: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class RunbookEdited:
    """The user left a step out, put one in, or said where the walk begins; `skip`: ids of the steps left out."""

    profile: str
    steps: tuple[Step, ...]
    skip: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunbookLoaded:
    """A runbook file was read: its checklist is there to be walked."""

    profile: str
    steps: tuple[Step, ...]
    file: LoadedRunbook


@dataclass(frozen=True, slots=True)
class RunbookCleared:
    """The checklist was put away: the next walk begins at its first step."""


@dataclass(frozen=True, slots=True)
class ProfilesListed:
    """Profile files were read; `preferred` is selected when nothing is."""

    found: tuple[ProfileView, ...]
    preferred: str = ""


@dataclass(frozen=True, slots=True)
class ProfileSelected:
    """The user chose a profile."""

    name: str


@dataclass(frozen=True, slots=True)
class LaunchPlanned:
    """A profile's launch was planned on the node."""

    view: LaunchView


@dataclass(frozen=True, slots=True)
class LaunchPlanFailed:
    """A profile's launch could not be planned."""

    profile: str
    problem: str


@dataclass(frozen=True, slots=True)
class TreeRead:
    """The installed tree was read, and patches planned against it."""

    root: str
    version: str
    profile: str
    files: tuple[PatchFile, ...]
    ledger: tuple[LedgerEntry, ...]
    overlay: str = ""
    """The name of the overlay that gives all of it."""


@dataclass(frozen=True, slots=True)
class TreeReadFailed:
    """The tree could not be read."""

    problem: str


@dataclass(frozen=True, slots=True)
class RunsRead:
    """The journal was read."""

    runs: tuple[RunView, ...]


@dataclass(frozen=True, slots=True)
class RunsReadFailed:
    """The journal could not be read."""

    problem: str


@dataclass(frozen=True, slots=True)
class RunsCompared:
    """Two runs were put side by side; a missing one is None, and then there is no comparison."""

    baseline: RunView | None
    candidate: RunView | None
    comparison: ComparisonView | None


@dataclass(frozen=True, slots=True)
class SweepsRead:
    """The sweeps of the journal were read, newest first."""

    stored: tuple[SweepView, ...]


@dataclass(frozen=True, slots=True)
class SweepMoved:
    """A sweep that is walked here said something, or a point of it changed."""

    view: SweepView


@dataclass(frozen=True, slots=True)
class SweepChosen:
    """The user's cursor came to a sweep."""

    sweep_id: str


@dataclass(frozen=True, slots=True)
class LogOpened:
    """A log is followed from now on; the door leads to the parts of it that are not here."""

    run_id: str
    path: str
    record: Mapping[str, Any]
    window: LineWindow
    marks: Marks
    door: LogDoor | None = None


@dataclass(frozen=True, slots=True)
class LogFed:
    """The window took in bytes up to `read_to` of a file of `size`."""

    run_id: str
    version: int
    read_to: int
    size: int


@dataclass(frozen=True, slots=True)
class LogFolded:
    """What the log says up to `behind` bytes before the end of the window; `skipped` bytes are not counted in it."""

    run_id: str
    reading: LogReading | None
    behind: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class LogJudged:
    """What the widths of a log are judged by, in the form of a run record: read of the checkpoints that it names."""

    run_id: str
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogFailed:
    """The log cannot be read at the moment."""

    run_id: str
    problem: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that the user should see once."""

    severity: Severity
    text: str


Event = (
    NodeNamed
    | ReadonlySet
    | NodesSeen
    | LinkChanged
    | LinkSilent
    | AgentGreeted
    | TelemetrySampled
    | InventoryRead
    | ServerChosen
    | RunbookMoved
    | RunbookEdited
    | RunbookLoaded
    | RunbookCleared
    | ActionAsked
    | ActionPlanned
    | ActionDeclined
    | ActionStarted
    | ActionSaid
    | ActionFinished
    | ActionFailed
    | ActionCancelled
    | ProfilesListed
    | ProfileSelected
    | LaunchPlanned
    | LaunchPlanFailed
    | TreeRead
    | TreeReadFailed
    | RunsRead
    | RunsReadFailed
    | RunsCompared
    | SweepsRead
    | SweepMoved
    | SweepChosen
    | LogOpened
    | LogFed
    | LogFolded
    | LogJudged
    | LogFailed
    | Noticed
    | ReplayMoved
)

LATEST = (TelemetrySampled, InventoryRead, LogFed, LogFolded, SweepMoved, NodesSeen)
"""Of these only the newest counts: who collects events before folding them may drop the older ones."""
