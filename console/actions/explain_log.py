"""Explain a log: what happened to its server, why, and what to do. A file or stdin, of any size, without a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console import lint
from console.errors import UsageError
from console.lint.context import LogContext
from console.lint.log_wiring import wiring_of
from console.logs.highlight import without_secrets
from console.logs.history import LogHistory
from console.logs.phases import NO_SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from console.lint.context import Launch
    from console.lint.finding import Finding

CHUNK_BYTES = 1 << 20
FINDINGS_SHOWN = 6
"""Findings that are told with their evidence: what fits a screen."""
EVIDENCE_SHOWN = 2


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a log says."""

    source: str
    size: int
    """Bytes read."""
    context: LogContext
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return all(finding.severity != "error" for finding in self.findings)

    @property
    def first(self) -> Finding | None:
        """The first cause: the finding that a death is told by."""
        return self.findings[0] if not self.ok else None

    def to_json(self) -> dict[str, Any]:
        history = self.context.history
        return {
            "source": self.source,
            "bytes": self.size,
            "phase": {"name": history.phase.name, "detail": history.phase.detail},
            "findings": [finding.to_json() for finding in self.findings],
            "ranks": history.ranks,
            "launches": history.notable.launches,
            "server_args": dict(self.context.server_args),
            **history.to_json(wiring_of(self.context).judge),
        }

    def lines(self) -> Iterator[str]:
        yield f"{self.source}: {self._verdict()}"
        for finding in self.findings[:FINDINGS_SHOWN]:
            yield f"{finding.severity} {finding.rule}: {finding.message}"
            for line in finding.evidence.splitlines()[:EVIDENCE_SHOWN]:
                yield f"    {without_secrets(line)}"
            if finding.hint:
                yield f"    → {finding.hint}"
        if len(self.findings) > FINDINGS_SHOWN:
            yield f"and {len(self.findings) - FINDINGS_SHOWN} more findings (--json)"
        if not self.findings:
            yield "nothing to be said against it"
        yield from self._figures()

    def _verdict(self) -> str:
        phase = self.context.history.phase
        detail = f" ({phase.detail})" if phase.detail and phase.name != "died" else f" {phase.detail}".rstrip()
        return f"{phase.name}{detail}"

    def _figures(self) -> Iterator[str]:
        history = self.context.history
        unclaimed = history.unclaimed()["count"]
        ranks = f", ranks {history.ranks}" if history.ranks else ""
        yield f"{self.size} bytes, {sum(history.counts.values())} records{ranks}, {unclaimed} lines unclaimed"
        stats = history.stats.to_json()
        for name in ("accept_len", "strict_accept_rate", "gen_throughput"):
            told = stats[name]
            if isinstance(told, dict):
                numbers = ", ".join(f"{key} {told[key]:g}" for key in ("first", "last", "min", "median", "count"))
                yield f"{name.replace('_', ' ')}: {numbers}"
        rows = history.shapes.rows()
        if rows:
            states = [wiring_of(self.context).judge(row).state for row in rows]
            told = ", ".join(
                f"{states.count(state)} {state}" for state in ("wrong", "ok", "unknown") if state in states
            )
            yield f"shape rows: {told}"


def explain(stream: BinaryIO, source: str, launch: Launch | None = None) -> Explanation:
    """Read a log to its end, in chunks; what is kept does not grow with it.

    Raises UsageError when it cannot be read, and where no server wrote it: a log that was lost is not a good one.
    """
    history = LogHistory(records_limit=0)
    size = 0
    try:
        while chunk := stream.read(CHUNK_BYTES):
            history.feed(size, chunk)
            size += len(chunk)
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror or error}") from None
    history.finish()
    if history.phase is NO_SERVER:
        raise UsageError(
            f"{source}: {NO_SERVER.detail} ({size} bytes)",
            "Give the file that the server's stdout and stderr go to: `logs NODE --list` shows what logs there are.",
        )
    return of_history(history, source, size, launch)


def of_history(history: LogHistory, source: str = "", size: int = 0, launch: Launch | None = None) -> Explanation:
    """Explain what was read so far: of a server that is followed, or has just died."""
    context = LogContext.of(history, launch)
    return Explanation(source, size, context, lint.explain(context))
