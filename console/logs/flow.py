"""The path of the captured states, target.aux → logits.stored → draft.fc_in → draft.fc_out, with what passes along.

An arrow is right when what leaves one site is as wide as what enters the next, and the judge has nothing against it.
Between fc_in and fc_out stands the draft's `fc`: there the widths differ, and equal ones mean that it was skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from console.logs.shape_row import RowVerdict, ShapeRow

State = Literal["ok", "wrong", "unknown"]

SITES = ("target.aux", "logits.stored", "draft.fc_in", "draft.fc_out")
ABSENT = "–"
_OWN_MODES = frozenset({"DECODE", "IDLE"})
"""Modes in which a draft hands its own state to itself."""
_WORST = ("wrong", "unknown", "ok")


@dataclass(frozen=True, slots=True)
class Stage:
    """One site of the path."""

    site: str
    row: ShapeRow | None
    """The row that decides: one that is judged wrong, else the one seen most."""
    state: State
    sentence: str

    @property
    def text(self) -> str:
        return self.row.text if self.row else ABSENT

    @property
    def width(self) -> int | None:
        """Columns that pass: of a list the sum. None when nothing was seen, or they vary."""
        widths = self.row.widths if self.row else (None,)
        known = [width for width in widths if width is not None]
        return sum(known) if len(known) == len(widths) and known else None

    @property
    def passes(self) -> str:
        """What an arrow from here says: `3 × 7168`, `21504`."""
        widths = self.row.widths if self.row else ()
        if self.width is None:
            return "?"
        return f"{len(widths)} × {widths[0]}" if len(widths) > 1 and len(set(widths)) == 1 else str(self.width)


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one site to the next."""

    source: str
    target: str
    text: str
    state: State
    sentence: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The whole path: four stages, three arrows."""

    stages: tuple[Stage, ...]
    arrows: tuple[Arrow, ...]

    @property
    def state(self) -> State:
        states = [arrow.state for arrow in self.arrows] + [stage.state for stage in self.stages]
        return "wrong" if "wrong" in states else "unknown" if "unknown" in states else "ok"

    def lines(self) -> list[str]:
        """The path in one line, and below it a line for each thing that is wrong."""
        path = self.stages[0].site
        for arrow in self.arrows:
            mark = {"ok": "", "wrong": " WRONG", "unknown": ""}[arrow.state]
            path += f" ──{arrow.text}{mark}─▶ {arrow.target}"
        last = self.stages[-1]
        told = [(stage.state, stage.sentence) for stage in self.stages]
        told += [(arrow.state, arrow.sentence) for arrow in self.arrows]
        wrong = dict.fromkeys(sentence for state, sentence in told if state == "wrong")
        return [f"{path} ──{last.passes}─▶", *(f"wrong: {sentence}" for sentence in wrong)]

    def to_json(self) -> dict[str, object]:
        return {
            "state": self.state,
            "stages": [
                {"site": one.site, "text": one.text, "width": one.width, "state": one.state, "sentence": one.sentence}
                for one in self.stages
            ],
            "arrows": [
                {
                    "source": one.source,
                    "target": one.target,
                    "text": one.text,
                    "state": one.state,
                    "sentence": one.sentence,
                }
                for one in self.arrows
            ],
        }


def flow(rows: Iterable[ShapeRow], judge: Callable[[ShapeRow], RowVerdict] | None = None) -> Flow:
    """Draw the path from a table's rows; without a judge only the widths are held against each other."""
    rows = tuple(rows)
    stages = tuple(_stage(site, [row for row in rows if row.site == site], judge) for site in SITES)
    return Flow(stages, tuple(_arrow(*pair) for pair in pairwise(stages)))


def _stage(site: str, rows: list[ShapeRow], judge: Callable[[ShapeRow], RowVerdict] | None) -> Stage:
    chosen = [row for row in rows if not _is_drafts_own(row)] or rows
    if not chosen:
        return Stage(site, None, "unknown", f"nothing seen at {site}")
    judged = [(row, judge(row) if judge else None) for row in chosen]
    row, verdict = min(judged, key=lambda pair: (_rank(pair[1]), -_captured_columns(pair[0]), -pair[0].count))
    if verdict is None or verdict.state not in _WORST:
        return Stage(site, row, "unknown", "")
    return Stage(site, row, verdict.state, f"{site}: {verdict.sentence}")  # type: ignore[arg-type]


def _rank(verdict: RowVerdict | None) -> int:
    """A row that is wrong decides, then one that is right; one of which nothing is known only where no other is."""
    return {"wrong": 0, "ok": 1}.get(verdict.state, 2) if verdict else 0


def _captured_columns(row: ShapeRow) -> int:
    """Of rows that nothing tells apart the widest holds the captures: the draft's own states are one."""
    return sum(width or 0 for width in row.widths)


def _is_drafts_own(row: ShapeRow) -> bool:
    if row.site in {"target.aux", "logits.stored"}:
        return row.model is not None and "eagle" in row.model.lower()
    return row.mode in _OWN_MODES


def _arrow(source: Stage, target: Stage) -> Arrow:
    def made(state: State, sentence: str) -> Arrow:
        return Arrow(source.site, target.site, source.passes, state, sentence)

    if source.width is None or target.width is None:
        missing = source if source.width is None else target
        return made("unknown", missing.sentence or f"{missing.site}: its width varies")
    if source.site == "draft.fc_in":
        return _through_fc(source, target, made)
    if source.width != target.width:
        return made(
            "wrong", f"{source.width} columns leave {source.site} ({source.passes}), {target.width} enter {target.site}"
        )
    return made(source.state, source.sentence)


def _through_fc(source: Stage, target: Stage, made: Callable[[State, str], Arrow]) -> Arrow:
    if source.state == "unknown" and source.width == target.width:
        return made("unknown", f"{source.width} columns enter and leave: fc is skipped, or the draft has one capture")
    return made(source.state, source.sentence)
