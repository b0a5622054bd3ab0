"""What a rule is, beside its functions: why it exists and where that was learned. `rules show ID` prints it."""

from __future__ import annotations

from dataclasses import dataclass

from console.lint.finding import Finding


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `id` is its module's stem with hyphens."""

    id: str
    title: str
    """What is wrong when it finds something, in one line."""
    why: str
    """What happens to a user who does not know; one or two sentences."""
    source: str
    """Where the fact was read: files and releases of SGLang, an issue, a measured run."""

    def error(self, message: str, hint: str = "", evidence: str = "") -> Finding:
        """It will not work, or measures something else than it says: stops a launch."""
        return Finding(self.id, "error", message, hint, evidence)

    def warn(self, message: str, hint: str = "", evidence: str = "") -> Finding:
        """It may be meant, and often is not."""
        return Finding(self.id, "warn", message, hint, evidence)

    def info(self, message: str, hint: str = "", evidence: str = "") -> Finding:
        """Good to know."""
        return Finding(self.id, "info", message, hint, evidence)
