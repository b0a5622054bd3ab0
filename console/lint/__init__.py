"""Findings, before and after a launch: the only place that words them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console import registry
from console.errors import UsageError
from console.lint import rules
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from console.lint.context import Launch, LaunchContext, LogContext
    from console.lint.finding import Finding
    from console.lint.rule import Rule

_ORDER = ("error", "warn", "info")


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by id."""
    return tuple(module.RULE for module in registry.modules(rules).values())


def require_rules(ids: Iterable[str]) -> None:
    """Raises UsageError for an id that is no rule's: whoever allows it would believe that something is allowed."""
    known = [stem.replace("_", "-") for stem in registry.stems(rules)]
    for each in ids:
        if each not in known:
            near = nearest(each, known)
            hint = f"Nearest: {near}." if near else "`spec-console rules list` has them all."
            raise UsageError(f"no rule is called {each!r}", hint)


def check(launch: Launch) -> tuple[Finding, ...]:
    """What can be said from the command line and the files it names; errors first."""
    return _sorted(_ask("check", launch))


def check_node(context: LaunchContext) -> tuple[Finding, ...]:
    """The same, and what the node says of it."""
    return _sorted([*_ask("check", context.launch), *_ask("check_node", context)])


def explain(log: LogContext) -> tuple[Finding, ...]:
    """What a log says of its server, and what its launch did to it: errors first, of those the first in the log.

    A death that no rule knows is told by its first cause (`explain_rest`).
    """
    found = list(_ask("explain", log))
    if not any(each.severity == "error" for each in found):
        found += _ask("explain_rest", log)
    return _sorted(found)


def _ask(function: str, subject: Any) -> Iterator[Finding]:
    for module in registry.modules(rules).values():
        if hasattr(module, function):
            yield from getattr(module, function)(subject)


def _sorted(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=_place))


def _place(finding: Finding) -> tuple[int, int]:
    return _ORDER.index(finding.severity), -1 if finding.offset is None else finding.offset
