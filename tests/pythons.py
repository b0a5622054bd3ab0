"""Which Pythons lie on this machine: 3.8 and the newest are what the agent's tests run on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def _candidates() -> list[str]:
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    found = [str(path) for path in root.glob("3.*/bin/python3.*") if path.name.count(".") == 1 and "-" not in path.name]
    found += filter(None, (shutil.which(f"python3.{minor}") for minor in range(8, 16)))
    return [*found, sys.executable]


def _version(path: str) -> tuple[int, int] | None:
    look = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([path, "-c", look], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def _found() -> dict[tuple[int, int], str]:
    versions = ((_version(path), path) for path in _candidates())
    return {version: path for version, path in versions if version and version >= (3, 8)}


FOUND = _found()
"""Python by (major, minor), 3.8 and newer."""
PYTHONS = sorted({FOUND[min(FOUND)], FOUND[max(FOUND)]})
"""The oldest that the agent promises (if it is here) and the newest."""
