"""Start the agent on a node: one `sh -c` line that runs the cached zip; upload only when it is not there.

POSIX sh only, in one line without exclamation marks, so that csh as login shell passes it on unharmed. What a chatty rc
file prints before the hello is kept as the banner, for the error report.
"""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.errors import AgentStartFailed
from remote_agent.protocol import (
    EXIT_CRASHED,
    EXIT_NO_PYTHON,
    EXIT_NOT_UPLOADED,
    EXIT_PYTHON_TOO_OLD,
    MAGIC,
    MAX_LINE,
    PROTOCOL,
    Hello,
    ProtocolError,
    decode_line,
    from_wire,
)

if TYPE_CHECKING:
    from console.remote.bundle import Bundle
    from console.remote.transport import Channel, Transport

HELLO_TIMEOUT_S = 60.0
UPLOAD_TIMEOUT_S = 120.0
MAX_BANNER = 64 * 1024
PYTHONS = (*(f"python3.{minor}" for minor in range(13, 7, -1)), "python3")
OBEY_TIMEOUT_S = 10.0
_UPLOAD_FAILED = 95
_NOT_OURS = 94
_TOLD: dict[int | None, tuple[str, str]] = {
    EXIT_NO_PYTHON: ("no Python on the node", f"Set `python:` for the node; looked for {', '.join(PYTHONS)}."),
    EXIT_PYTHON_TOO_OLD: ("the Python on the node is older than 3.8", "Set `python:` for the node."),
    EXIT_CRASHED: ("the agent crashed at its start", "What it printed is below."),
    _NOT_OURS: (
        "the agent's cache folder on the node is a link, or another account can write to it",
        "What lies there would run as you. Remove it, `chmod 700` it, or set `cache_dir:` of the node; see `doctor`.",
    ),
    127: ("the node has no `sh`, or the exec prefix does not run", "Check `exec_prefix:` of the node."),
}
_FORCED = "A ForceCommand of its sshd, a `command=` of the key, or a login shell that is none? Ask who runs the node."

# Of a cache that is there: a folder, no link, of this account, and written to by no other. A node without `ls` or `id`
# cannot tell, and goes on.
_GUARD = (
    'if test -e "$d" || test -h "$d"; then '
    's=$(ls -ldn -- "$d" 2>/dev/null); u=$(id -u 2>/dev/null); test -n "$u" || s=; set -f; set -- $s; set +f; '
    f'case "$1.$3" in .|d????-??-?*.$u) ;; *) exit {_NOT_OURS};; esac; fi;'
)

# Run from stdin where nothing can be written: the zip lies in a memory file, and the rest of stdin is the wire.
_FROM_STDIN = (
    "import os,runpy,sys;n=int(sys.argv[1]);d=b'';"
    "exec('while len(d)<n: d+=os.read(0,n-len(d)) or sys.exit(99)');"
    "f=os.memfd_create('agent');os.write(f,d);p='/proc/self/fd/%d'%f;"
    "sys.argv=[p]+sys.argv[2:];sys.path.insert(0,p);runpy.run_path(p,run_name='__main__')"
)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How the agent is to be started on a node."""

    python: str | None = None
    exec_prefix: tuple[str, ...] = ()
    cache_dir: str | None = None
    args: tuple[str, ...] = ()
    """Options of the agent, see remote_agent/options.py."""
    readonly: str = ""
    """Why the agent is to refuse every change; empty when it is not."""


@dataclass(slots=True)
class Started:
    """A running agent: its channel, its hello, and what already came after the hello."""

    channel: Channel
    hello: Hello
    rest: bytes
    uploaded: bool
    banner: bytes = field(default=b"", repr=False)


async def start(transport: Transport, bundle: Bundle, settings: AgentSettings) -> Started:
    """Start the agent, uploading it first if need be.

    Raises:
        AgentStartFailed: no usable Python, no room, or it did not say hello; with what the node printed.
    """
    outcome = await _try(transport, _cached_command(bundle, settings), b"", bundle)
    if isinstance(outcome, Started):
        return outcome
    if outcome.status != EXIT_NOT_UPLOADED:
        raise await _explained(transport, outcome, settings)
    refused = await _upload(transport, bundle, settings)
    if refused is None:
        command, payload = _cached_command(bundle, settings), b""
    else:
        command, payload = _stdin_command(bundle, settings, refused), bundle.data
    outcome = await _try(transport, command, payload, bundle)
    if isinstance(outcome, Started):
        outcome.uploaded = True
        return outcome
    raise await _explained(transport, outcome, settings)


@dataclass(slots=True)
class _Failed:
    status: int | None
    output: bytes
    errors: bytes
    why: str = ""
    """Where there is no status: what was waited for in vain."""


async def _try(transport: Transport, argv: list[str], payload: bytes, bundle: Bundle) -> Started | _Failed:
    channel = await transport.open(argv)
    try:
        if payload:
            await channel.write(payload)
        async with asyncio.timeout(HELLO_TIMEOUT_S):
            return await _read_hello(channel, bundle, checked=not payload)
    except TimeoutError:
        channel.close()
        return _Failed(None, b"", b"", f"the agent did not start: no hello within {HELLO_TIMEOUT_S:.0f} s")
    except ConnectionError as error:
        channel.close()
        return _Failed(None, b"", str(error).encode())


async def _read_hello(channel: Channel, bundle: Bundle, *, checked: bool) -> Started | _Failed:
    seen, begin = b"", 0
    while True:
        data = await channel.read(MAX_LINE)
        if not data:
            errors = await _drain_errors(channel)
            return _Failed(await channel.wait(), seen, errors)
        seen += data
        while (end := seen.find(b"\n", begin)) >= 0:
            hello = _as_hello(seen[begin:end])
            if hello is not None:
                _check(hello, bundle, checked=checked)
                return Started(channel, hello, seen[end + 1 :], False, seen[:begin])
            begin = end + 1
        if len(seen) > MAX_BANNER:
            channel.close()
            return _Failed(None, seen[:MAX_BANNER], b"", "the node printed 64 kB and no hello")


def _as_hello(line: bytes) -> Hello | None:
    if MAGIC.encode() not in line:
        return None
    try:
        message = decode_line(line[line.index(b"{") :])
        return from_wire(Hello, message.get("params"))
    except (ProtocolError, ValueError):
        return None


def _check(hello: Hello, bundle: Bundle, *, checked: bool) -> None:
    if hello.protocol != PROTOCOL or (checked and hello.sha256 != bundle.sha256):
        raise AgentStartFailed(
            "the cached agent on the node is not the one this console brought",
            "Remove ~/.cache/spec-console/ on the node and connect again.",
        )


async def _drain_errors(channel: Channel) -> bytes:
    errors = b""
    while len(errors) < MAX_BANNER and (part := await channel.read_error(MAX_BANNER)):
        errors += part
    return errors


async def _upload(transport: Transport, bundle: Bundle, settings: AgentSettings) -> str | None:
    """Write the zip into the node's cache; returns why it could not be, or None."""
    size = len(bundle.data)
    script = (
        f"{_paths(bundle, settings)} umask 077; "
        f'mkdir -p "$d" && cat > "$f.$$" && test $(wc -c < "$f.$$") -eq {size} && mv "$f.$$" "$f" && exit 0; '
        f'rm -f "$f.$$"; exit {_UPLOAD_FAILED}'
    )
    channel = await transport.open([*settings.exec_prefix, "sh", "-c", script])
    try:
        async with asyncio.timeout(UPLOAD_TIMEOUT_S):
            await channel.write(bundle.data)
            channel.write_eof()
            errors = await _drain_errors(channel)
            status = await channel.wait()
    except TimeoutError:
        raise AgentStartFailed(f"the upload of the agent took longer than {UPLOAD_TIMEOUT_S:.0f} s") from None
    except ConnectionError:
        errors, status = await _drain_errors(channel), await channel.wait()
    finally:
        channel.close()
    if status == 0:
        return None
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else f"the upload ended with status {status}"


