"""Several patches over one tree: each is planned on the text that the one before it gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.patches.plan import FilePlan, PatchPlan, plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from console.patches.library import Patch


def plan_all(
    wanted: Iterable[tuple[Patch, tuple[str, ...]]], files: Mapping[str, bytes | None]
) -> tuple[PatchPlan, ...]:
    """Plan patches in order, each with the paths it is to look at; `files` has the text of every such path."""
    now = dict(files)
    plans = []
    for patch, paths in wanted:
        planned = plan(patch, {path: now.get(path) for path in paths})
        now.update({file.path: file.new_text for file in planned.changes})
        plans.append(planned)
    return tuple(plans)


def changes(plans: Iterable[PatchPlan]) -> tuple[FilePlan, ...]:
    """One change a file: from what lies on the disk to what the last patch gives."""
    found: dict[str, FilePlan] = {}
    for each in (file for planned in plans for file in planned.changes):
        first = found.get(each.path)
        found[each.path] = replace(each, sha256_before=first.sha256_before) if first else each
    return tuple(found.values())
