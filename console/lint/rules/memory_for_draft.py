"""Little room for the draft beside the static memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks
from console.lint.rule import Rule
from console.units import GIB, format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="memory-for-draft",
    title="Little room for the draft beside the static memory",
    why="With an explicit --mem-fraction-static nothing is kept back for the draft: its weights, its KV cache and "
    "its graphs must fit into what is left.",
    source="server_args.py (up to 0.5.13) and arg_groups/speculative_hook.py (from 0.5.14 on): about 2 GB more in "
    "reserve with speculation, 6 with STANDALONE, only where the fraction is SGLang's own",
)

RESERVE_BYTES = {"STANDALONE": 6 * GIB}
"""Graphs and activations beside the weights, as SGLang reserves them; 2 GiB for other algorithms."""


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    fraction, total, draft = asks.static_fraction(asked), launch.gpu_memory_bytes, launch.draft
    if asked.algorithm is None or fraction is None or not total or draft is None or not draft.weight_bytes:
        return
    ranks = asked.number("tp-size") or 1
    weights = draft.weight_bytes // max(1, ranks)
    reserve = RESERVE_BYTES.get(asked.algorithm, 2 * GIB)
    room = int(total * (1 - fraction))
    if room < weights + reserve:
        wanted = f"draft weights {format_bytes(draft.weight_bytes)} / tp {ranks} + {format_bytes(reserve)}"
        formula = f"{format_bytes(total)} × (1 - {fraction}) = {format_bytes(room)}; wanted {wanted}, "
        formula += "the draft's KV cache not counted"
        lower = max(0.0, 1 - (weights + reserve) / total)
        message = f"{format_bytes(room)} of each GPU is left for the draft, its graphs and activations"
        yield RULE.warn(message, f"Try --mem-fraction-static {int(lower * 100) / 100}.", f"an estimate: {formula}")
