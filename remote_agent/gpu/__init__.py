"""Where GPU numbers come from: NVML, else nvidia-smi, else none with the reason."""

from __future__ import annotations

import time
from typing import List, Optional, Tuple

from remote_agent.protocol import GpuHolder, Hardware, TelemetrySample


class SourceError(Exception):
    """A source cannot be used on this node; the text says why."""


class Source:
    """No GPU numbers, and the reason; the other sources replace the readings."""

    name = "none"

    def __init__(self, reason: str = "") -> None:
        self.reason = reason

    def sample(self) -> TelemetrySample:
        """All GPUs now. Raises SourceError."""
        return TelemetrySample(at=time.time(), source=self.name, reason=self.reason)

    def holders(self) -> List[GpuHolder]:
        """Processes with memory on a GPU, as the driver names them. Raises SourceError."""
        return []

    def hardware(self) -> Hardware:
        """What the GPUs are and how they are linked; no NUMA nodes yet. Raises SourceError."""
        return Hardware(unread={"gpus": self.reason})

    def close(self) -> None:
        """Let go of the driver, so that the next reading opens it afresh."""


def open_source(wanted: str, nvidia_smi: str) -> Source:
    """Open the wanted source, or the best there is; never raises."""
    from remote_agent.gpu.nvml import NvmlSource
    from remote_agent.gpu.smi import SmiSource

    if wanted == "none":
        return Source("switched off by --gpu-source none")
    reasons = []
    if wanted in ("auto", "nvml"):
        source, why = _try(NvmlSource)
        if source:
            return source
        reasons.append(f"NVML: {why}")
    if wanted in ("auto", "smi"):
        source, why = _try(SmiSource, nvidia_smi, "; ".join(reasons))
        if source:
            return source
        reasons.append(f"nvidia-smi: {why}")
    return Source("; ".join(reasons))


def _try(kind: type, *args: str) -> Tuple[Optional[Source], str]:
    try:
        source = kind(*args)
        source.sample()
    except SourceError as error:
        return None, str(error)
    return source, ""


def sysfs_name(bus_id: str) -> str:
    """The driver writes a PCI domain with eight digits, sysfs with four, in small letters."""
    return bus_id[-12:].lower()
