"""What stands for the run record of a log that no run of ours wrote: made of the checkpoints that the log names."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from console.actions import read_checkpoint
from console.wiring import reading
from console.wiring.checkpoint import facts_from_configs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.actions.node import Node
    from console.wiring.checkpoint import Config

NO_ARGS = "the log has no server_args= line that tells which checkpoints it is about"
NO_DRAFT = "the log's server_args= name no draft"


async def of_log(node: Node, server_args: Mapping[str, object]) -> dict[str, Any]:
    """The `wiring` of a run record by what `server_args=` names, read on the node; `unwired` says what is missing.

    Hub ids are looked for in the cache in the home on the node: the environment of the server is not known.
    """
    if not server_args:
        return {"unwired": NO_ARGS}
    target, no_target = await _config(node, "target", server_args.get("model_path"))
    draft, no_draft = await _config(node, "draft", server_args.get("speculative_draft_model_path"))
    wiring = asdict(facts_from_configs(target, draft or None))
    return {"wiring": wiring, "unwired": "; ".join(filter(None, (no_target, no_draft)))}


async def _config(node: Node, word: str, path: object) -> tuple[Config, str]:
    """A checkpoint's config, and why there is none."""
    if not isinstance(path, str):
        return {}, NO_DRAFT if word == "draft" else f"the log's server_args= name no {word}"
    home = (await node.agent.facts()).home
    # A target's reading is the smaller one: nothing but the config is wanted of the draft either.
    found = await read_checkpoint.from_node(node.agent, reading.target(read_checkpoint.folder_of(path, home, {})))
    if found.config:
        return found.config, ""
    return {}, found.problem if found.damage else f"the log's {word} {path} cannot be read on the node"
