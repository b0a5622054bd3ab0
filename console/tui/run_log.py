"""Where in a server's log a stored run was measured: as the probe noted it at both ends of each block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import NegativeResult
from console.probe.trace import read_spool

if TYPE_CHECKING:
    from console.store.journal import Journal


def log_range(journal: Journal, run_id: str) -> tuple[int, int]:
    """Return the offsets of the first byte and behind the last one. Raises NegativeResult where they are not known."""
    spool = journal.spool(run_id)
    blocks = read_spool(spool).blocks if spool else ()
    begins = [block.log_from for block in blocks if block.log_from is not None]
    ends = [block.log_to for block in blocks if block.log_to is not None]
    if not begins or not ends:
        raise NegativeResult(
            f"where in the log run {run_id} was measured is not known",
            "The probe notes it where it can read the server's log, and the raw traces were kept.",
        )
    return min(begins), max(ends)
