"""The log cannot be written, or the disk is nearly full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="log-directory",
    title="The log cannot be written, or the disk is nearly full",
    why="A launch that is redirected into a folder that does not exist ends at once, and nohup says nothing at all.",
    source="stat and statvfs of the folder on the node; a launch line redirected into a folder that did not exist",
)

LOW_BYTES = 1 << 30
"""An eight-rank debug log grows by hundreds of megabytes in an hour."""


def check_node(context: LaunchContext) -> Iterator[Finding]:
    log = context.paths[context.needs.log_path]
    folder = context.needs.log_path.rpartition("/")[0] or "/"
    if log.kind == "dir":
        yield RULE.error(f"the log path {log.path} is a folder", "Name a file in it.")
    elif log.kind == "missing" and log.nearest_parent != folder:
        hint = f"Make it on the node: mkdir -p {folder}"
        evidence = f"nearest existing folder: {log.nearest_parent}"
        yield RULE.error(f"the log directory {folder} does not exist", hint, evidence)
    elif not (log.writable or log.creatable):
        hint = "Choose another log_path, or --set log_path=…"
        yield RULE.error(f"the log {log.path} cannot be written", hint, f"folder {folder}")
    if log.free_bytes is not None and log.free_bytes < LOW_BYTES:
        free = f"{format_bytes(log.free_bytes)} free"
        yield RULE.warn(f"little room for the log in {folder}", "Free some space.", free)
