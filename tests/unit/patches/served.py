"""A process that has a patch's runtime file loaded, as a server would have it, and what it writes on fd 1."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from console.logs.classify import classify
from console.logs.split import RawLine
from console.patches import library
from tests.pythons import FOUND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from console.logs.record import Record

    Run = Callable[..., list[str]]

PYTHONS = sorted({FOUND[min(FOUND)], sys.executable})

LOAD = """
import importlib.util, sys
class Holder:
    def __init__(self, **names): self.__dict__.update(names)
def batch(mode): return Holder(forward_mode=Holder(name=mode))
spec = importlib.util.spec_from_file_location("runtime_file", sys.argv[1])
module = importlib.util.module_from_spec(spec)
def load(): spec.loader.exec_module(module)
"""


def runner(patch_id: str, python: str, folder: Path, prelude: str) -> Run:
    """Return `run(code, **env)`: the lines on fd 1 of a process that ran `prelude` and `code`."""
    runtime = folder / "runtime_file.py"
    runtime.write_bytes(library.patches()[patch_id].helper.text)

    def run(code: str, **env: str) -> list[str]:
        done = subprocess.run(
            [python, "-c", LOAD + prelude + code, str(runtime)],
            capture_output=True,
            env={key: value for key, value in os.environ.items() if not key.startswith("EAGLE3")} | env,
            check=False,
            timeout=60,
        )
        if done.returncode or done.stderr:
            raise AssertionError(f"exit {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode("ascii").splitlines(keepends=True)

    return run


def read_back(lines: list[str]) -> list[Record]:
    """Return the console's records of these lines."""
    return [one for line in lines for one in classify(RawLine(0, len(line), line.rstrip("\n")))]
