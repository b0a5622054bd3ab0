"""What rules may look at: a launch and its files, the node it is to run on, and the log of one that ran.

Every part may be unknown (None): a rule says nothing of what it cannot see.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.launch.asked import Asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.launch.command import Command
    from console.launch.loader import ResolvedProfile
    from console.launch.needs import Needs
    from console.launch.profile import Profile
    from console.logs.history import LogHistory
    from console.logs.phases import Cause
    from console.logs.record import Record
    from console.node.holders import Holder
    from console.node.verdict import GpuVerdict
    from console.wiring.checkpoint import Checkpoint
    from console.wiring.layers import Resolution
    from remote_agent.protocol import PathFacts, PortFacts, Preflight, ServerRun, SGLangFacts


@dataclass(frozen=True, slots=True)
class Installed:
    """What the installed SGLang's own files say, read by their syntax trees or from its `--help`."""

    flags: frozenset[str] | None = None
    """Full names, without dashes, of every flag it declares; None: not asked."""
    has_hook: bool | None = None
    """Does the target's class have `set_eagle3_layers_to_capture`?"""
    model_file: str = ""
    """The file that was read for it."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch as it is asked for, and the files it names; no node is needed."""

    asked: Asked
    version: str | None = None
    """SGLang's release."""
    target: Checkpoint | None = None
    draft: Checkpoint | None = None
    resolution: Resolution | None = None
    """Which layer outputs are captured; with a target and a draft."""
    trained: tuple[int, ...] | None = None
    """Layer outputs that the draft was trained on, 0-based; -1 is the embedding."""
    trained_by: str = ""
    """Who says so: the profile, or a manifest beside the draft."""
    profile: Profile | None = None
    baseline: Asked | None = None
    """The launch that it will be compared with."""
    concurrency: int | None = None
    """Requests at once that will be sent, where that is known beside the profile's probe."""
    installed: Installed = Installed()
    architecture: tuple[int, int] | None = None
    """Compute capability of the GPUs."""
    gpu_memory_bytes: int | None = None
    """Of the smallest GPU that it will use."""


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """One launch that is about to be made on a node."""

    resolved: ResolvedProfile
    command: Command
    needs: Needs
    paths: Mapping[str, PathFacts]
    """Facts of each path in `needs`, the log and its folder included."""
    port: PortFacts
    sglang: SGLangFacts
    gpus: tuple[GpuVerdict, ...]
    """Verdicts of the GPUs that the profile will use; empty where the node has no GPU readings."""
    patches: Mapping[str, str] = field(default_factory=dict)
    """State in the installed tree of each patch the profile wants."""
    runs: tuple[ServerRun, ...] = ()
    """Servers with a run record on the node."""
    launch: Launch = Launch(Asked())
    holders: tuple[Holder, ...] = ()
    """Processes on the GPUs, and SGLang's without one."""
    preflight: Preflight | None = None
    """The node as the server would find it; None: not asked."""


@dataclass(frozen=True, slots=True)
class LogContext:
    """A log that was read to its end so far, and the launch that wrote it where that is known."""

    history: LogHistory
    records: Sequence[Record]
    """In order, without those that come by the thousand (shapes, batches, bars)."""
    server_args: Mapping[str, Any] = field(default_factory=dict)
    """As the log itself printed them."""
    launch: Launch | None = None

    @classmethod
    def of(cls, history: LogHistory, launch: Launch | None = None) -> LogContext:
        """The context of what was read so far."""
        records = history.notable.records()
        args = next((record.fields for record in reversed(records) if record.kind == "server_args"), {})
        return cls(history, records, args, launch)

    @property
    def cause(self) -> Cause | None:
        """Why the server died, or the exception that nothing useful followed so far."""
        return self.history.cause

    def of_kind(self, *kinds: str) -> list[Record]:
        return [record for record in self.records if record.kind in kinds]

    def trouble(self, *kinds: str) -> list[Record]:
        """Records of these kinds from the first sign of trouble on: what came before, the server survived."""
        start = self.history.trouble
        return [record for record in self.of_kind(*kinds) if start is not None and record.offset >= start]

    def failures(self, *causes: str) -> list[Record]:
        """Failures of these causes, wherever they stand."""
        return [record for record in self.of_kind("failure") if record.fields["cause"] in causes]

    def errors(self, *errors: str) -> list[Record]:
        """Torch's errors of these names, from the first sign of trouble on."""
        return [record for record in self.trouble("torch_error") if record.fields["error"] in errors]

    def is_cause(self, record: Record) -> bool:
        """Is this the line that the death goes back to?"""
        return self.cause is not None and self.cause.offset == record.offset

    def rank_of(self, record: Record) -> int | None:
        """Whose record it is; a line that does not say is the dead rank's."""
        return record.rank if record.rank is not None else self.cause.rank if self.cause else None

    def frames(self, record: Record) -> tuple[str, ...]:
        """`path:line` of the traceback above an exception, outermost first."""
        return self.history.notable.frames(record.offset)

    def number(self, name: str) -> int | None:
        """A whole number of `server_args=`, or else of the launch."""
        printed = self.server_args.get(name)
        if isinstance(printed, int) and not isinstance(printed, bool):
            return printed
        return self.launch.asked.number(name.replace("_", "-")) if self.launch else None

    @property
    def algorithm(self) -> str | None:
        """The speculative algorithm, in capitals."""
        printed = self.server_args.get("speculative_algorithm")
        return str(printed).upper() if printed else self.launch.asked.algorithm if self.launch else None

    @property
    def loaded(self) -> list[Record]:
        """`Load weight end.` of the first rank that told one: the target, then the draft."""
        ended = [record for record in self.of_kind("load_weight") if "type" in record.fields]
        return [record for record in ended if record.ranks == ended[0].ranks]