def _paths(bundle: Bundle, settings: AgentSettings) -> str:
    folder = shlex.quote(settings.cache_dir) if settings.cache_dir else '"${XDG_CACHE_HOME:-$HOME/.cache}/spec-console"'
    return f'd={folder}; f="$d/agent-{bundle.sha256[:32]}.pyz"; {_GUARD}'


def _pythons(settings: AgentSettings) -> str:
    names = [settings.python, *PYTHONS] if settings.python else list(PYTHONS)
    return " ".join(shlex.quote(name) for name in names)


def _cached_command(bundle: Bundle, settings: AgentSettings) -> list[str]:
    return _command(settings, f'{_paths(bundle, settings)} test -f "$f" || exit {EXIT_NOT_UPLOADED};', '-u "$f"', ())


def _stdin_command(bundle: Bundle, settings: AgentSettings, why: str) -> list[str]:
    program = f"-u -c {shlex.quote(_FROM_STDIN)} {len(bundle.data)}"
    return _command(settings, "", program, ("--readonly", f"nothing can be written on the node: {why}"))


def _command(settings: AgentSettings, before: str, program: str, extra: tuple[str, ...]) -> list[str]:
    refusing = ("--readonly", settings.readonly) if settings.readonly else ()
    args = " ".join(shlex.quote(arg) for arg in ("serve", *settings.args, *refusing, *extra))
    script = (
        f"{before} for p in {_pythons(settings)}; do "
        # A shim of a version switcher is found and does not run: only an interpreter that answers counts.
        f'if "$p" -V >/dev/null 2>&1; then exec "$p" -I {program} {args}; fi; done; exit {EXIT_NO_PYTHON}'
    )
    return [*settings.exec_prefix, "sh", "-c", script]


async def _explained(transport: Transport, outcome: _Failed, settings: AgentSettings) -> AgentStartFailed:
    """Say why there is no agent; where its status tells nothing, ask whether the node runs what it is asked to run."""
    if outcome.status in _TOLD:
        return _failure(outcome, *_TOLD[outcome.status])
    if outcome.status is not None and not await _obeys(transport, settings):
        return _failure(outcome, f"the node ran something else in its place (exit status {outcome.status})", _FORCED)
    if outcome.status is not None:
        what = f"the agent did not say hello (exit status {outcome.status})"
        return _failure(outcome, what, "Does the login shell end by itself?")
    return _failure(outcome, outcome.why or "the connection broke before the agent said hello", _FORCED)


async def _obeys(transport: Transport, settings: AgentSettings) -> bool:
    """Whether a command of ours is what runs. Raises Unreachable when no command can be started any more."""
    channel = await transport.open([*settings.exec_prefix, "sh", "-c", f"echo {MAGIC}"])
    output = b""
    try:
        async with asyncio.timeout(OBEY_TIMEOUT_S):
            channel.write_eof()
            while MAGIC.encode() not in output and (part := await channel.read(MAX_BANNER)):
                output = output[-len(MAGIC) :] + part
    except (TimeoutError, ConnectionError):
        return False
    finally:
        channel.close()
    return MAGIC.encode() in output


def _failure(outcome: _Failed, what: str, hint: str) -> AgentStartFailed:
    detail = (outcome.output + outcome.errors).decode("utf-8", "replace").strip()[-4000:]
    return AgentStartFailed(what, hint, detail)
