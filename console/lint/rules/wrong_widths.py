"""A row of the shape table is not as wide as this draft wants it, or ranks differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.log_wiring import wiring_of
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="wrong-widths",
    title="A row of the shape table is not as wide as this draft wants it, or ranks differ",
    why="A width that equals the embedding's makes the draft skip its fc without a word: the server runs and accepts "
    "next to nothing.",
    source="models/llama_eagle3.py, 28 releases: fc is run where its input's width is not the embedding's; cases "
    "A01, A02, A18",
)

_ROWS = 6
"""Rows that are named."""


def explain(log: LogContext) -> Iterator[Finding]:
    wiring = wiring_of(log)
    judged = [(row, wiring.judge(row)) for row in log.history.shapes.rows() if row.site is not None]
    wrong = [(row, verdict) for row, verdict in judged if verdict.state == "wrong"]
    if not wrong:
        return
    row, verdict = wrong[0]
    message = f"{row.site} {row.mode or ''}".rstrip() + f": {verdict.sentence}"
    lines = [
        f"{row.site} {row.model or '-'} {row.mode or '-'} {row.shape}: {said.sentence}" for row, said in wrong[:_ROWS]
    ]
    hint = "Look at the algorithm, the layer ids and patches; `logs --shapes` shows the whole flow."
    yield RULE.error(message, hint, "\n".join(lines))
