"""A path of the profile is not on the node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="path-missing",
    title="A path of the profile is not on the node",
    why="A wrong model path is taken for a hub id and fails after a minute with another message.",
    source="huggingface_hub's `Repo id must be in the form`; seen on 2 × H200, SGLang 0.5.12.post1, and on 0.5.20",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    for path in context.needs.paths_to_read:
        facts = context.paths[path]
        if facts.kind == "missing":
            evidence = f"nearest existing folder: {facts.nearest_parent}"
            yield RULE.error(f"{path} does not exist on the node", "Check the profile.", evidence)
        elif not facts.readable:
            yield RULE.error(f"{path} cannot be read by this account", "Check its owner and mode.")


_NO_REPO = re.compile(r"Repo id must be in the form .{1,80}?: '([^']{1,1000})'")
_NO_FILE = re.compile(r"No such file or directory: '([^']{1,1000})'")


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.trouble("traceback"):
        sentence = str(record.fields.get("sentence", ""))
        match = _NO_REPO.search(sentence) or (_NO_FILE.search(sentence) if log.is_cause(record) else None)
        if match:
            name = match[1]
            whose = " (the draft)" if _is_draft(log, name) else ""
            message = f"{name}{whose} does not exist on the node; SGLang took it for a hub id"
            if "No such file" in sentence:
                message = f"{name}{whose} does not exist on the node"
            yield quoting(RULE.error(message, "Correct the path in the profile or the launch line."), record)
            return


def _is_draft(log: LogContext, name: str) -> bool:
    asked = log.launch.asked.value("speculative-draft-model-path") if log.launch else None
    return name in {log.server_args.get("speculative_draft_model_path"), asked}
