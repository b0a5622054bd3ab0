"""Owns a stored run: a result with the provenance that makes it a baseline. The journal keeps it as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.probe.fingerprint import Fingerprint
from console.probe.json_form import known_fields
from console.probe.metrics import ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One probe run as it is kept."""

    run_id: str
    at: float
    """Wall clock of its end, seconds since 1970."""
    node: str
    profile: str
    """Name of the profile; empty for a server that no profile started."""
    profile_hash: str
    fingerprint: Fingerprint
    result: ProbeResult
    kind: str = "probe"
    """probe, or a point of a sweep."""
    launch_id: str = ""
    """The server's run id: blocks of one launch do not see what differs from launch to launch."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StoredRun:
        """Rebuild from `to_json`. Raises TypeError, ValueError, AttributeError or KeyError for what is none."""
        return cls(**known_fields(cls, data, _CONVERT))


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "fingerprint": Fingerprint.from_json,
    "result": ProbeResult.from_json,
}
