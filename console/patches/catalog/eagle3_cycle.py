"""How long the stages of a speculative cycle take: draft, verify (and the target's forward in it), draft extend.

Anchors A4 and A5 of worker v1 (0.4.6.post1 to 0.5.12.post1) and v2 (0.5.4 to 0.5.23); from 0.5.16 on v2's verify runs
the target in eagle_worker_common.py. Subclasses of these workers (standalone, frozen-KV MTP) inherit what is timed; the
multi-layer workers have methods of their own and are not timed.
"""

from __future__ import annotations

import ast

from console.patches.anchor import Anchor, ClassRule
from console.patches.library import FileEdit, Insert, Patch, record_options, runtime_file

_ABSENT = "this worker runs no EAGLE cycle"


def _function(stage: str, cls: str, *names: str) -> Insert:
    """Return the decorator for A5: whichever of `names` this release has."""
    anchor = Anchor("A5", ast.FunctionDef, names, needs=names[-1], absent=_ABSENT, cls=ClassRule(cls))
    return Insert(f"cycle.{stage}", anchor, "decorate", stage)


def _target(cls: ClassRule | None, method: str, *, optional: bool = False) -> tuple[Insert, ...]:
    """Return the lines around A4; `optional` where a release may have it in another file."""
    a4 = Anchor(
        "A4",
        ast.Call,
        ("self.target_worker.forward_batch_generation", "target_worker.forward_batch_generation"),
        needs="forward_batch_generation",
        absent="the target does not run here",
        cls=cls,
        method=method,
        keywords=frozenset({"is_verify", "skip_sample"}),
    )
    return (
        Insert("cycle.target", a4, "before", 'target_start("cycle.target")', optional=optional),
        Insert("cycle.target", a4, "after", 'target_end("cycle.target")', optional=optional),
    )


_V1 = (
    # The first name is that of releases up to 0.5.2.
    _function("cycle", "EAGLEWorker", "forward_batch_speculative_generation", "forward_batch_generation"),
    _function("draft", "EAGLEWorker", "draft"),
    _function("verify", "EAGLEWorker", "verify"),
    *_target(ClassRule("EAGLEWorker"), "verify"),
    _function("extend", "EAGLEWorker", "forward_draft_extend_after_decode"),
)
_V2 = (
    _function("draft", "EagleDraftWorker", "draft"),
    _function("extend", "EagleDraftWorker", "_draft_extend_for_decode"),
    _function("cycle", "EAGLEWorkerV2", "forward_batch_generation"),
    _function("verify", "EAGLEWorkerV2", "verify"),
    *_target(ClassRule("EAGLEWorkerV2"), "verify", optional=True),
)

PATCH = Patch(
    id="eagle3-cycle",
    title="Time every speculative cycle: draft, verify, draft extend",
    env="EAGLE3_CYCLE",
    helper=runtime_file("eagle3_cycle.py", path="srt/_spec_console_eagle3_cycle.py"),
    edits=(
        FileEdit("srt/speculative/eagle_worker.py", _V1, lazy=True),
        FileEdit("srt/speculative/eagle_worker_v2.py", _V2, lazy=True),
        FileEdit("srt/speculative/eagle_worker_common.py", _target(None, "run_eagle_verify"), lazy=True),
    ),
    options=record_options("EAGLE3_CYCLE", first=100, every=50),
)
