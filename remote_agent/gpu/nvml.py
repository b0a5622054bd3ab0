"""NVML, by the bundled pynvml: the one home of it. A failed reading closes the driver, so the next opens it afresh."""

from __future__ import annotations

import contextlib
import ctypes
import time
from itertools import combinations
from typing import Any, Callable, List, Optional, TypeVar

from remote_agent.gpu import Source, SourceError, sysfs_name
from remote_agent.protocol import GpuHardware, GpuHolder, GpuLink, GpuSample, Hardware, TelemetrySample

T = TypeVar("T")
_PATHS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""nvmlGpuTopologyLevel in the words of `nvidia-smi topo -m`; 0 is two GPUs of one board."""


class NvmlSource(Source):
    """Reads the driver library in this process."""

    name = "nvml"

    def __init__(self) -> None:
        super().__init__()
        try:
            import pynvml
        except ImportError:
            raise SourceError("pynvml is not bundled") from None
        self._nvml: Any = pynvml
        _give_back()
        self._open = False

    def sample(self) -> TelemetrySample:
        return self._guarded(self._sample)

    def holders(self) -> List[GpuHolder]:
        return self._guarded(self._holders)

    def hardware(self) -> Hardware:
        return self._guarded(self._hardware)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._value(self._nvml.nvmlShutdown)

    def _guarded(self, read: Callable[[], T]) -> T:
        try:
            if not self._open:
                self._nvml.nvmlInit()
                self._open = True
            return read()
        except self._nvml.NVMLError as error:
            self.close()
            raise SourceError(str(error)) from None

    def _sample(self) -> TelemetrySample:
        count = self._nvml.nvmlDeviceGetCount()
        return TelemetrySample(
            at=time.time(),
            source=self.name,
            reason="",
            gpus=[self._gpu(i) for i in range(count)],
            driver_version=_text(self._value(self._nvml.nvmlSystemGetDriverVersion)),
        )

    def _gpu(self, index: int) -> GpuSample:
        n = self._nvml
        handle = n.nvmlDeviceGetHandleByIndex(index)
        memory = self._memory(handle)
        utilization = self._value(n.nvmlDeviceGetUtilizationRates, handle)
        power = self._value(n.nvmlDeviceGetPowerUsage, handle)
        limit = self._value(n.nvmlDeviceGetEnforcedPowerLimit, handle)
        reasons = self._value(n.nvmlDeviceGetCurrentClocksEventReasons, handle)
        mig = self._value(n.nvmlDeviceGetMigMode, handle)
        return GpuSample(
            index=index,
            uuid=_text(n.nvmlDeviceGetUUID(handle)) or "",
            name=_text(n.nvmlDeviceGetName(handle)) or "",
            memory_total_bytes=memory.total if memory else None,
            memory_used_bytes=memory.used if memory else None,
            utilization_percent=utilization.gpu if utilization else None,
            temperature_c=self._value(n.nvmlDeviceGetTemperature, handle, n.NVML_TEMPERATURE_GPU),
            power_draw_w=power / 1000.0 if power is not None else None,
            power_limit_w=limit / 1000.0 if limit is not None else None,
            sm_clock_mhz=self._value(n.nvmlDeviceGetClockInfo, handle, n.NVML_CLOCK_SM),
            throttle_reasons=hex(reasons) if reasons is not None else None,
            mig=bool(mig[0]) if mig else None,
        )

    def _memory(self, handle: Any) -> Any:
        """Used memory as nvidia-smi tells it: the old form counts what the driver reserves, 615 MiB on an idle H200."""
        version = getattr(self._nvml, "nvmlMemory_v2", None)
        memory = self._value(self._nvml.nvmlDeviceGetMemoryInfo, handle, version) if version else None
        return memory or self._value(self._nvml.nvmlDeviceGetMemoryInfo, handle)

    def _holders(self) -> List[GpuHolder]:
        n = self._nvml
        found = []
        for index in range(n.nvmlDeviceGetCount()):
            handle = n.nvmlDeviceGetHandleByIndex(index)
            for kind, read in (
                ("compute", n.nvmlDeviceGetComputeRunningProcesses),
                ("graphics", n.nvmlDeviceGetGraphicsRunningProcesses),
            ):
                found += [
                    GpuHolder(index, process.pid, process.usedGpuMemory, f"nvml {kind}")
                    for process in self._value(read, handle) or []
                ]
        return found

    def _hardware(self) -> Hardware:
        n = self._nvml
        handles = [n.nvmlDeviceGetHandleByIndex(index) for index in range(n.nvmlDeviceGetCount())]
        cuda = self._value(n.nvmlSystemGetCudaDriverVersion_v2)
        paths = [(a, b, self._path(handles[a], handles[b])) for a, b in combinations(range(len(handles)), 2)]
        return Hardware(
            driver=_text(self._value(n.nvmlSystemGetDriverVersion)),
            cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
            gpus=[self._gpu_hardware(index, handle) for index, handle in enumerate(handles)],
            links=[GpuLink(a, b, path) for a, b, path in paths if path],
            unread={} if all(path for _a, _b, path in paths) else {"links": "the driver does not tell every link"},
        )

    def _gpu_hardware(self, index: int, handle: Any) -> GpuHardware:
        n = self._nvml
        memory = self._memory(handle)
        pci = self._value(n.nvmlDeviceGetPciInfo, handle)
        limit = self._value(n.nvmlDeviceGetPowerManagementLimit, handle)
        default = self._value(n.nvmlDeviceGetPowerManagementDefaultLimit, handle)
        persistence = self._value(n.nvmlDeviceGetPersistenceMode, handle)
        return GpuHardware(
            index=index,
            name=_text(n.nvmlDeviceGetName(handle)) or "",
            memory_total_bytes=memory.total if memory else None,
            bus_id=sysfs_name(_text(pci.busId) or "") if pci else None,
            power_limit_w=limit / 1000.0 if limit is not None else None,
            power_default_w=default / 1000.0 if default is not None else None,
            clock_max_mhz=self._value(n.nvmlDeviceGetMaxClockInfo, handle, n.NVML_CLOCK_SM),
            clock_app_mhz=self._value(n.nvmlDeviceGetApplicationsClock, handle, n.NVML_CLOCK_SM),
            clock_app_default_mhz=self._value(n.nvmlDeviceGetDefaultApplicationsClock, handle, n.NVML_CLOCK_SM),
            clock_reasons=self._value(n.nvmlDeviceGetCurrentClocksEventReasons, handle),
            persistence=bool(persistence) if persistence is not None else None,
        )

    def _path(self, a: Any, b: Any) -> Optional[str]:
        """NVLink by the question that SGLang puts (custom_all_reduce_utils.py, is_full_nvlink), else by PCIe."""
        n = self._nvml
        if self._value(n.nvmlDeviceGetP2PStatus, a, b, n.NVML_P2P_CAPS_INDEX_NVLINK) == n.NVML_P2P_STATUS_OK:
            return "NV"
        return _PATHS.get(self._value(n.nvmlDeviceGetTopologyCommonAncestor, a, b))

    def _value(self, read: Callable[..., Any], *args: Any) -> Any:
        """One reading that a GPU may not support: None then, never zero."""
        try:
            return read(*args)
        except (self._nvml.NVMLError, AttributeError):
            return None


def _give_back() -> None:
    """Compiling pynvml from inside the zip takes 20 MB that glibc would keep: the agent is to stay small."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _text(value: Any) -> Optional[str]:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
