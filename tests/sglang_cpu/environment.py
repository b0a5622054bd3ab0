"""A real, unmodified SGLang on the CPU: its environment, its crafted pair, and the node configuration for them.

The environment is cached by the hash of the pins. It needs the `+cpu` build of torch: where pip would take a CUDA build
(gigabytes, and without its libraries) the tests are skipped, and say so.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.pythons import FOUND

KIT = Path(__file__).parent / "kit"
PINS = KIT / "pins-0.5.20.txt"
TIMEOUT_S = 900.0
TRAINED_IDS = "3,4,7"
EARLY_IDS = "2,3,6"


class Unavailable(Exception):
    """The CPU SGLang cannot be had on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class CpuSGLang:
    """Ready to serve."""

    python: Path
    pair: Path
    """target/, draft/ (as trained), early/ (the same weights, ids one layer early)."""
    root: Path
    """The installed package `sglang`."""

    def env(self) -> dict[str, str]:
        """What an unmodified SGLang needs to run on two CPU cores at TP 2."""
        return {
            "PYTHONPATH": f"{KIT / 'standin'}:{KIT / 'plugin'}",
            "SGLANG_USE_CPU_ENGINE": "1",
            "SGLANG_CPU_OMP_THREADS_BIND": "0|1",
            "OMP_NUM_THREADS": "1",
            "TORCHDYNAMO_DISABLE": "1",
            "HF_HUB_OFFLINE": "1",
        }


@functools.lru_cache(maxsize=1)
def prepare() -> CpuSGLang:
    """Install and write what is not there yet. Raises Unavailable."""
    cache = _cache() / f"sglang-cpu-{hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]}"
    venv, pair = cache / "venv", cache / "pair"
    if not (cache / "done").exists():
        shutil.rmtree(cache, ignore_errors=True)
        _install(venv)
        _run(
            [
                str(venv / "bin" / "python"),
                str(KIT / "make_pair.py"),
                str(pair),
                "--arch",
                "deepseek",
                "--ids",
                TRAINED_IDS,
            ]
        )
        _run([str(venv / "bin" / "python"), str(KIT / "set_ids.py"), str(pair), "early", EARLY_IDS])
        (cache / "done").write_text("")
    (root,) = venv.glob("lib/python3*/site-packages/sglang")
    return CpuSGLang(venv / "bin" / "python", pair, root)


def _install(venv: Path) -> None:
    python = FOUND.get((3, 11))
    if python is None:
        raise Unavailable("the pins are for Python 3.11, which is not here")
    _run([python, "-m", "venv", str(venv)])
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    (torch,) = [line for line in PINS.read_text().splitlines() if line.startswith("torch==")]
    report = json.loads(_run([*pip, "install", "-q", "--dry-run", "--no-deps", "--report", "-", torch]))
    found = report["install"][0]["metadata"]["version"]
    if "+cpu" not in found:
        raise Unavailable(f"pip offers torch {found} here, not the +cpu build")
    _run([*pip, "install", "-q", "--no-deps", "-r", str(PINS)])


def _run(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(argv[:6])} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _cache() -> Path:
    base = os.environ.get("SPEC_CONSOLE_TEST_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "spec-console-tests"
