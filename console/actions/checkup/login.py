"""How each host of the way was logged in to: every method that was tried, in order, and what became of it."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from console.actions.checkup.check import Check, shown
from console.remote.transports import attempts
from console.remote.transports.attempts import ACCEPTED, UNUSABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.remote.transport import Transport
    from console.remote.transports.attempts import Attempt, Logins

MAX_MESSAGES = 2000
_HINTS = {
    "publickey": "Is its public half in ~/.ssh/authorized_keys there? `ssh-add -l` shows what the agent has.",
    "password": "The answer was wrong, or the account may not log in by a password.",
    "keyboard-interactive": "The answer was wrong, or came too late for a code.",
}
_LOCKED = "Does the file exist, and who may read it? A key with a passphrase: `ssh-add` it, or answer on a terminal."


class Watched(logging.Handler):
    """Keeps what the SSH libraries say while it is entered."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.said: dict[str, list[str]] = {"asyncssh": [], "paramiko": []}

    def emit(self, record: logging.LogRecord) -> None:
        kept = self.said[record.name.partition(".")[0]]
        if len(kept) < MAX_MESSAGES:
            kept.append(record.getMessage())


@contextlib.contextmanager
def watched(transport: Transport) -> Iterator[Watched]:
    """Listen to the libraries' loggers; their levels are put back afterwards."""
    handler = Watched()
    by_asyncssh = transport.name in ("auto", "asyncssh")
    if by_asyncssh:
        from console.remote.transports import asyncssh_

        asyncssh_.say_all(True)
    loggers = [logging.getLogger(name) for name in handler.said]
    before = [(each.level, each.propagate) for each in loggers]
    for each in loggers:
        each.addHandler(handler)
        each.setLevel(logging.DEBUG)
        each.propagate = False
    try:
        yield handler
    finally:
        for each, (level, propagate) in zip(loggers, before, strict=True):
            each.removeHandler(handler)
            each.setLevel(level)
            each.propagate = propagate
        if by_asyncssh:
            asyncssh_.say_all(False)


def logins(transport: Transport, heard: Watched, host: str) -> Logins:
    """What was tried, by the transport that was used."""
    if transport.name == "openssh":
        return attempts.from_openssh(getattr(transport, "log", ""))
    if transport.name == "paramiko":
        return attempts.from_paramiko(heard.said["paramiko"], host)
    return attempts.from_asyncssh(heard.said["asyncssh"])


def checks(transport: Transport, found: Logins) -> Iterator[Check]:
    """A check for each host that was talked to, in the order of the way."""
    if transport.name == "local":
        yield Check("login", "ok", "this machine: nobody logs in")
        return
    if not found.hosts:
        yield Check("login", "unknown", _nothing(transport))
    for number, host in enumerate(found.hosts, 1):
        tries = [each for each in found.attempts if each.host == host]
        where = f"{host} (hop {number} of {len(found.hosts)})" if len(found.hosts) > 1 else host
        yield _check(where, host, tries, dict(found.offered).get(host, ""))


def _nothing(transport: Transport) -> str:
    if transport.name == "openssh":
        return "a master connection was there already, or ssh did not come so far: no login was seen"
    return "no login was seen"


def _check(where: str, host: str, tries: list[Attempt], offered: str) -> Check:
    done = any(each.outcome == ACCEPTED for each in tries)
    told = "; ".join(map(_try, tries)) or "nothing was tried"
    also = f"; it takes {shown(offered)}" if offered and not done else ""
    last = tries[-1] if tries else None
    hint = "" if done else _LOCKED if last and last.outcome == UNUSABLE else _HINTS.get(last.method if last else "", "")
    values = {
        "host": host,
        "offered": offered.split(",") if offered else [],
        "attempts": [
            {"method": each.method, "credential": each.credential, "outcome": each.outcome, "why": each.why}
            for each in tries
        ],
    }
    return Check("login", "ok" if done else "bad", f"{shown(where)}: {told}{also}", hint, values)


def _try(attempt: Attempt) -> str:
    what = f"{attempt.method} {attempt.credential}".strip()
    why = f" ({attempt.why})" if attempt.why and attempt.outcome != ACCEPTED else ""
    return f"{shown(what)}: {attempt.outcome}{shown(why)}"
