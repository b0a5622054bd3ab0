"""What the handlers share: options, the state directory, the GPU source, and how to reach ourselves."""

from __future__ import annotations

import argparse
import threading
from typing import Optional

from remote_agent import gpu
from remote_agent.idle import IdleReadings
from remote_agent.protocol import AgentError
from remote_agent.state_dir import StateDir


class Node:
    """The agent's view of its node. NVML is opened on first use, after hello."""

    def __init__(
        self,
        opts: argparse.Namespace,
        state: Optional[StateDir],
        readonly_reason: str,
        agent_path: Optional[str],
    ) -> None:
        self.options = opts
        self.readonly_reason = readonly_reason
        self.agent_path = agent_path
        self.closing = threading.Event()
        self._state = state
        self._gpu: Optional[gpu.Source] = None
        self._gpu_lock = threading.Lock()
        self.idle = IdleReadings(None if readonly_reason else state)

    @property
    def state(self) -> StateDir:
        """The state directory. Raises AgentError(readonly) where there is none."""
        if self._state is None:
            raise AgentError("readonly", f"no state directory: {self.readonly_reason}")
        return self._state

    @property
    def state_path(self) -> Optional[str]:
        return self._state.path if self._state else None

    @property
    def gpu(self) -> gpu.Source:
        with self._gpu_lock:
            if self._gpu is None:
                self._gpu = gpu.open_source(self.options.gpu_source, self.options.nvidia_smi)
            return self._gpu
