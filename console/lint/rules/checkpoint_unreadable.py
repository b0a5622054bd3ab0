"""A checkpoint that cannot be loaded as it lies there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LaunchContext, LogContext
    from console.lint.finding import Finding
    from console.wiring.checkpoint import Checkpoint

RULE = Rule(
    id="checkpoint-unreadable",
    title="A checkpoint that cannot be loaded as it lies there",
    why="A download that broke off, a Git LFS pointer, a shard that is not there. The target is loaded first, for "
    "minutes, then the draft ends the launch.",
    source="a draft without config.json, without weights, and cut short, each run on SGLang 0.5.20",
)

_FETCH = "Fetch it again: `hf download` goes on where it broke off."


def check(launch: Launch) -> Iterator[Finding]:
    for word, found in _named(launch):
        if found.damage == "damaged":
            yield RULE.error(f"the {word} does not load: {found.problem}", _FETCH)
        elif found.damage == "no weights":
            hint = f"{_FETCH} Weights of another name (*.safetensors, *.bin) are loaded, and not checked."
            yield RULE.warn(f"the {word} has no weights that are known: {found.problem}", hint)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    """A folder that is there, and has no config; one that is not there is told by `path-missing`."""
    for word, found in _named(context.launch):
        facts = context.paths.get(found.path)
        if facts and facts.kind != "missing" and facts.readable and not found.config and not found.damage:
            yield RULE.error(f"the {word} does not load: {found.problem}", _FETCH)


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.trouble("traceback"):
        sentence = str(record.fields.get("sentence", ""))
        in_draft = any("eagle" in frame.rpartition("/")[2] for frame in log.frames(record))
        if named := _NO_CONFIG.search(sentence):
            message = f"{named[1]} has no config.json that tells its model"
        elif any(sign in sentence for sign in _NO_WEIGHTS):
            message = f"the weights {'of the draft ' if in_draft else ''}do not load: {sentence[:200]}"
        else:
            continue
        yield quoting(RULE.error(message, _FETCH), record)
        return


def _named(launch: Launch) -> Iterator[tuple[str, Checkpoint]]:
    return ((word, each) for word, each in (("target", launch.target), ("draft", launch.draft)) if each is not None)


_NO_CONFIG = re.compile(r"Unrecognized model in ([^\0]{1,1000}?)\. Should have a `model_type` key")
_NO_WEIGHTS = ("Cannot find any model weights", "Error while deserializing header")
