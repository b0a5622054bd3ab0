"""Which processes of a server an overlay served, by what it told in the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.logs.record import Record


@dataclass(slots=True)
class OverlayFold:
    """By process the modules that it got patched, and what was refused."""

    modules: dict[int, frozenset[str]] = field(default_factory=dict)
    """By pid: the last that it told."""
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    """(module, why) → by how many processes."""

    def fold(self, record: Record) -> None:
        if record.kind != "overlay":
            return
        pid, told = record.fields.get("pid"), record.fields.get("modules")
        if isinstance(pid, int) and isinstance(told, list):
            self.modules[pid] = frozenset(map(str, told))
        elif "refused" in record.fields:
            key = str(record.fields["refused"]), str(record.fields.get("why"))
            self.refused[key] = self.refused.get(key, 0) + 1

    def served(self, launcher: int | None) -> int:
        """Processes that got the most that any got, without the launcher, which is no rank."""
        most = max(map(len, self.modules.values()), default=0)
        return sum(len(each) == most for pid, each in self.modules.items() if pid != launcher)

    def wrong(self, launcher: int | None, ranks: int) -> str:
        """What is not as it should be when all `ranks` are up; empty when nothing is."""
        if self.refused:
            return "; ".join(f"{name} was not served: {why}" for (name, why) in sorted(self.refused))
        count = self.served(launcher)
        return "" if count >= ranks else f"{count} of {ranks} ranks told that they run the patched modules"
