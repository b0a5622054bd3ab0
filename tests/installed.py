"""Installed SGLangs to look at: a wheel of the embedded node's stand-in, which pip puts in a venv; a git checkout."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

STANDIN = Path(__file__).parents[1] / "console" / "demo" / "standin" / "sglang"
BIG = "srt/models/big.py"
"""A file of 600 kB."""
_GIT = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@here",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@here",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


def sources(version: str) -> dict[str, bytes]:
    """The files of a release, by path in the package. Another version differs in every model file."""
    found = {path.relative_to(STANDIN).as_posix(): path.read_bytes() for path in STANDIN.rglob("*.py")}
    for path in found:
        if path.startswith("srt/models/"):
            found[path] += f"\n# of {version}\n".encode()
    found[BIG] = b"".join(b"CONSTANT_%05d = %d\n" % (n, n) for n in range(27_600))
    return found


def wheel(folder: Path, version: str) -> Path:
    """A wheel of that release, with a RECORD as every installer writes it."""
    info = f"sglang-{version}.dist-info"
    members = {f"sglang/{path}": data for path, data in sources(version).items()}
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n".encode()
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = [f"{name},sha256={_urlsafe(data)},{len(data)}\n" for name, data in members.items()]
    members[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"sglang-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def index(folder: Path, *versions: str) -> str:
    """A package index (PEP 503) of these releases, as a URL of files."""
    project = folder / "simple" / "sglang"
    links = []
    for version in versions:
        made = wheel(project, version)
        links.append(f'<a href="{made.name}#sha256={hashlib.sha256(made.read_bytes()).hexdigest()}">{made.name}</a>')
    (project / "index.html").write_text(f"<!DOCTYPE html><html><body>{' '.join(links)}</body></html>")
    return (folder / "simple").as_uri()


def install(made: Path, environment: Path) -> Path:
    """Put the wheel into a venv as `pip install -U` does; return the package's folder there."""
    if not environment.exists():
        venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-U", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-compile", "--disable-pip-version-check", str(made)], check=True)
    (package,) = environment.glob("lib/python3*/site-packages/sglang")
    return package


def checkout(folder: Path) -> Path:
    """A git checkout with the package in `python/sglang`, committed on `main`; return the package's folder."""
    package = folder / "python" / "sglang"
    shutil.copytree(STANDIN, package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "one")
    return package


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env={**os.environ, **_GIT}
    )
    return done.stdout.strip()


def _urlsafe(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
