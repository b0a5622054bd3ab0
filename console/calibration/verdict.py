"""Owns the verdict: stage by stage, what a server's accept histogram, or its death, proves of the wiring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from console.calibration import naming
from console.calibration.table import LOST, blind_where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.calibration.pair import PairSpec
    from console.calibration.table import Prediction, Table

Word = Literal["ok", "fault", "unknown", "not_shown"]
STAGES = (
    "target_attention",
    "capture_layers",
    "order",
    "captures",
    "fc",
    "d2t",
    "positions",
    "draft_steps",
    "graph_replay",
)
_OF_ATTENTION = ("target_attention", "positions")
_OTHERS = {
    "d2t-not-applied": ("d2t", "not applied"),
    "attention-finds-nothing": ("positions", "nothing is found"),
    "algorithm-eagle": ("captures", 0),
    "nothing-captured": ("captures", 0),
    "graphs-replay-default": ("graph_replay", "the default ids"),
    "graphs-replay-default-plus-one": ("graph_replay", "the default ids, one later"),
}
_DEATHS = {
    "ids-out-of-range": "capture_layers",
    "captures-mismatch": "captures",
    "draft-vocab": "d2t",
}
"""The stage that a server's death speaks of, by the rule that explains it."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage between the target's layers and an accepted draft."""

    id: str
    expected: Any
    got: Any
    verdict: Word
    why: str = ""

    @property
    def line(self) -> str:
        got = "" if self.verdict in ("ok", "not_shown") or self.got is None else f", got {self.got}"
        why = f" ({self.why})" if self.why else ""
        return f"{self.id:<16} {self.verdict.replace('_', ' '):<9} expected {self.expected}{got}{why}"

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "expected": self.expected,
            "got": self.got,
            "verdict": self.verdict,
            **({"why": self.why} if self.why else {}),
        }


@dataclass(frozen=True, slots=True)
class Seen:
    """What one launch gave."""

    graphs: bool
    accept_len: float | None = None
    hist: tuple[int, ...] | None = None
    died: str = ""
    """Why it died; empty when it did not."""
    rule: str = ""
    """The rule that explains its death."""

    def fitting(self, table: Table) -> tuple[Prediction, ...]:
        """The wirings that give this."""
        if self.hist is not None:
            return table.fitting(self.hist)
        return table.fitting_length(self.accept_len) if self.accept_len is not None else ()

    def is_as(self, table: Table, prediction: Prediction | None) -> bool:
        return prediction is not None and prediction in self.fitting(table)


def judge(table: Table, spec: PairSpec, seen: Seen, other: Seen | None = None) -> tuple[Stage, ...]:
    """Judge one launch, and `other`, the same with CUDA graphs the other way round, where there was one."""
    expected = _expected(table)
    if seen.died:
        return tuple(_after_death(each, expected[each], seen) for each in STAGES)
    fitting = seen.fitting(table)
    stages = {each: _stage(each, expected[each], fitting, table) for each in STAGES}
    if not fitting:
        stages["draft_steps"] = _steps_by_length(seen, table, stages["draft_steps"])
    if not spec.looks_back:
        why = "the attention of this pair is multiplied by zero: --positions takes one whose attention matters"
        stages |= {each: Stage(each, expected[each], None, "not_shown", why) for each in _OF_ATTENTION}
    stages["graph_replay"] = _replay(table, seen, other, stages["graph_replay"])
    return tuple(stages.values())


def _expected(table: Table) -> dict[str, Any]:
    return {
        "target_attention": "finds the token before",
        "capture_layers": list(table.trained),
        "order": list(range(len(table.trained))),
        "captures": len(table.trained),
        "fc": list(range(len(table.trained))),
        "d2t": "applied",
        "positions": "found",
        "draft_steps": table.steps,
        "graph_replay": "as without graphs",
    }


def _after_death(stage: str, expected: Any, seen: Seen) -> Stage:
    if _DEATHS.get(seen.rule) == stage:
        return Stage(stage, expected, "the server died", "fault", seen.died)
    return Stage(stage, expected, None, "unknown", "the server died")


def _stage(stage: str, expected: Any, fitting: Sequence[Prediction], table: Table) -> Stage:
    """What all wirings that fit say of a stage; where they disagree it is unknown."""
    if not fitting:
        return Stage(stage, expected, None, "unknown", "no known wiring gives this histogram")
    if table.right in fitting:
        return Stage(stage, expected, expected, "ok")
    told = [_of(each, table).get(stage, expected) for each in fitting]
    if all(each == expected for each in told):
        return Stage(stage, expected, expected, "ok")
    if len(fitting) > 1 and (fitting[0].is_lost or any(each == expected for each in told)):
        why = f"{len(fitting)} wirings give this and are not told apart"
        return Stage(stage, expected, None, "unknown", why)
    distinct = [each for at, each in enumerate(told) if each not in told[:at]]
    why = "" if len(distinct) == 1 else f"one of {len(distinct)}"
    return Stage(stage, expected, distinct[0] if len(distinct) == 1 else distinct, "fault", why)


def _of(found: Prediction, table: Table) -> dict[str, Any]:
    """The stages at which a wiring is not as expected, with what it has there."""
    if found.outputs is None:
        if found.other.startswith("steps-"):
            return {"draft_steps": int(found.other.removeprefix("steps-"))}
        if found.other.startswith(LOST):
            return {"positions": f"lost after step {found.other.removeprefix(LOST)}"}
        where = blind_where(found.other)
        if where:
            return {"target_attention": f"nothing is found {where}"}
        stage, got = _OTHERS.get(found.other, ("", None))
        return {stage: got} if stage else {}
    if sorted(found.outputs) == sorted(table.trained):
        order = [table.trained.index(each) for each in found.outputs]
        return {} if found.outputs == table.trained else {"order": order, "fc": order}
    return {"capture_layers": list(found.outputs)}


def _steps_by_length(seen: Seen, table: Table, stage: Stage) -> Stage:
    if seen.hist is not None and len(seen.hist) > table.steps + 1:
        more = len(seen.hist) - 1
        return Stage(stage.id, stage.expected, more, "fault", f"{more} drafts were accepted at once")
    return stage


def _replay(table: Table, seen: Seen, other: Seen | None, stage: Stage) -> Stage:
    """The two launches against each other; the wiring of each is judged beside it."""
    if other is None:
        if stage.verdict == "fault":
            return stage
        return Stage(stage.id, stage.expected, None, "not_shown", "one launch only: --graphs both")
    with_graphs, without = (seen, other) if seen.graphs else (other, seen)
    told: Mapping[str, Any] = {"graphs": _told(with_graphs), "eager": _told(without)}
    if (
        not with_graphs.died
        and with_graphs.fitting(table) == without.fitting(table)
        and _told(with_graphs) == _told(without)
    ):
        return Stage(stage.id, stage.expected, told, "ok")
    return Stage(stage.id, stage.expected, told, "fault", _why(table, with_graphs))


def _told(seen: Seen) -> Any:
    return seen.died or (None if seen.hist is None else list(seen.hist)) or seen.accept_len


def _why(table: Table, seen: Seen) -> str:
    if seen.died:
        return "with graphs the server died"
    named = naming.names(seen.fitting(table), table.trained)
    return f"with graphs: {'; '.join(named) or 'no known wiring'}"
