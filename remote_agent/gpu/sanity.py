"""Hold the driver's rows against /proc and the totals before anybody acts on them. Pure but for what is passed in.

Seen in the field: pid and memory swapped by a struct mismatch (gpuopenanalytics/pynvml#50, NVIDIA/go-nvml#21), host
pids inside containers (NVIDIA/nvidia-docker#179), memory that is not available read as zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Dict, List, Optional

from remote_agent.protocol import GpuHolder

FIRST_PID_NAMESPACE = 4026531836
"""Inode of the host's first pid namespace (Linux, include/linux/proc_ns.h, PROC_PID_INIT_INO)."""


def checked(
    rows: List[GpuHolder], totals: Dict[int, Optional[int]], pid_max: int, exists: Callable[[int], bool]
) -> List[GpuHolder]:
    """Return the rows with impossible numbers set right where that is sure, and marked where it is not."""
    return [_checked(row, totals.get(row.gpu_index), pid_max, exists) for row in rows]


def _checked(row: GpuHolder, total: Optional[int], pid_max: int, exists: Callable[[int], bool]) -> GpuHolder:
    used = row.memory_used_bytes
    if row.pid > pid_max:
        if used is not None and 0 < used <= pid_max and exists(used) and (total is None or row.pid <= total):
            return replace(row, pid=used, memory_used_bytes=row.pid, doubt="the driver swapped pid and memory")
        return replace(row, memory_used_bytes=None, doubt=f"the driver told an impossible pid {row.pid}")
    if used is not None and total is not None and used > total:
        return replace(row, memory_used_bytes=None, doubt="the driver told more memory than the GPU has")
    return row


def is_credible(
    own_namespace: Optional[int], process_namespace: Optional[int], has_device_open: Optional[bool]
) -> bool:
    """Is the local process with the driver's pid really the driver's process?

    In the host's first pid namespace the driver's pids are ours. Elsewhere a pid of ours with the same number is a
    coincidence, unless it has a GPU's device file open.
    """
    if own_namespace == FIRST_PID_NAMESPACE:
        return True
    return bool(has_device_open) and process_namespace == own_namespace
