"""The draft has tensors that this release does not load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.releases import release
from console.lint import wired
from console.lint.rule import Rule
from console.wiring import draft as drafts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding
    from console.wiring.checkpoint import Checkpoint

RULE = Rule(
    id="tensor-names-need-release",
    title="The draft has tensors that this release does not load",
    why="Names that a release does not know are skipped without a word: the draft runs with weights that were "
    "never loaded.",
    source="load_weights of models/llama_eagle3.py 0.4.6.post1 to 0.5.23, of kimi_k25_eagle3.py from 0.5.12 on",
)


def check(launch: Launch) -> Iterator[Finding]:
    draft = wired.eagle3_draft(launch)
    if draft is None:
        return
    yield from _bias(draft)
    at = wired.at(launch)
    for since, what in _needs(draft):
        needed = release(since)
        if at is None:
            yield RULE.warn(f"{what}: needs SGLang {since} or newer", "Name the release: --sglang-version.")
        elif needed is not None and at < needed:
            yield RULE.error(f"{what}: SGLang {launch.version} does not load it", f"Run {since} or newer.")


def _needs(draft: Checkpoint) -> Iterator[tuple[str, str]]:
    """The first release read that loads each part that not all releases load."""
    names = list(draft.tensors or ())
    config, eagle = draft.config, draft.config.get("eagle_config")
    nested = eagle if isinstance(eagle, dict) else {}
    if drafts.architecture(config) == "Eagle3DeepseekV2ForCausalLM" or any("kv_a_proj" in name for name in names):
        yield "0.5.12", "a draft with latent attention (MLA)"
    elif any(name.removeprefix("model.").startswith("layers.") for name in names):
        yield "0.5.12", "a decoder named layers.0.*, not midlayer.*"
    if (drafts.number(config, "num_hidden_layers") or 1) > 1:
        yield "0.5.12", f"a draft of {config['num_hidden_layers']} layers"
    if config.get("fc_norm") or config.get("use_aux_norm") or any("fc_norm." in n or "aux_norm_" in n for n in names):
        yield "0.5.12", "a norm of each captured state (fc_norm)"
    if config.get("norm_output"):
        yield "0.5.12", "norm_output"
    if nested.get("norm_before_fc") or config.get("norm_before_fc") or any("input_norm." in name for name in names):
        yield "0.5.17", "a norm before fc (norm_before_fc)"


def _bias(draft: Checkpoint) -> Iterator[Finding]:
    if drafts.tensor(draft, "fc.bias") is not None and not draft.config.get("bias"):
        message = "the checkpoint has fc.bias, and its config says no bias: it is dropped"
        yield RULE.error(message, 'Write "bias": true into the draft\'s config.', "read so from 0.4.10 on")
