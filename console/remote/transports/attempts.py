"""What was tried to log in, host by host and in order, read from what each client says while it does. Pure.

Sources: `ssh -v` (OpenSSH 9.2), the logger `asyncssh` at debug level 2 (2.24), the loggers `paramiko` (5.1). A line
that is not understood is passed over: nothing is told that was not said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Take = Callable[["_Course", re.Match[str]], None]

ACCEPTED = "accepted"
REFUSED = "refused"
UNUSABLE = "not usable"
NOT_ENOUGH = "not enough"
"""Taken, and another factor is wanted; or signed for and turned down: the server's answer can be the same to both."""
KNOWN = "the server knows this key"
_OPEN = "not finished"
MAX_TEXT = 300
SSH_PORT = "22"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at one host ("name" or "name:port"); `credential` names a key or file, and is never a secret."""

    host: str
    method: str
    credential: str
    outcome: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Logins:
    """All tries of one way, and what each host would take, as it was last said."""

    attempts: tuple[Attempt, ...] = ()
    offered: tuple[tuple[str, str], ...] = ()
    """Host, and its methods separated by commas."""

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(each.host for each in self.attempts), *(host for host, _ in self.offered)]))


class _Course:
    """The state of a login as lines go by: a try is open until the next line that answers it."""

    def __init__(self) -> None:
        self.host = ""
        self.attempts: list[Attempt] = []
        self.offered: dict[str, str] = {}

    def begin(self, method: str, credential: str = "") -> None:
        self.end(UNUSABLE)  # nobody answered: it was never sent
        self.attempts.append(Attempt(self.host, method, credential[:MAX_TEXT], _OPEN))

    def end(self, outcome: str, why: str = "") -> None:
        if self.attempts and self.attempts[-1].outcome == _OPEN:
            last = self.attempts[-1]
            self.attempts[-1] = replace(last, outcome=outcome, why=why[:MAX_TEXT] or last.why)

    def at(self, host: str, port: str | None) -> None:
        self.end(UNUSABLE)
        self.host = host[:MAX_TEXT] if port in (None, SSH_PORT) else f"{host[:MAX_TEXT]}:{port}"

    def known(self) -> None:
        """The server knows the key that is shown; a signature is what it wants next."""
        if self.attempts and self.attempts[-1].outcome == _OPEN:
            self.attempts[-1] = replace(self.attempts[-1], why=KNOWN)

    def answered(self, method: str, outcome: str, why: str = "") -> None:
        """An answer that names its method, whether or not the try was announced."""
        if not self.attempts or self.attempts[-1].outcome != _OPEN:
            self.begin(method)
        self.end(outcome, why)

    def offers(self, methods: str) -> None:
        last = self.attempts[-1] if self.attempts else None
        before = self.offered.get(self.host, "").split(",")
        taken = last and (last.why == KNOWN or (last.method in before and last.method not in methods.split(",")))
        self.end(NOT_ENOUGH if taken else REFUSED)
        self.offered[self.host] = methods[:MAX_TEXT]

    def result(self) -> Logins:
        self.end(UNUSABLE)
        return Logins(tuple(self.attempts), tuple(self.offered.items()))


def from_openssh(text: str) -> Logins:
    """Read the log of an `ssh -v`, those of its jump hosts among it."""
    return _read(text.replace("\r", "").splitlines(), _OPENSSH)


def from_asyncssh(messages: Iterable[str]) -> Logins:
    return _read(messages, _ASYNCSSH)


def from_paramiko(messages: Iterable[str], host: str) -> Logins:
    """paramiko goes to one host, and its messages do not name it."""
    return _read(messages, _PARAMIKO, host)


def _read(lines: Iterable[str], rules: Sequence[tuple[re.Pattern[str], Take]], host: str = "") -> Logins:
    course = _Course()
    course.host = host
    for line in lines:
        for pattern, take in rules:
            if found := pattern.match(line):
                take(course, found)
                break
    return course.result()


def _rules(prefix: str, table: Mapping[str, Take]) -> tuple[tuple[re.Pattern[str], Take], ...]:
    return tuple((re.compile(prefix + pattern), take) for pattern, take in table.items())


_OPENSSH = _rules(
    "",
    {
        r"debug1: Authenticating to (\S+):(\d+) as ": lambda c, m: c.at(m[1], m[2]),
        r"debug1: Authentications that can continue: (.*)": lambda c, m: c.offers(m[1]),
        r"debug1: Offering public key: (.*)": lambda c, m: c.begin("publickey", m[1]),
        r"debug1: Trying private key: (.*)": lambda c, m: c.begin("publickey", m[1]),
        r"debug1: Server accepts key": lambda c, m: c.known(),
        r"Load key (.*): (.*)": lambda c, m: c.end(UNUSABLE, m[2]),
        r"debug1: Next authentication method: (?!publickey)(.*)": lambda c, m: c.begin(m[1]),
        r'Authenticated using "([^"]*)" with partial success': lambda c, m: c.answered(m[1], NOT_ENOUGH),
        r'Authenticated to .* using "([^"]*)"': lambda c, m: c.answered(m[1], ACCEPTED),
    },
)
_ASYNCSSH = _rules(
    r"\[conn=\d+\] ",
    {
        r"Connected to SSH server at (.+?)(?:, port (\d+))?$": lambda c, m: c.at(m[1], m[2]),
        r"Remaining auth methods: (.*)": lambda c, m: c.offers(m[1]),
        r"Trying public key auth with (.*)": lambda c, m: c.begin("publickey", m[1]),
        r"Signing request with": lambda c, m: c.known(),
        r"Public key auth failed: (.*)": lambda c, m: c.end(UNUSABLE, m[1]),
        r"Trying (keyboard-interactive|password|GSS MIC|GSS key exchange|host based) auth": lambda c, m: c.begin(m[1]),
        r"Auth for user .* succeeded": lambda c, m: c.answered("none", ACCEPTED),
        r"Auth failed for user": lambda c, m: c.end(REFUSED),
    },
)
_PARAMIKO = _rules(
    "",
    {
        r"Trying discovered key .* in (.*)": lambda c, m: c.begin("publickey", m[1]),
        r"Trying SSH agent key": lambda c, m: c.begin("publickey", "a key of the agent"),
        r"Authentication type \((.*?)\) not permitted": lambda c, m: c.answered(m[1], REFUSED, "not permitted"),
        r"Allowed methods: \[(.*)\]": lambda c, m: c.offers(m[1].replace("'", "").replace(" ", "")),
        r"Authentication continues": lambda c, m: c.end(NOT_ENOUGH),
        r"Methods: \[(.*)\]": lambda c, m: c.offers(m[1].replace("'", "").replace(" ", "")),
        r"Authentication \((.*?)\) failed": lambda c, m: c.answered(m[1], REFUSED),
        r"Authentication \((.*?)\) successful": lambda c, m: c.answered(m[1], ACCEPTED),
    },
)
