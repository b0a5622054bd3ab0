"""The other device tests, run by pytest; those that touch no GPU memory can run beside a launch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.device.report import OutOfTime
from tests.device.site import ROOT

if TYPE_CHECKING:
    from types import TracebackType

    from tests.device.report import Part
    from tests.device.rig import Rig

FILES = ("tests/device/test_preflight.py", "tests/device/test_nvml.py", "tests/device/test_patch_runtimes.py")
SUITE_S = 200.0


class Background:
    """Run test files beside what the block does; on leaving, wait for them and report. Nothing on a CPU."""

    def __init__(self, rig: Rig, name: str, files: tuple[str, ...]) -> None:
        self._rig, self._name, self._files = rig, name, files
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> None:
        if self._rig.kit.has_gpus:
            self._process = _start(self._rig, self._files)

    def __exit__(self, kind: type[BaseException] | None, value: object, where: TracebackType | None) -> None:
        if self._process is not None:
            with self._rig.report.part(self._name) as part:
                _finish(self._rig, part, self._process)


def run(rig: Rig) -> None:
    with rig.report.part("suite") as part:
        _finish(rig, part, _start(rig, FILES))


def _start(rig: Rig, files: tuple[str, ...]) -> subprocess.Popen[str]:
    env = {**os.environ, "SPEC_CONSOLE_REPORT": str(rig.report.out / "figures.ndjson")}
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "device",
        "-q",
        "-rA",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:benchmark",  # where it is installed beside xdist it warns, and a warning is an error here
        "--no-header",
        *files,
    ]
    return subprocess.Popen(
        words,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _finish(rig: Rig, part: Part, process: subprocess.Popen[str]) -> None:
    try:
        out, _ = process.communicate(timeout=rig.clock.at_most(SUITE_S))
    except (subprocess.TimeoutExpired, OutOfTime):
        process.kill()
        out, _ = process.communicate()
        part.expect("pytest ended in time", False, True)
    with (rig.report.out / "pytest.txt").open("a") as file:
        file.write(out)
    outcomes = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED)\b(.*)$", out, re.MULTILINE)
    part.figure("tests", [f"{state}{rest}"[:160] for state, rest in outcomes])
    part.expect("pytest: exit code", process.returncode, 0)
    part.expect("tests skipped", [rest for state, rest in outcomes if state == "SKIPPED"], [])
