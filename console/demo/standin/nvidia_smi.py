"""SIMULATED: the nvidia-smi of the embedded node. Eight GPUs that exist nowhere; their memory follows living processes.

A rank of the stand-in server holds memory on the GPU that its environment names, as long as it lives. A colleague's
process does when `colleague.json` in the demo's home says so: {"pid": 123, "gpu": 2, "memory": 41000} (MiB).
"""

import json
import os
import re
import sys
import time

GPUS = 8
TOTAL_MIB = 143771
DEFAULT_MIB = 129600
DRIVER = "580.95.05"
TITLE = re.compile(r"sglang::scheduler(?:_TP(\d+))?$")
INVALID = "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n"


class Holder:
    def __init__(self, gpu, pid, name, mib, busy):
        self.gpu, self.pid, self.name, self.mib, self.busy = gpu, pid, name, mib, busy


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def holders(home):
    """The processes that hold GPU memory now."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            title = _read("/proc/%s/cmdline" % entry).split(b"\0", 1)[0].decode("utf-8", "replace")
            if title.startswith("sglang::scheduler"):
                found += _rank(home, int(entry), title)
    return sorted(found + _colleague(home), key=lambda holder: (holder.gpu, holder.pid))


def _environ(pid):
    environ = _read("/proc/%d/environ" % pid).decode("utf-8", "replace").split("\0")
    return dict(pair.partition("=")[::2] for pair in environ if "=" in pair)


def _rank(home, pid, title):
    values = _environ(pid)
    if "SPEC_CONSOLE_DEMO" not in values:
        # A real SGLang's rank has overwritten its environment with its title; its launcher has not.
        stat = _read("/proc/%d/stat" % pid).rpartition(b")")[2].split()
        values = _environ(int(stat[1])) if len(stat) > 1 else {}
    match = TITLE.match(title)
    if match is None or values.get("SPEC_CONSOLE_DEMO") != home:
        return []
    gpu = int(values.get("SPEC_CONSOLE_DEMO_GPU", match.group(1) or 0))
    if not 0 <= gpu < GPUS:
        return []
    parent = _read("/proc/%d/stat" % pid).rpartition(b")")[2].split()
    busy = len(parent) > 1 and os.path.exists(os.path.join(home, "run", "%d.busy" % int(parent[1])))
    return [Holder(gpu, pid, title, int(values.get("SPEC_CONSOLE_DEMO_MIB", DEFAULT_MIB)), busy)]


def _colleague(home):
    try:
        told = json.loads(_read(os.path.join(home, "colleague.json")) or b"null")
        pid, gpu, mib = int(told["pid"]), int(told["gpu"]), int(told["memory"])
    except (ValueError, TypeError, KeyError):
        return []
    stat = _read("/proc/%d/stat" % pid).rpartition(b")")[2].split()
    if not stat or stat[0] in (b"Z", b"X"):
        return []
    words = _read("/proc/%d/cmdline" % pid).split(b"\0")
    return [Holder(gpu, pid, words[0].decode("utf-8", "replace") or "python3", mib, False)]


class Gpu:
    """The fields of one GPU, as text, without units."""

    def __init__(self, index, mine):
        self.index, self.mine = index, mine
        self.used = sum(holder.mib for holder in mine)
        self.busy = any(holder.busy for holder in mine)
        self.sway = (int(time.time()) * 7 + index * 3) % 5

    def fields(self):
        index = self.index
        warm = 30 + index % 4 + (6 if self.used else 0) + (14 if self.busy else 0)
        watt = 76.0 + index + (44.0 if self.used else 0.0) + (240.0 if self.busy else 0.0) + self.sway
        bus = "00000000:%02X:00.0" % (0x0F + 0x10 * index)
        return {
            "index": str(index),
            "count": str(GPUS),
            "uuid": uuid(index),
            "gpu_uuid": uuid(index),
            "name": "SIMULATED H200",
            "gpu_name": "SIMULATED H200",
            "serial": "0",
            "pci.bus_id": bus,
            "gpu_bus_id": bus,
            "driver_version": DRIVER,
            "memory.total": (str(TOTAL_MIB), "MiB"),
            "memory.used": (str(min(self.used, TOTAL_MIB)), "MiB"),
            "memory.free": (str(max(TOTAL_MIB - self.used, 0)), "MiB"),
            "memory.reserved": ("0", "MiB"),
            "utilization.gpu": (str(91 + self.sway if self.busy else 0), "%"),
            "utilization.memory": (str(48 + self.sway if self.busy else 0), "%"),
            "temperature.gpu": str(warm),
            "temperature.memory": str(warm + 5),
            "fan.speed": "[N/A]",
            "pstate": "P0",
            "power.draw": ("%.2f" % watt, "W"),
            "power.draw.instant": ("%.2f" % watt, "W"),
            "power.limit": ("700.00", "W"),
            "enforced.power.limit": ("700.00", "W"),
            "power.default_limit": ("700.00", "W"),
            "clocks.sm": (str(1980 if self.busy else 345), "MHz"),
            "clocks.current.sm": (str(1980 if self.busy else 345), "MHz"),
            "clocks.mem": ("3201", "MHz"),
            "clocks.max.sm": ("1980", "MHz"),
            "clocks.applications.graphics": ("1980", "MHz"),
            "clocks.default_applications.graphics": ("1980", "MHz"),
            "clocks_event_reasons.active": "0x0000000000000000" if self.busy else "0x0000000000000001",
            "clocks_throttle_reasons.active": "0x0000000000000000" if self.busy else "0x0000000000000001",
            "mig.mode.current": "Disabled",
            "mig.mode.pending": "Disabled",
            "compute_mode": "Default",
            "compute_cap": "9.0",
            "persistence_mode": "Enabled",
            "ecc.mode.current": "Enabled",
            "ecc.errors.uncorrected.volatile.total": "0",
            "timestamp": time.strftime("%Y/%m/%d %H:%M:%S.000"),
        }


def uuid(index):
    return "GPU-51305d00-0000-4000-8000-%012d" % index


def _process(holder):
    fields = {"gpu_uuid": uuid(holder.gpu), "gpu_name": "SIMULATED H200", "pid": str(holder.pid)}
    fields.update(process_name=holder.name, name=holder.name)
    fields["used_memory"] = fields["used_gpu_memory"] = (str(holder.mib), "MiB")
    return fields


def _table(rows, names, formats):
    """Write rows as CSV. Raises KeyError on a field that nvidia-smi does not know."""
    units = "nounits" not in formats
    lines = []
    if "noheader" not in formats:
        known = _unit_of(names)
        lines.append(", ".join(name + (" [%s]" % known[name] if units and known.get(name) else "") for name in names))
    for row in rows:
        lines.append(", ".join(_cell(row[name], units) for name in names))
    return "".join(line + "\n" for line in lines)


def _unit_of(names):
    every = {**Gpu(0, []).fields(), **_process(Holder(0, 0, "", 0, False))}
    return {name: every[name][1] for name in names if isinstance(every[name], tuple)}


def _cell(value, units):
    if isinstance(value, tuple):
        return " ".join(value) if units else value[0]
    return value


def query(kind, names, formats, wanted, home):
    """Answer one --query-…; return (text, exit code)."""
    if "csv" not in formats:
        return '"--format=" switch is missing. Please run \'nvidia-smi -h\' for help.\n', 1
    known = Gpu(0, []).fields() if kind == "gpu" else _process(Holder(0, 0, "", 0, False))
    for name in names:
        if name not in known:
            return 'Field "%s" is not a valid field to query.\n\n' % name, 2
    living = [holder for holder in holders(home) if holder.gpu in wanted]
    if kind != "gpu":
        return _table([_process(holder) for holder in living], names, formats), 0
    gpus = [Gpu(index, [holder for holder in living if holder.gpu == index]) for index in wanted]
    return _table([gpu.fields() for gpu in gpus], names, formats), 0


def overview(home):
    lines = ["SIMULATED NVIDIA-SMI %s: the embedded node of spec-console, no GPU" % DRIVER]
    living = holders(home)
    for index in range(GPUS):
        used = sum(holder.mib for holder in living if holder.gpu == index)
        lines.append("| %d  SIMULATED H200 | %6d MiB / %d MiB |" % (index, used, TOTAL_MIB))
    lines += ["| %d  %8d  %-28s %6d MiB |" % (each.gpu, each.pid, each.name[:28], each.mib) for each in living]
    return "".join(line + "\n" for line in lines), 0


def _wanted(text):
    """GPU numbers of `-i`; None when one does not exist."""
    if text is None:
        return list(range(GPUS))
    by_uuid = {uuid(index): index for index in range(GPUS)}
    picked = [by_uuid.get(each, int(each) if each.isdigit() else -1) for each in text.split(",")]
    return picked if all(0 <= each < GPUS for each in picked) else None


def _options(argv):
    """Options by name; None when one is not known."""
    options, rest = {}, list(argv)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in ("-i", "--id", "--format", "--query-gpu", "--query-compute-apps") and not equals and rest:
            value = rest.pop(0)
        elif name not in ("--id", "--format", "--query-gpu", "--query-compute-apps", "-L", "--list-gpus", "--version"):
            return None
        options[{"--id": "-i", "--list-gpus": "-L"}.get(name, name)] = value
    return options


def answer(argv, home):
    """What nvidia-smi prints for this command line, and its exit code."""
    options = _options(argv)
    if options is None:
        return INVALID, 1
    wanted = _wanted(options.get("-i"))
    if wanted is None:
        return "No devices were found\n", 6
    if "--version" in options:
        line = "%-20s: %s\n"
        words = (("NVIDIA-SMI version", DRIVER + " SIMULATED"), ("NVML version", "580.95"), ("DRIVER version", DRIVER))
        return "".join(line % each for each in (*words, ("CUDA Version", "13.0"))), 0
    if "-L" in options:
        return "".join("GPU %d: SIMULATED H200 (UUID: %s)\n" % (index, uuid(index)) for index in wanted), 0
    formats = options.get("--format", "").split(",")
    for kind, option in (("gpu", "--query-gpu"), ("apps", "--query-compute-apps")):
        if option in options:
            names = [name.strip() for name in options[option].split(",")]
            return query(kind, names, formats, wanted, home)
    return overview(home) if not argv else (INVALID, 1)


if __name__ == "__main__":
    text, code = answer(sys.argv[2:], sys.argv[1])
    sys.stdout.write(text)
    sys.exit(code)
