"""The whole of what is known, as frozen slices. What the user looks at (cursor, filter, pause) is the screens' own.

Values of other rooms that may be imported from here (node, logs, the wire) are kept as they are; those of probes,
actions and rules come as the plain views below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from console.state.log_state import LogState
from console.state.nodes_state import NodesState
from console.state.replay_state import ReplayState
from console.state.runs_state import RunsState
from console.state.sweep_state import SweepState

if TYPE_CHECKING:
    from console.node.holders import Holder
    from console.node.verdict import GpuVerdict
    from remote_agent.protocol import Hello, LedgerEntry, NodeFacts, ServerRun, TelemetrySample

StepName = Literal["waiting", "running", "done", "failed", "skipped"]
Phase = Literal["idle", "planning", "planned", "running", "done", "failed", "unknown", "cancelled"]
Severity = Literal["error", "warn", "info"]


@dataclass(frozen=True, slots=True)
class LinkState:
    """The connection, by the session's names: connecting, connected, heartbeat-missed, reconnecting, disconnected."""

    name: str = "connecting"
    reason: str = ""
    age_s: float = 0.0
    """How old what is shown of the node is; 0 while it is heard."""

    @property
    def is_up(self) -> bool:
        return self.name in ("connected", "heartbeat-missed")


@dataclass(frozen=True, slots=True)
class NodeState:
    """What the node is. `hello` and `facts` are None until it was reached."""

    name: str = ""
    operator: str = ""
    simulated: bool = False
    hello: Hello | None = None
    facts: NodeFacts | None = None
    ledger: tuple[LedgerEntry, ...] = ()
    """Files of the node that are changed by us now: it is dirty while there is one."""
    readonly: str = ""
    """Why this console refuses every change; empty when it does not."""

    @property
    def locked_by(self) -> str:
        """The operator of another console that changes the node just now; empty while none does."""
        operator = self.facts.lock_holder.partition(",")[0] if self.facts else ""
        return operator if operator != self.operator else ""

    @property
    def why_readonly(self) -> str:
        """Why nothing may be changed: this console's reason, else the agent's; empty when it may."""
        agents = self.hello.readonly_reason if self.hello and self.hello.readonly else ""
        return self.readonly or agents


@dataclass(frozen=True, slots=True)
class GpuState:
    """The newest readings, who holds memory, and the verdicts made of both."""

    sample: TelemetrySample | None = None
    holders: tuple[Holder, ...] = ()
    verdicts: tuple[GpuVerdict, ...] = ()
    """In the order of `sample.gpus`."""
    unreadable_pids: int = 0
    reason: str = ""
    """Why holders may be incomplete."""
    every_s: float = 0.0
    """Seconds from one look at the holders to the next; what a busy node pays for a look is kept small by it."""


@dataclass(frozen=True, slots=True)
class ServersState:
    """Run records of the node, oldest first."""

    runs: tuple[ServerRun, ...] = ()
    chosen: str | None = None
    """The run that the cursor is on; it is meant where several run."""
    operator: str = ""

    @property
    def running(self) -> tuple[ServerRun, ...]:
        return tuple(run for run in self.runs if run.state in ("running", "starting"))

    def running_of(self, profile: str) -> tuple[ServerRun, ...]:
        """Those of a profile that run, the newest first."""
        found = (run for run in self.running if (run.record.get("profile") or {}).get("name") == profile)
        return tuple(reversed(tuple(found)))

    @property
    def newest_own(self) -> ServerRun | None:
        """The newest of this operator, ended or not."""
        return next((run for run in reversed(self.runs) if run.operator == self.operator), None)

    @property
    def meant(self) -> ServerRun | None:
        """The running server that stop and probe act on: the chosen one, else the only one of this operator."""
        chosen = next((run for run in self.running if run.run_id == self.chosen), None)
        own = [run for run in self.running if run.operator == self.operator]
        if len(own) == 1 and (chosen is None or chosen.operator == self.operator):
            return own[0]
        return chosen


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the runbook's checklist."""

    id: str
    title: str
    state: StepName = "waiting"
    proof: str = ""
    elapsed_s: float = 0.0
    made: str = ""
    """Id of the server or of the stored run that it made or read; empty where there is none."""

    @property
    def kind(self) -> str:
        """What it does: the second step of a kind is called `probe-2`."""
        return self.id.partition("-")[0]


