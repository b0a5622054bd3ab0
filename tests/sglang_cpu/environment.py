"""A real, unmodified SGLang on the CPU: its environment, its crafted pair, and the node configuration for them.

0.5.20 has worker v2 and a path for the CPU, as have 0.5.16 and 0.5.23; 0.5.12.post1, the last with worker v1, needs a
plugin of the kit. All environments but that of 0.5.20 hold only what differs (174 MB); the rest, torch above all, they
read from that one.

Environments are cached by the hash of their pins. They need the `+cpu` build of torch: where pip would take a CUDA
build (gigabytes, and without its libraries) the tests are skipped, and say so.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.pythons import FOUND

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    plugins: tuple[Path, ...]
    """Folders with SGLang plugins of the kit."""

    def env(self) -> dict[str, str]:
        """What an unmodified SGLang needs to run on two CPU cores at TP 2."""
        return {
            "PYTHONPATH": ":".join(map(str, (KIT / "standin", *self.plugins))),
            "SGLANG_USE_CPU_ENGINE": "1",
            "SGLANG_CPU_OMP_THREADS_BIND": "0|1",
            "OMP_NUM_THREADS": "1",
            "TORCHDYNAMO_DISABLE": "1",
            "HF_HUB_OFFLINE": "1",
        }


@functools.lru_cache(maxsize=1)
def prepare() -> CpuSGLang:
    """Install and write what is not there yet. Raises Unavailable."""
    cache = _cache() / f"sglang-cpu-{_hash(PINS)}"
    venv, pair = cache / "venv", cache / "pair"
    with _alone(cache):
        if not (cache / "done").exists():
            shutil.rmtree(cache, ignore_errors=True)
            _install(venv)
            python = str(venv / "bin" / "python")
            _run([python, str(KIT / "make_pair.py"), str(pair), "--arch", "deepseek", "--ids", TRAINED_IDS])
            _run([python, str(KIT / "set_ids.py"), str(pair), "early", EARLY_IDS])
            (cache / "done").write_text("")
    return CpuSGLang(venv / "bin" / "python", pair, _packages(venv) / "sglang", (KIT / "plugin",))


def prepare_v1() -> CpuSGLang:
    """The same for the last release with worker v1. Raises Unavailable."""
    return prepare_release("0.5.12.post1")


@functools.cache
def prepare_release(version: str) -> CpuSGLang:
    """The same for any release that there are pins of, on top of what `prepare` makes. Raises Unavailable."""
    base, pins = prepare(), KIT / f"pins-{version}.txt"
    if pins == PINS:
        return base
    venv = base.python.parents[2] / f"venv-{_hash(pins)}"
    with _alone(venv):
        if not (venv / "done").exists():
            shutil.rmtree(venv, ignore_errors=True)
            _run([_python(), "-m", "venv", "--without-pip", str(venv)])
            python = str(venv / "bin" / "python")
            pip = [str(base.python), "-m", "pip", "--disable-pip-version-check", "--python", python]
            _run([*pip, "install", "-q", "--no-deps", "-r", str(pins)])
            (_packages(venv) / "base.pth").write_text(f"{base.root.parent}\n")  # last: pip would see what lies there
            (venv / "done").write_text("")
    plugins = (KIT / "plugin", *((KIT / "plugin_v1",) if version == "0.5.12.post1" else ()))
    return CpuSGLang(venv / "bin" / "python", base.pair, _packages(venv) / "sglang", plugins)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one makes `folder`, others wait: `.ci/run` makes it while the first tests run."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _packages(venv: Path) -> Path:
    (found,) = venv.glob("lib/python3*/site-packages")
    return found


def _hash(pins: Path) -> str:
    return hashlib.sha256(pins.read_bytes()).hexdigest()[:12]


def _python() -> str:
    try:
        return FOUND[3, 11]
    except KeyError:
        raise Unavailable("the pins are for Python 3.11, which is not here") from None


def _install(venv: Path) -> None:
    _run([_python(), "-m", "venv", str(venv)])
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


if __name__ == "__main__":
    try:
        prepare()
    except Unavailable as reason:
        print(f"no SGLang on this CPU: {reason}")
