"""Drive the product on a real SGLang: python -m tests.device.loop --out OUT [--kit h200|cpu|cpu-v1] [--parts …].

Every step is a verb of the command line, on the node `local`. What each part expected and got stands in
OUT/report.json; OUT holds at most eight files. 0 when everything was as expected.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.device import gpu, kits
from tests.device.parts import PARTS
from tests.device.report import Report
from tests.device.rig import Clock, Rig

if TYPE_CHECKING:
    from tests.device.kits import Kit


def main(argv: list[str] | None = None) -> int:
    asked = _arguments().parse_args(argv)
    asked.out.mkdir(parents=True, exist_ok=True)
    asked.work.mkdir(parents=True, exist_ok=True)
    clock = Clock(asked.deadline)
    report = Report(asked.out, {"kit": asked.kit, "parts_asked": asked.parts, "at": time.strftime("%F %T %z")})
    with report.part("kit") as part:
        rig = Rig(_kit(asked), asked.work, clock, report)
        report.head |= _versions(rig.kit)
        part.figure("versions", report.head)
        gpu.snapshot(asked.out / "nvidia-smi.txt", "before")
        run(rig, asked.parts)
        gpu.snapshot(asked.out / "nvidia-smi.txt", "after")
        part.expect("what was left of servers and had to be killed", rig.killed, [])
        rig.pack_logs()
    report.write()
    print(report.summary())
    return 0 if all(part.ok for part in report.parts if part.state != "skipped") else 1


def run(rig: Rig, names: list[str]) -> None:
    for name in names:
        part, _, rig.only = name.partition(".")
        entry = PARTS[part]
        if entry.gpus_only and not rig.kit.has_gpus:
            rig.report.skip(name, "needs GPUs")
        elif rig.clock.left() < entry.needs_s:
            rig.report.skip(name, f"{rig.clock.left():.0f} s are left, it needs {entry.needs_s:.0f}")
        else:
            try:
                entry.run(rig)
            except Exception as error:  # noqa: BLE001 - the next part has its own server
                rig.report.skip(f"{name} (broke off)", repr(error))


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.device.loop", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kit", choices=["h200", "cpu", "cpu-v1"], default="h200")
    parser.add_argument("--gpus", type=int, default=2, help="ranks, each on a GPU of its own (h200)")
    parser.add_argument(
        "--parts",
        type=lambda text: text.split(","),
        default=list(PARTS),
        help=f"{','.join(PARTS)}; of several by faults.NAME, calibrate.*positions*",
    )
    parser.add_argument("--deadline", type=float, default=540.0, help="seconds after which no part is begun")
    parser.add_argument("--bundle", type=Path, default=Path(".sgl"), help="what bundle/make_bundle.sh wrote")
    parser.add_argument("--packages", type=Path, default=Path("/tmp/site"), help="where it is unpacked")
    parser.add_argument("--work", type=Path, default=Path("/tmp/spec-console-device"))
    return parser


def _kit(asked: argparse.Namespace) -> Kit:
    if asked.kit == "h200":
        return kits.h200(asked.work / "h200", asked.bundle, asked.packages, asked.gpus)
    return kits.cpu(asked.work / asked.kit, v1=asked.kit == "cpu-v1")


def _versions(kit: Kit) -> dict[str, object]:
    look = "import sglang, torch; print(sglang.__version__, torch.__version__, torch.version.cuda)"
    env = {**os.environ, **kit.env}
    words = [str(kit.python), "-c", look]
    try:
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
        found = [*(done.stdout.split() or [done.stderr[-300:]]), "", ""]
    except subprocess.TimeoutExpired:
        found = ["import took over 120 s", "", ""]
    return {
        **dict(zip(("sglang", "torch", "cuda"), found, strict=False)),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "tp_size": kit.tp_size,
        "simulated_gpus": not kit.has_gpus,
        "nvidia_smi_mib": gpu.used_mib(),
    }


if __name__ == "__main__":
    sys.exit(main())
