"""Git, asked about a checkout on this node. Reads only: no hook, no monitor, no lock, no fetch."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from typing import Dict, Optional

TIMEOUT_S = 60.0
MAX_OUTPUT = 8 * 1024 * 1024
# Settings and variables, not options: an old git passes over what it does not know.
_SETTINGS = ("core.fsmonitor=", "core.hooksPath=/dev/null", "protocol.allow=never", "status.renames=false")
_VARIABLES = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


class GitError(Exception):
    """Git did not answer; the text says why."""


def checkout_of(root: str) -> Optional[str]:
    """The top folder of the checkout that `root` (links resolved) lies in; None outside of any."""
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    return folder


def tracks(top: str, root: str) -> bool:
    """Has the checkout committed files below `root`? A venv inside somebody's checkout is none of its files."""
    return bool(ask(top, "ls-tree", "-z", "--name-only", "HEAD", "--", inside(top, root) + "/"))


def inside(top: str, root: str) -> str:
    """The path of `root` in the checkout, with forward slashes."""
    return os.path.relpath(root, top)


def ask(top: str, *words: str) -> bytes:
    """What git prints. Raises GitError: not there, failed, too slow, too long."""
    argv = ["git", "-C", top]
    for setting in (f"safe.directory={top}", *_SETTINGS):
        argv += ["-c", setting]
    with tempfile.TemporaryFile() as told:
        try:
            process = subprocess.Popen(
                [*argv, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=told, env=_environment()
            )
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror}") from None
        output = _read(process)
        told.seek(0)
        last = told.read(4096).decode("utf-8", "replace").strip().splitlines()[-1:]
    if len(output) > MAX_OUTPUT:
        raise GitError(f"git {words[0]} says more than {MAX_OUTPUT} bytes")
    if process.returncode < 0:
        raise GitError(f"git {words[0]} did not end within {TIMEOUT_S:.0f} s")
    if process.returncode:
        raise GitError(f"git {words[0]} exited {process.returncode}: {''.join(last)[:300]}")
    return output


def _read(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    end = threading.Timer(TIMEOUT_S, process.kill)
    end.start()
    try:
        with process.stdout as stream:
            output = stream.read(MAX_OUTPUT + 1)
            if len(output) > MAX_OUTPUT:
                process.kill()
        process.wait()
    finally:
        end.cancel()
    return output


def _environment() -> Dict[str, str]:
    """Ours without GIT_DIR and its kin, which would lead to another repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return dict(kept, **_VARIABLES)
