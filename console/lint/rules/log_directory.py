"""The story's launch redirected into a folder that nobody had checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext

LOW_BYTES = 1 << 30
"""An eight-rank debug log grows by hundreds of megabytes in an hour."""


def check(context: LaunchContext) -> Iterator[Finding]:
    log = context.paths[context.needs.log_path]
    folder = context.needs.log_path.rpartition("/")[0] or "/"
    if log.kind == "dir":
        yield Finding("log-directory", "error", f"the log path {log.path} is a folder", "Name a file in it.")
    elif log.kind == "missing" and log.nearest_parent != folder:
        hint = f"Make it on the node: mkdir -p {folder}"
        evidence = f"nearest existing folder: {log.nearest_parent}"
        yield Finding("log-directory", "error", f"the log directory {folder} does not exist", hint, evidence)
    elif not (log.writable or log.creatable):
        hint = "Choose another log_path, or --set log_path=…"
        yield Finding("log-directory", "error", f"the log {log.path} cannot be written", hint, f"folder {folder}")
    if log.free_bytes is not None and log.free_bytes < LOW_BYTES:
        free = f"{log.free_bytes // (1 << 20)} MiB free"
        yield Finding("log-directory", "warn", f"little room for the log in {folder}", "Free some.", free)
