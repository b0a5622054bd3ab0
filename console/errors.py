"""The one tree of errors: every error says what failed, what to do next, and which exit code it means.

ConsoleError                     exit
├── UsageError                   2   a wrong argument, file or profile
├── NegativeResult               1   the work was done and its answer is no
├── Unreachable                  3   no connection, refused auth, host key
├── AgentStartFailed             4   the node answered, the agent did not start
├── Refused                      5   confirmation, lock, read-only, preflight
├── ServerDied                   6   a server died or did not become ready
└── NodeLost                     7   the connection went away, outcome unknown
"""

from __future__ import annotations

from typing import Any

EXIT_OK = 0
EXIT_INTERRUPTED = 130
STARTED_READONLY = "the console was started with --readonly"
"""Why changes are refused then: in the words of the console, and of the agent that it starts."""


class ConsoleError(Exception):
    """An expected failure, told in the user's words."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail
        """Further lines as they came (stderr of the node, last log lines): hostile text, never markup."""
        self.findings: list[dict[str, Any]] = []
        """What rules say of it, errors first, in the form of `--json`; empty for most errors."""
        self.plan: dict[str, Any] = {}
        """The plan that it refuses, as `--json` shows it; empty where none was to be shown."""


class NegativeResult(ConsoleError):
    """The question was answered, and the answer is no."""

    exit_code = 1


class UsageError(ConsoleError):
    """The command, a profile or a file is wrong; nothing was done."""

    exit_code = 2


class Unreachable(ConsoleError):
    """The node could not be reached or did not let us in."""

    exit_code = 3


class AgentStartFailed(ConsoleError):
    """The node was reached, but the agent did not start there."""

    exit_code = 4


class Refused(ConsoleError):
    """The action was not started: not confirmed, locked, read-only, or stopped by a finding."""

    exit_code = 5


class ServerDied(ConsoleError):
    """A server ended, or was not ready in time."""

    exit_code = 6


class NodeLost(ConsoleError):
    """The connection was lost while something was under way; what happened to it is not known."""

    exit_code = 7
