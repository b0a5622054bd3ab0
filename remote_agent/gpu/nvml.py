"""NVML, by the bundled pynvml: the one home of it. A failed reading closes the driver, so the next opens it afresh."""

from __future__ import annotations

import contextlib
import ctypes
import time
from typing import Any, Callable, List, Optional, TypeVar

from remote_agent.gpu import Source, SourceError
from remote_agent.protocol import GpuHolder, GpuSample, TelemetrySample

T = TypeVar("T")


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
