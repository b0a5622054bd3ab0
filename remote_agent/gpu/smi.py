"""The nvidia-smi program, where NVML cannot be loaded."""

from __future__ import annotations

import csv
import re
import subprocess
import time
from typing import Dict, List, Optional, Tuple

from remote_agent.gpu import Source, SourceError, sysfs_name
from remote_agent.protocol import GpuHardware, GpuHolder, GpuLink, GpuSample, Hardware, TelemetrySample

TIMEOUT_S = 20.0
_MIB = 1024 * 1024
_FIELDS = (
    "index",
    "uuid",
    "name",
    "memory.total",
    "memory.used",
    "utilization.gpu",
    "temperature.gpu",
    "power.draw",
    "power.limit",
    "clocks.sm",
    "mig.mode.current",
    "driver_version",
)
_ALWAYS = ("index", "name", "memory.total", "driver_version", "pci.bus_id")
_HARDWARE = (
    "power.limit",
    "power.default_limit",
    "clocks.max.sm",
    "clocks.applications.graphics",
    "clocks.default_applications.graphics",
    "persistence_mode",
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class SmiSource(Source):
    """Runs the program for each reading."""

    name = "smi"

    def __init__(self, program: str, why_not_better: str = "") -> None:
        super().__init__(why_not_better)
        self._program = program

    def sample(self) -> TelemetrySample:
        rows = self._query("--query-gpu=" + ",".join(_FIELDS), _FIELDS)
        return TelemetrySample(
            at=time.time(),
            source=self.name,
            reason=self.reason,
            gpus=[_gpu(row) for row in rows],
            driver_version=rows[0]["driver_version"] if rows else None,
        )

    def holders(self) -> List[GpuHolder]:
        indexes = {row["uuid"]: int(row["index"]) for row in self._query("--query-gpu=index,uuid", ("index", "uuid"))}
        fields = ("gpu_uuid", "pid", "used_memory")
        rows = self._query("--query-compute-apps=" + ",".join(fields), fields)
        return [
            GpuHolder(indexes[row["gpu_uuid"]], int(row["pid"]), _bytes(row["used_memory"]), "nvidia-smi compute")
            for row in rows
            if row["pid"].isdigit() and row["gpu_uuid"] in indexes
        ]

    def hardware(self) -> Hardware:
        unread = {"cuda": "nvidia-smi does not tell it by query", "clock_reasons": "not asked of nvidia-smi"}
        fields = _ALWAYS + _HARDWARE
        try:
            rows = self._query("--query-gpu=" + ",".join(fields), fields)
        except SourceError as error:
            unread.update(dict.fromkeys(("power", "clocks", "persistence"), str(error)))
            rows = self._query("--query-gpu=" + ",".join(_ALWAYS), _ALWAYS)
        links: List[GpuLink] = []
        try:
            links = links_of(self._run(["topo", "-m"]))
        except SourceError as error:
            unread["links"] = str(error)
        driver = rows[0]["driver_version"] if rows else None
        return Hardware(driver=driver, gpus=[_hardware(row) for row in rows], links=links, unread=unread)

    def _query(self, query: str, fields: Tuple[str, ...]) -> List[Dict[str, str]]:
        text = self._run([query, "--format=csv,noheader,nounits"])
        rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
        if any(len(row) != len(fields) for row in rows):
            raise SourceError(f"{self._program} answered in another form: {text.strip()[:300]}")
        return [dict(zip(fields, row)) for row in rows]

    def _run(self, words: List[str]) -> str:
        argv = [self._program, *words]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S
            )
        except FileNotFoundError:
            raise SourceError(f"{self._program} is not on this node") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SourceError(f"{self._program}: {error}") from None
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode != 0:
            raise SourceError(f"{self._program} exited {done.returncode}: {text.strip()[:300]}")
        return text


def links_of(matrix: str) -> List[GpuLink]:
    """The pairs of GPUs in what `nvidia-smi topo -m` prints; columns are parted by tabs, NICs stand among them."""
    rows = [[cell.strip() for cell in line.split("\t")] for line in _ESCAPES.sub("", matrix).splitlines()]
    heads = next((row for row in rows if row[0] == "" and "GPU0" in row), [])
    found = []
    for row in rows:
        for head, path in zip(heads, row):
            a, b = (re.fullmatch(r"GPU(\d{1,4})", name) for name in (row[0], head))
            if a and b and int(a.group(1)) < int(b.group(1)) and re.fullmatch(r"NV\d+|[A-Z]{3,4}", path):
                found.append(GpuLink(int(a.group(1)), int(b.group(1)), path))
    return found


def _hardware(row: Dict[str, str]) -> GpuHardware:
    return GpuHardware(
        index=int(row["index"]),
        name=row["name"],
        memory_total_bytes=_bytes(row["memory.total"]),
        bus_id=sysfs_name(row["pci.bus_id"]),
        power_limit_w=_number(row.get("power.limit", "")),
        power_default_w=_number(row.get("power.default_limit", "")),
        clock_max_mhz=_int(row.get("clocks.max.sm", "")),
        clock_app_mhz=_int(row.get("clocks.applications.graphics", "")),
        clock_app_default_mhz=_int(row.get("clocks.default_applications.graphics", "")),
        persistence={"Enabled": True, "Disabled": False}.get(row.get("persistence_mode", "")),
    )


def _gpu(row: Dict[str, str]) -> GpuSample:
    return GpuSample(
        index=int(row["index"]),
        uuid=row["uuid"],
        name=row["name"],
        memory_total_bytes=_bytes(row["memory.total"]),
        memory_used_bytes=_bytes(row["memory.used"]),
        utilization_percent=_int(row["utilization.gpu"]),
        temperature_c=_int(row["temperature.gpu"]),
        power_draw_w=_number(row["power.draw"]),
        power_limit_w=_number(row["power.limit"]),
        sm_clock_mhz=_int(row["clocks.sm"]),
        mig={"Enabled": True, "Disabled": False}.get(row["mig.mode.current"]),
    )


def _number(text: str) -> Optional[float]:
    """A number; None for "[N/A]" and its kin, which are never zero."""
    try:
        return float(text)
    except ValueError:
        return None


def _int(text: str) -> Optional[int]:
    value = _number(text)
    return None if value is None else int(value)


def _bytes(text: str) -> Optional[int]:
    value = _number(text)
    return None if value is None else int(value * _MIB)
