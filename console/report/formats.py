"""Owns the forms in which a stored run leaves the console, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import UsageError
from console.probe.trace import read_spool
from console.report.bench_serving import bench_serving_line
from console.report.guidellm import guidellm_report
from console.report.markdown import run_note
from console.report.rows import raw_jsonl, requests_csv

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.probe.stored import StoredRun

FORMATS: dict[str, Callable[[StoredRun, bytes], str]] = {
    "md": lambda run, _: run_note(run),
    "jsonl": raw_jsonl,
    "csv": lambda run, spool: requests_csv(run, read_spool(spool)),
    "bench_serving": lambda run, spool: bench_serving_line(run, read_spool(spool)),
    "guidellm": lambda run, spool: guidellm_report(run, read_spool(spool)),
}
WITHOUT_SPOOL = frozenset({"md"})


def export(name: str, run: StoredRun, spool: bytes | None) -> str:
    """Return a run in one of FORMATS. Raises UsageError where its raw traces are needed and were not kept."""
    if spool is None and name not in WITHOUT_SPOOL:
        raise UsageError(f"the raw traces of run {run.run_id} were not kept", "Its summary is there: --format md.")
    return FORMATS[name](run, spool or b"")