@dataclass(frozen=True, slots=True)
class LoadedRunbook:
    """The file that a checklist is from, and what it changes of the profile, as `runbook` takes that."""

    path: str
    sets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    delivery: str | None = None


@dataclass(frozen=True, slots=True)
class RunbookState:
    """The checklist that was edited, loaded or walked; without steps none of it was done."""

    profile: str = ""
    steps: tuple[Step, ...] = ()
    skip: tuple[str, ...] = ()
    """Ids of the steps that the user left out."""
    file: LoadedRunbook | None = None
    """Where it is from; None: the profile's own."""

    @property
    def failed(self) -> Step | None:
        return next((step for step in self.steps if step.state == "failed"), None)

    @property
    def resumes_at(self) -> Step | None:
        """The first step that is still to be done; None before a walk, and when nothing is left of it."""
        has_begun = any(step.state in ("done", "failed") for step in self.steps)
        left = (step for step in self.steps if step.state in ("waiting", "failed"))
        return next(left, None) if has_begun else None

    @property
    def is_walking(self) -> bool:
        return any(step.state == "running" for step in self.steps)


@dataclass(frozen=True, slots=True)
class ActionState:
    """The action that runs, or ran last: its narration, and how it ended."""

    id: str = ""
    title: str = ""
    phase: Phase = "idle"
    lines: tuple[str, ...] = ()
    """What it said, the newest last."""
    outcome: str = ""
    """The proof, or why there is none."""

    @property
    def is_busy(self) -> bool:
        return self.phase in ("planning", "planned", "running")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found, in its own words."""

    rule: str
    severity: Severity
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ProfileView:
    """A profile as it stands in its file; `problem` says why it cannot be used."""

    name: str
    source: str
    description: str = ""
    patches: tuple[str, ...] = ()
    speculative: str = ""
    """The algorithm, empty without speculation."""
    baseline: str = ""
    varies: tuple[str, ...] = ()
    problem: str = ""
    steps: tuple[Step, ...] = ()
    """Its own runbook, of which nothing is done."""


@dataclass(frozen=True, slots=True)
class LaunchView:
    """The exact command of a profile on this node, and what the rules found."""

    profile: str
    command: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    wiring: tuple[str, ...] = ()
    """Which layer outputs are captured, and what the draft was trained on."""
    beside: tuple[str, ...] = ()
    """Servers of this profile that ran when it was planned: what was found is of one more."""


@dataclass(frozen=True, slots=True)
class ProfilesState:
    """Every profile, and the selected one's launch."""

    found: tuple[ProfileView, ...] = ()
    selected: str = ""
    launch: LaunchView | None = None
    problem: str = ""
    """Why the selected one could not be planned."""

    @property
    def current(self) -> ProfileView | None:
        return next((each for each in self.found if each.name == self.selected), None)


@dataclass(frozen=True, slots=True)
class PatchFile:
    """One file of one patch, as it stands in the tree."""

    patch_id: str
    path: str
    state: str
    why: str
    diff: str = ""


@dataclass(frozen=True, slots=True)
class PatchesState:
    """The installed tree. `root` is empty until it was read."""

    root: str = ""
    version: str = ""
    profile: str = ""
    files: tuple[PatchFile, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()
    overlay: str = ""
    """The name of the overlay that gives all of `files` patched."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be shown once; `number` grows."""

    number: int
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class NoticesState:
    """The newest notices, oldest first."""

    last: int = 0
    recent: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsoleState:
    """Everything known at one moment."""

    link: LinkState = field(default_factory=LinkState)
    node: NodeState = field(default_factory=NodeState)
    nodes: NodesState = field(default_factory=NodesState)
    gpus: GpuState = field(default_factory=GpuState)
    servers: ServersState = field(default_factory=ServersState)
    runbook: RunbookState = field(default_factory=RunbookState)
    action: ActionState = field(default_factory=ActionState)
    profiles: ProfilesState = field(default_factory=ProfilesState)
    patches: PatchesState = field(default_factory=PatchesState)
    runs: RunsState = field(default_factory=RunsState)
    sweep: SweepState = field(default_factory=SweepState)
    log: LogState = field(default_factory=LogState)
    notices: NoticesState = field(default_factory=NoticesState)
    replay: ReplayState = field(default_factory=ReplayState)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The checklist as it stands, else the selected profile's own."""
        current = self.profiles.current
        return self.runbook.steps or (current.steps if current else ())
