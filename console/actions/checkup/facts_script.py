"""The one `sh` script that looks at an account without an agent, and the reading of what it says.

POSIX sh in one line, without exclamation marks and backslashes at the end of a quote: csh and fish pass it on unharmed.
It answers in lines of a key and a value. The value is the node's own text: hostile, shown only through `check.shown`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ITEMS = 40
_VENVS = (
    '"$HOME"/*/bin/python "$HOME"/.*/bin/python "$HOME"/*/*/bin/python "$HOME"/.virtualenvs/*/bin/python '
    '"$HOME"/*/envs/*/bin/python /opt/*/bin/python /opt/*/*/bin/python /opt/*/envs/*/bin/python /venv/bin/python '
    "/workspace/*/bin/python /usr/local/*/bin/python"
)
_PROGRAMS = "docker podman nerdctl kubectl enroot apptainer singularity srun"
_SIGNS = "/.dockerenv /run/.containerenv /var/run/secrets/kubernetes.io"
_SOCKETS = "/var/run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock"


@dataclass(frozen=True, slots=True)
class Python:
    """One interpreter that was found; `version` is what it printed to `-V`, "Python 3.11.2", or why it does not run."""

    name: str
    path: str
    version: str

    @property
    def number(self) -> tuple[int, int] | None:
        words = self.version.split()
        parts = words[1].split(".") if len(words) == 2 and words[0] == "Python" else []
        usable = len(parts) > 1 and all(part.isdecimal() and len(part) < 4 for part in parts[:2])
        return (int(parts[0]), int(parts[1])) if usable else None


@dataclass(frozen=True, slots=True)
class Venv:
    """An interpreter of a virtual environment, and the uid that the environment belongs to."""

    path: str
    owner: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What the script said; "" where it did not say it."""

    one: dict[str, str] = field(default_factory=dict)
    pythons: tuple[Python, ...] = ()
    venvs: tuple[Venv, ...] = ()
    programs: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    sockets: tuple[tuple[str, bool], ...] = ()
    """Path, and whether this account may write to it."""
    whole: bool = False
    """It came to its end."""

    def get(self, key: str) -> str:
        return self.one.get(key, "")


def script(pythons: Sequence[str], cache_dir: str | None) -> str:
    """Write it. Nothing is left on the node; a file is made in the home and taken away, to see whether it can be."""
    names = " ".join(map(shlex.quote, pythons))
    cache = shlex.quote(cache_dir) if cache_dir else '"${XDG_CACHE_HOME:-$HOME/.cache}/spec-console"'
    say = 'say() { printf "%s " "$1"; shift; printf "%s" "$*" | tr "\\n" " " | cut -c 1-500; echo; };'
    return " ".join(
        (
            say,
            'say shell "$SHELL"; say home "$HOME"; say uid "$(id -u)"; say user "$(id -un)"; say host "$(uname -n)";',
            'say os "$(uname -sr)";',
            't=$(mktemp "$HOME/.spec-console-XXXXXX" 2>&1) && rm -f "$t" && t=yes; say home-writes "$t";',
            'say home-df "$(df -Pk "$HOME" 2>/dev/null | tail -n 1)";',
            f'd={cache}; say cache "$d"; say cache-ls "$(ls -ldn -- "$d" 2>/dev/null)";',
            'say cache-agents "$(ls -- "$d" 2>/dev/null | grep -c "^agent-")";',
            f'for p in {names}; do w=$(command -v "$p" 2>/dev/null) &&',
            'say python "$p|$w|$("$p" -V 2>&1 </dev/null)"; done;',
            f'n=0; for p in {_VENVS}; do b="${{p%/bin/python}}"; if test -x "$p"; then',
            'if test -f "$b/pyvenv.cfg" || test -d "$b/conda-meta"; then n=$((n+1));',
            f"test $n -gt {MAX_ITEMS} && break;",
            'set -f; set -- $(ls -ldn -- "$b"); set +f; say venv "$3 $p"; fi; fi; done;',
            f"for p in {_PROGRAMS}; do w=$(command -v $p 2>/dev/null) && say program $w; done;",
            f"for p in {_SIGNS}; do test -e $p && say sign $p; done;",
            'test -n "$KUBERNETES_SERVICE_HOST" && say sign KUBERNETES_SERVICE_HOST;',
            'say init "$(cat /proc/1/comm 2>/dev/null)";',
            f"for p in {_SOCKETS}; do test -S $p && say socket $p $(test -w $p && echo open || echo closed); done;",
            "say end yes",
        )
    )


def read(output: bytes) -> Facts:
    """Read its answer; lines that are none of ours are passed over."""
    one: dict[str, str] = {}
    many: dict[str, list[str]] = {}
    for line in output.decode("utf-8", "replace").split("\n"):
        key, _, value = line.strip().partition(" ")
        if key in ("python", "venv", "program", "sign", "socket"):
            if len(many.setdefault(key, [])) < MAX_ITEMS:
                many[key].append(value)
        elif key:
            one.setdefault(key, value)
    return Facts(
        one=one,
        pythons=tuple(_python(value) for value in many.get("python", ())),
        venvs=tuple(_venv(value) for value in many.get("venv", ())),
        programs=tuple(many.get("program", ())),
        signs=tuple(many.get("sign", ())),
        sockets=tuple(_socket(value) for value in many.get("socket", ())),
        whole=one.get("end") == "yes",
    )


def _python(value: str) -> Python:
    name, path, version, *_ = [*value.split("|"), "", ""]
    return Python(name, path, version)


def _venv(value: str) -> Venv:
    owner, _, path = value.partition(" ")
    return Venv(path, owner)


def _socket(value: str) -> tuple[str, bool]:
    path, _, state = value.partition(" ")
    return path, state == "open"
