"""What each GPU reads with nobody on it: the lowest such reading, kept on the node by the GPU's uuid."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Callable, Dict, Optional, Sequence, Set

from remote_agent.protocol import GpuSample, TelemetrySample
from remote_agent.state_dir import StateDir, read_json, write_json

MOST_BYTES = 1 << 30
"""No GPU idles above this: more than that without a process is memory that somebody lost, never what is normal."""


class IdleReadings:
    """Notes and recalls idle readings; without a state directory only for this connection."""

    def __init__(self, state: Optional[StateDir]) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._lowest = _valid((read_json(state.join("idle.json")) if state else None) or {})

    def note(self, gpus: Sequence[GpuSample], held: Set[int], held_now: Callable[[], Set[int]]) -> None:
        """Take a reading between two looks at who is on which GPU; the second is made only for one worth keeping."""
        with self._lock:
            lower = {
                gpu.uuid: gpu.memory_used_bytes
                for gpu in gpus
                if gpu.index not in held
                and gpu.memory_used_bytes is not None
                and gpu.memory_used_bytes <= MOST_BYTES
                and gpu.memory_used_bytes < self._lowest.get(gpu.uuid, MOST_BYTES + 1)
            }
            again = held_now() if lower else set()
            still_held = {gpu.uuid for gpu in gpus if gpu.index in again}
            lower = {uuid: used for uuid, used in lower.items() if uuid not in still_held}
            if lower:
                self._lowest.update(lower)
                if self._state:
                    write_json(self._state.join("idle.json"), dict(self._lowest))

    def marked(self, sample: TelemetrySample) -> TelemetrySample:
        """The sample with what is known of each GPU's idle reading."""
        gpus = [replace(gpu, memory_idle_bytes=self._lowest.get(gpu.uuid)) for gpu in sample.gpus]
        return replace(sample, gpus=gpus)


def _valid(told: Dict[str, object]) -> Dict[str, int]:
    return {uuid: value for uuid, value in told.items() if isinstance(value, int) and 0 <= value <= MOST_BYTES}
