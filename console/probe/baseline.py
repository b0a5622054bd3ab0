"""Owns the choice of a pinned run as a baseline, where none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.probe.stored import StoredRun


def pinned_baseline(candidate: StoredRun, pinned: Sequence[StoredRun]) -> StoredRun | None:
    """Return the first of `pinned` (the newest pin first) that had the candidate's load, else the first of all.

    One of another load is no wrong choice: the comparison says what differs, and gives no verdict.
    """
    others = [run for run in pinned if run.run_id != candidate.run_id]
    alike = [run for run in others if run.fingerprint.workload == candidate.fingerprint.workload]
    return next(iter(alike or others), None)
