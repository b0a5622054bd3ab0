"""What OpenSSH itself makes of the user's configuration for a host: `ssh -G`, whatever Match and Include say."""

from __future__ import annotations

import asyncio
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import Unreachable
from console.remote.transports import failures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Effective = dict[str, tuple[str, ...]]
"""Option in lower case → its values, one for each line."""

ANSWER_S = 30.0
"""For a `Match exec` that asks the network."""


def ssh_program() -> str | None:
    return shutil.which("ssh")


async def effective(host: str, words: Sequence[str] = ()) -> Effective:
    """Ask `ssh -G`; `words` are options of ssh. Raises Unreachable: no ssh here, or it rejects the configuration."""
    program = ssh_program()
    if program is None:
        raise Unreachable("there is no `ssh` here", "Install OpenSSH's client, or set `transport: asyncssh`.")
    process = await asyncio.create_subprocess_exec(
        *(program, "-G", *words, "--", host),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(ANSWER_S):
            output, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise failures.bad_config(f"`ssh -G {host}` did not end within {ANSWER_S:.0f} s") from None
    if process.returncode != 0:
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        raise failures.bad_config(lines[-1] if lines else f"`ssh -G {host}` ended with {process.returncode}")
    return parse(output.decode("utf-8", "replace"))


def parse(text: str) -> Effective:
    """Read the output of `ssh -G`: an option and its value on each line."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        option, _, value = line.strip().partition(" ")
        if option:
            found.setdefault(option.lower(), []).append(value)
    return {option: tuple(values) for option, values in found.items()}


def first(config: Mapping[str, Sequence[str]], option: str) -> str:
    """Return an option's value; "" where it is not set or `none`."""
    value = (config.get(option) or ("",))[0]
    return "" if value == "none" else value


def hop(text: str) -> tuple[str, str | None, int | None]:
    """Take "[ssh://][user@]host[:port]" apart, ssh_config(5)'s ProxyJump."""
    user, _, place = text.strip().removeprefix("ssh://").rpartition("@")
    host, colon, port = place.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.startswith("[")):
        return host.strip("[]"), user or None, int(port)
    return place.strip("[]"), user or None, None


def live_master(config: Mapping[str, Sequence[str]]) -> str:
    """Return the socket of a master that the user's own ControlPath names and that answers; else ""."""
    path = first(config, "controlpath")
    return path if path and answers(Path(path)) else ""


def answers(path: Path) -> bool:
    """Whether something accepts connections on a unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
