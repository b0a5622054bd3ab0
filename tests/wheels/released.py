"""Released SGLang wheels: got by this Python's pip; of each only the few files that a patch may read, in a small zip.

Both lie in one cache (SPEC_CONSOLE_WHEELS, else the user's). A wheel that was there already is kept and read; one that
was got for its excerpt is deleted, since 28 of them have 200 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs

CACHE = Path(os.environ.get("SPEC_CONSOLE_WHEELS") or Path(platformdirs.user_cache_dir("spec-console")) / "wheels")
PATIENCE_S = 250
# From 0.5.11 on wheels are built for one CPython and platform. They are only read here, so ask for that one anywhere.
_BUILD = [
    "--only-binary",
    ":all:",
    "--python-version",
    "3.11",
    "--platform",
    "manylinux_2_34_x86_64",
    "--platform",
    "any",
]
_KEPT = ("sglang/srt/models/", "sglang/srt/speculative/", "sglang/srt/layers/logits_processor.py")
_ARGUMENTS = ("sglang/srt/server_args.py", "sglang/srt/arg_groups/")
_STAMP = (1980, 1, 1, 0, 0, 0)


class Unavailable(Exception):
    """pip did not get the release; the text says why."""


def wheel(version: str) -> Path:
    """Return the whole wheel, kept in the cache; raise Unavailable."""
    return _wheel_there(version) or _download(version, CACHE)


def excerpt(version: str) -> Path:
    """Return a zip that has the release's models, speculative workers and logits processor; raise Unavailable."""
    return _excerpt(version, "excerpt", _KEPT)


def arguments(version: str) -> dict[str, bytes]:
    """Return the files that declare the server's flags, by path in the wheel; raise Unavailable."""
    with zipfile.ZipFile(_excerpt(version, "arguments", _ARGUMENTS)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith(_ARGUMENTS)}


def _excerpt(version: str, name: str, members: tuple[str, ...]) -> Path:
    kept = CACHE / f"sglang-{version}.{name}.zip"
    if kept.exists():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        part = Path(folder) / kept.name
        _copy_members(_wheel_there(version) or _download(version, Path(folder)), part, members)
        part.replace(kept)
    return kept


def read(version: str, paths: tuple[str, ...]) -> dict[str, bytes | None]:
    """Return files of the `sglang` package of that release by path, None where it has none of that path."""
    with zipfile.ZipFile(excerpt(version)) as archive:
        names = set(archive.namelist())
        return {path: archive.read(f"sglang/{path}") if f"sglang/{path}" in names else None for path in paths}


def _wheel_there(version: str) -> Path | None:
    return next(CACHE.glob(f"sglang-{version}-*.whl"), None)


def _download(version: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *_BUILD, "-d", str(folder)]
    try:
        done = subprocess.run(
            [*command, f"sglang=={version}"], capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"pip did not get sglang=={version} within {PATIENCE_S} s") from None
    found = next(folder.glob(f"sglang-{version}-*.whl"), None)
    if done.returncode or found is None:
        lines = (done.stderr or "pip said nothing").strip().splitlines()
        raise Unavailable(f"pip cannot get sglang=={version}: {lines[-1]}")
    return found


def _copy_members(whole: Path, part: Path, members: tuple[str, ...]) -> None:
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            if name.startswith(members) and name.endswith(".py"):
                new.writestr(zipfile.ZipInfo(name, _STAMP), old.read(name), zipfile.ZIP_DEFLATED)
