"""What rules may look at before a launch: the profile and facts read from the node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.launch.command import Command
    from console.launch.loader import ResolvedProfile
    from console.launch.needs import Needs
    from console.node.verdict import GpuVerdict
    from remote_agent.protocol import PathFacts, PortFacts, ServerRun, SGLangFacts


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """One launch that is about to be made."""

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
