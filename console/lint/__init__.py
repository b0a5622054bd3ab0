"""Findings, before and after a launch: the only place that words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console import registry
from console.lint import rules

if TYPE_CHECKING:
    from console.lint.context import LaunchContext
    from console.lint.finding import Finding


def check(context: LaunchContext) -> tuple[Finding, ...]:
    """Ask every rule; errors first."""
    order = ("error", "warn", "info")
    found = [finding for module in registry.modules(rules).values() for finding in module.check(context)]
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))
