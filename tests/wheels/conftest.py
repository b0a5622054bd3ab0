"""Real SGLang wheels, downloaded once into a cache by this Python's pip and read from the zip."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CACHE = Path(os.environ.get("SPEC_CONSOLE_WHEELS") or Path(platformdirs.user_cache_dir("spec-console")) / "wheels")
# From 0.5.11 on wheels are built for one CPython and platform. They are only read here, so ask for that one anywhere.
BUILD = [
    "--only-binary",
    ":all:",
    "--python-version",
    "3.11",
    "--platform",
    "manylinux_2_34_x86_64",
    "--platform",
    "any",
]


def _wheel(version: str) -> Path:
    found = next(CACHE.glob(f"sglang-{version}-*.whl"), None)
    if found is not None:
        return found
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *BUILD, "-d", str(CACHE)]
    try:
        done = subprocess.run(
            [*command, f"sglang=={version}"], capture_output=True, text=True, check=False, timeout=250
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"pip did not get sglang=={version} within 250 s")
    found = next(CACHE.glob(f"sglang-{version}-*.whl"), None)
    if done.returncode or found is None:
        lines = (done.stderr or "pip said nothing").strip().splitlines()
        pytest.skip(f"pip cannot get sglang=={version}: {lines[-1]}")
    return found


@pytest.fixture(scope="session")
def unpack() -> Callable[[str, Path], Path]:
    """`unpack(version, folder)`: the released package as pip would lay it out in `folder`; its `sglang` folder."""

    def _unpack(version: str, folder: Path) -> Path:
        with zipfile.ZipFile(_wheel(version)) as wheel:
            wheel.extractall(folder)
        return folder / "sglang"

    return _unpack


@pytest.fixture(scope="session")
def tree() -> Callable[[str, tuple[str, ...]], Mapping[str, bytes | None]]:
    """`tree(version, paths)`: those files of the released `sglang` package, None where it has none of that path."""

    def _tree(version: str, paths: tuple[str, ...]) -> Mapping[str, bytes | None]:
        with zipfile.ZipFile(_wheel(version)) as wheel:
            names = set(wheel.namelist())
            return {path: wheel.read(f"sglang/{path}") if f"sglang/{path}" in names else None for path in paths}

    return _tree
