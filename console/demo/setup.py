"""Lay out the embedded node on disk. Nothing outside `home` is touched; no process is started."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from console.demo import checkpoints, site
from console.errors import UsageError

VERSION = "0.5.12.post1+simulated"
_STANDIN = Path(__file__).parent / "standin"
PORT_VARIABLE = "SPEC_CONSOLE_DEMO_PORT"
"""Another port for the embedded node's server than this user's own: for a second one at the same time."""
_FIRST_PORT = 18000
_PORTS = 2000
_METADATA = f"""Metadata-Version: 2.1
Name: sglang
Version: {VERSION}
Summary: SIMULATED: the stand-in of spec-console's embedded node, not SGLang
"""


@dataclass(frozen=True, slots=True)
class DemoNode:
    """The embedded node: what the agent and profiles need to know of it."""

    home: Path
    python: str
    env: dict[str, str]
    """Added to the environment of the agent, and so of everything that it starts."""
    variables: dict[str, str]
    """The node's variables for profiles: python, models, drafts, logs."""
    nvidia_smi: Path
    state_dir: Path
    port: int
    """The server's port, another one for each user of a machine."""
    stale: bool = False
    """True when a patched site of an older stand-in was kept: revert its patches to have it refreshed."""


def prepare(home: Path) -> DemoNode:
    """Lay the node out under `home`, or find it there; what a patch or the user changed is kept.

    Raises UsageError when `home` cannot be written.
    """
    home = home.resolve()
    try:
        fresh = _lay_out(home)
    except OSError as error:
        raise UsageError(
            f"the embedded node cannot be laid out in {home}: {error.strerror or error}",
            "Choose another folder, or make room there.",
        ) from error
    return DemoNode(
        home=home,
        python=sys.executable,
        env={"PYTHONPATH": str(home / "site"), "SPEC_CONSOLE_DEMO": str(home)},
        variables={
            "python": sys.executable,
            "models": str(home / "models"),
            "drafts": str(home / "drafts"),
            "logs": str(home / "logs"),
        },
        nvidia_smi=home / "bin" / "nvidia-smi",
        state_dir=home / "state",
        port=_port(os.environ.get(PORT_VARIABLE, "")),
        stale=not fresh,
    )


def _port(asked: str) -> int:
    if not asked:
        return _FIRST_PORT + os.getuid() % _PORTS
    if not (asked.isdecimal() and 1 <= int(asked) <= 65535):
        raise UsageError(f"{PORT_VARIABLE}={asked} is no port", "A whole number from 1 to 65535.")
    return int(asked)


def _lay_out(home: Path) -> bool:
    for name in ("bin", "logs", "run"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "state").mkdir(mode=0o700, exist_ok=True)
    fresh = site.refresh(_STANDIN / "sglang", home)
    info = home / "site" / f"sglang-{VERSION}.dist-info"
    info.mkdir(exist_ok=True)
    _write(info / "METADATA", _METADATA, 0o644)
    script = home / "bin" / "nvidia_smi.py"
    _write(script, (_STANDIN / "nvidia_smi.py").read_text(encoding="utf-8"), 0o644)
    # -I -S: start in 10 ms, whatever the environment holds.
    words = [sys.executable, "-I", "-S", str(script), str(home)]
    _write(home / "bin" / "nvidia-smi", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', 0o755)
    checkpoints.write_all(home / "models", home / "drafts")
    return fresh


def _write(path: Path, text: str, mode: int) -> None:
    """Write `text` unless it is there already; swap, so that a running reader sees the old or the new."""
    if path.is_file() and path.read_bytes() == text.encode("utf-8"):
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.chmod(mode)
    temporary.replace(path)
