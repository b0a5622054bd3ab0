"""Files of a released SGLang, read from its wheel.

pip gets the wheel, in a process of its own, from wherever this user's pip is set up to look: indexes, mirrors,
find-links, netrc, keyring, proxies and certificates are honoured, and the index's hash of the wheel is checked. An HTTP
client of ours that reads single members would fetch less, and would have to learn all of that again.
Of the wheel only the Python sources of the package are kept in the cache, about 15 MB a release.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import os
import re
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import NegativeResult, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE_S = 600.0
MAX_MEMBER = 8 << 20
MAX_TOTAL = 512 << 20
_DETAIL_LINES = 4
# From 0.5.11 on wheels are built for one CPython and platform. They are only read here, so ask for that one anywhere.
_BUILD = (
    "--only-binary=:all:",
    "--python-version=3.11",
    "--platform=manylinux_2_34_x86_64",
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_34_aarch64",
    "--platform=any",
)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.!+_-]{0,63}")
_UNREACHED = ("connection broken", "Could not fetch URL")
"""What pip says of an index that it could not ask; another one's answer is then not the whole answer."""
_FROM_VERSIONS = re.compile(r"\(from versions: ([^)]*)\)")
_STAMP = (1980, 1, 1, 0, 0, 0)


async def read(
    version: str, paths: Sequence[str], *, index_url: str | None = None, cache: Path
) -> dict[str, bytes | None]:
    """Return files of the released `sglang` package by path relative to it; None where the release has none.

    Args:
        version: as the index has it, "0.5.20".
        paths: with forward slashes, "srt/models/llama.py"; Python sources only.
        index_url: instead of the one that pip is set up with.
        cache: a folder, made when needed; a release that lies in it is read without asking anyone.

    Raises:
        UsageError: the index has no wheel of this version; near ones are named.
        NegativeResult: pip could not get it, or what it got is no wheel.
    """
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version[:80]!r} is no version of a release", "For instance 0.5.20.")
    kept = cache / f"sglang-{version}.sources.zip"
    found = await asyncio.to_thread(_read_members, kept, paths)
    if found is None:
        await _fetch(version, index_url, kept)
        found = await asyncio.to_thread(_read_members, kept, paths)
    if found is None:
        raise NegativeResult(f"{kept} cannot be read", "Remove it and try again.")
    return found


async def versions(*, index_url: str | None = None) -> list[str]:
    """Return the releases that there are wheels of, oldest first. Raises NegativeResult when pip cannot tell."""
    # Nothing is older than 0, so pip downloads nothing and names what there is: `pip index` is experimental.
    with tempfile.TemporaryDirectory() as folder:
        code, told = await _download("sglang<0", index_url, Path(folder))
    known = _versions_in(told)
    if not known:
        raise _not_got("which releases of sglang there are", code, told)
    return known


async def _fetch(version: str, index_url: str | None, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        code, told = await _download(f"sglang=={version}", index_url, Path(folder))
        wheel = _wheel_in(folder)
        if code or wheel is None:
            raise _no_such_version(version, told) or _not_got(f"sglang {version}", code, told)
        part = Path(folder) / kept.name
        await asyncio.to_thread(_keep_sources, wheel, part)
        part.replace(kept)


def _wheel_in(folder: str) -> Path | None:
    return next(Path(folder).glob("*.whl"), None)


async def _download(requirement: str, index_url: str | None, folder: Path) -> tuple[int, str]:
    """Run pip; return its exit code and what it said. Raises NegativeResult when it takes too long."""
    # -P: a file `pip.py` in the folder the user stands in is not pip.
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--no-deps", "--retries=1"]
    where = [f"--index-url={index_url}"] if index_url else []
    process = await asyncio.create_subprocess_exec(
        *command,
        *_BUILD,
        *where,
        f"--dest={folder}",
        requirement,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_REQUIRE_VIRTUALENV": "0"},
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            _, told = await process.communicate()
    except TimeoutError:
        raise NegativeResult(f"pip did not get {requirement} within {PATIENCE_S:.0f} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return process.returncode or 0, told.decode("utf-8", "replace")


def _no_such_version(version: str, told: str) -> UsageError | None:
    known = _versions_in(told)
    if not known or any(words in told for words in _UNREACHED):
        return None
    near = difflib.get_close_matches(version, known, n=4, cutoff=0.5)
    named = f"Near it: {', '.join(near)}; newest: {known[-1]}." if near else f"Newest: {known[-1]}."
    return UsageError(f"there is no wheel of sglang {version} in the package index", named)


def _not_got(what: str, code: int, told: str) -> NegativeResult:
    lines = [line for line in told.strip().splitlines() if line]
    if "No module named pip" in told:
        return NegativeResult(f"{what}: the Python of this console has no pip", f"{sys.executable} -m ensurepip")
    return NegativeResult(
        f"pip could not get {what} (it exited {code})",
        "Is the package index reachable? pip's own settings are used (`pip config list`).",
        "\n".join(lines[-_DETAIL_LINES:]),
    )


def _versions_in(told: str) -> list[str]:
    match = _FROM_VERSIONS.search(told)
    return [] if match is None or match[1] == "none" else match[1].split(", ")


def _keep_sources(wheel: Path, part: Path) -> None:
    """Write the package's Python sources to `part`. Raises NegativeResult for what is no sane wheel."""
    total = 0
    try:
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as new:
            for info in old.infolist():
                if not info.filename.startswith("sglang/") or not info.filename.endswith(".py"):
                    continue
                total += info.file_size
                if info.file_size > MAX_MEMBER or total > MAX_TOTAL:
                    raise NegativeResult(f"{wheel.name}: {info.filename[:200]} makes it larger than any SGLang")
                new.writestr(zipfile.ZipInfo(info.filename, _STAMP), old.read(info), zipfile.ZIP_DEFLATED)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise NegativeResult(f"{wheel.name} is no wheel that can be read: {error}") from None


def _read_members(kept: Path, paths: Sequence[str]) -> dict[str, bytes | None] | None:
    """Return the files, or None where the cache does not have the release (or has it broken)."""
    try:
        with zipfile.ZipFile(kept) as archive:
            names = set(archive.namelist())
            return {path: archive.read(f"sglang/{path}") if f"sglang/{path}" in names else None for path in paths}
    except (OSError, zipfile.BadZipFile, zlib.error):
        return None
