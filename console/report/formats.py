"""Owns the forms in which a stored run leaves the console, by name."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.errors import UsageError
from console.probe.context import NO_CONTEXT
from console.probe.trace import read_spool
from console.report.bench_serving import bench_serving_line
from console.report.guidellm import guidellm_report
from console.report.markdown import run_note
from console.report.pictures import pictures
from console.report.rows import raw_jsonl, requests_csv
from console.report.script import script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from console.probe.context import RunContext
    from console.probe.stored import StoredRun

_RAW: dict[str, Callable[[StoredRun, bytes], str]] = {
    "jsonl": raw_jsonl,
    "csv": lambda run, spool: requests_csv(run, read_spool(spool)),
    "bench_serving": lambda run, spool: bench_serving_line(run, read_spool(spool)),
    "guidellm": lambda run, spool: guidellm_report(run, read_spool(spool)),
}
FORMATS = ("markdown", "json", "script", *_RAW, "md")
"""`md` is `markdown`."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A text, and what belongs beside it."""

    text: str
    pictures: Mapping[str, str] = field(default_factory=dict)
    """SVG texts by name."""
    executable: bool = False

    def text_for(self, stem: str) -> str:
        """The text as it stands in a file STEM.md, with its pictures in STEM-NAME.svg beside it."""
        shown = "".join(f"\n![{name}](<{stem}-{name}.svg>)\n" for name in self.pictures)
        return self.text + shown


def export(name: str, run: StoredRun, spool: bytes | None, context: RunContext = NO_CONTEXT) -> Exported:
    """Return a run in one of FORMATS. Raises UsageError where its raw traces are needed and were not kept."""
    if name in ("markdown", "md"):
        return Exported(run_note(run, context), pictures(run))
    if name == "json":
        return Exported(_object(run, context))
    if name == "script":
        return Exported(script(run, context), executable=True)
    if spool is None:
        raise UsageError(f"the raw traces of run {run.run_id} were not kept", "Its summary: --format markdown.")
    return Exported(_RAW[name](run, spool))


def _object(run: StoredRun, context: RunContext) -> str:
    """The run as `runs list --json` has it, with its launch and its patches."""
    labels = {"tags": list(context.tags), "note": context.note, "pinned": context.pinned}
    told = {**run.to_json(), **labels, "launch": dict(context.launch), "diff": context.diff}
    return json.dumps({"schema": "spec-console/run/1", **told}, indent=1, allow_nan=False) + "\n"
