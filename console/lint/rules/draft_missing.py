"""Speculation without a draft: the target is loaded into its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks
from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="draft-missing",
    title="Speculation without a draft: the target is loaded into its place",
    why="Without a draft path SGLang loads the target a second time as its own draft, minutes of it, and then dies of "
    "a missing attribute that names neither.",
    source=(
        "sgl-project/sglang issue 36528; server_args.py 0.5.9 l.2407: only targets with MTP layers of their own "
        "stand in; case A11"
    ),
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    if asked.algorithm in ("EAGLE3", "STANDALONE") and not asked.value("speculative-draft-model-path"):
        hint = "Give --speculative-draft-model-path."
        yield RULE.error(f"--speculative-algorithm {asked.algorithm} without a draft", hint)


def explain(log: LogContext) -> Iterator[Finding]:
    own = log.server_args.get("model_path")
    if log.algorithm == "EAGLE3" and own and log.server_args.get("speculative_draft_model_path") == own:
        message = f"the draft's path is the target's own, {own}"
        hint = "Give --speculative-draft-model-path: without it SGLang takes the target's path."
        yield quoting(RULE.error(message, hint), *log.of_kind("server_args")[-1:])
        return
    loaded = log.loaded
    if len(loaded) < 2 or loaded[0].fields["type"] != loaded[1].fields["type"]:
        return
    died = [
        record
        for record in log.trouble("traceback")
        if any(sign in str(record.fields.get("sentence", "")) for sign in _MISSING)
    ]
    target = str(loaded[0].fields["type"])
    message = f"the second model that was loaded is {target} too: the draft's slot holds the target"
    if died or (log.algorithm == "EAGLE3" and "eagle" not in target.lower()):
        hint = "Give --speculative-draft-model-path: without it SGLang takes the target's path."
        yield quoting(RULE.error(message, hint), *loaded[:2], *died[:1])
    elif log.algorithm != "STANDALONE":
        yield quoting(RULE.warn(message, "Meant? Look at --speculative-draft-model-path."), *loaded[:2])


_MISSING = ("no attribute 'set_embed'", "no attribute 'hot_token_id'")
