"""What the agent says when it fails, in the console's tree of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import ConsoleError, NegativeResult, Refused, UsageError

if TYPE_CHECKING:
    from remote_agent.protocol import AgentError


class NodeError(NegativeResult):
    """The node answered that it could not do it; `kind` is the agent's word for why."""

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message, error.hint, error.detail)
        self.kind = error.kind


class NodeRefused(Refused):
    """The node refused the change; `kind` is the agent's word for why."""

    def __init__(self, error: AgentError) -> None:
        hints = {"readonly": "Connect with a node whose home can be written.", "locked": "Try again when it is done."}
        super().__init__(error.message, error.hint or hints.get(error.kind, ""), error.detail)
        self.kind = error.kind


class NodeUsage(UsageError):
    """The request itself was wrong."""

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message, error.hint, error.detail)
        self.kind = error.kind


ERRORS: dict[str, type[NodeError | NodeRefused | NodeUsage]] = {
    "invalid": NodeUsage,
    "not_found": NodeError,
    "readonly": NodeRefused,
    "locked": NodeRefused,
    "identity_mismatch": NodeRefused,
    "hash_mismatch": NodeRefused,
    "permission": NodeRefused,
    "refused": NodeRefused,
    "failed": NodeError,
    "cancelled": NodeError,
    "internal": NodeError,
}


def console_error(error: AgentError) -> ConsoleError:
    """The agent's error in the console's tree."""
    return ERRORS[error.kind](error)
