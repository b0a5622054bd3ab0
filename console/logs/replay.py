"""Whether shape lines stopped when CUDA graphs began to replay: Python does not run then, and nothing prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.logs.record import Record

_NO_DECODE = frozenset({"EXTEND", "MIXED", "IDLE", "1"})
"""Modes that run eagerly in any case; 1 is EXTEND in older prints."""


@dataclass(slots=True)
class Replay:
    """Folds shape lines and decode windows of one launch."""

    before_ready: int = 0
    """Shape lines of load, capture and warm-up."""
    decode_after_ready: int = 0
    """Shape lines of decode steps since."""
    graph_windows: int = 0
    """`Decode batch` lines that say `cuda graph: True`."""
    _is_ready: bool = False

    def fold(self, record: Record) -> None:
        if record.kind == "tensor_shape":
            if not self._is_ready:
                self.before_ready += 1
            elif record.fields.get("mode") not in _NO_DECODE:
                self.decode_after_ready += 1
        elif record.kind == "decode_batch":
            self._is_ready = True
            self.graph_windows += record.fields.get("cuda_graph") is True
        elif record.kind == "ready":
            self._is_ready = True
        elif record.kind == "server_args":
            self.before_ready = self.decode_after_ready = self.graph_windows = 0
            self._is_ready = False

    @property
    def only_captured(self) -> bool:
        """True when lines came from capture and none from the decode steps that replayed it."""
        return self.before_ready > 0 and self.graph_windows > 0 and self.decode_after_ready == 0
