"""H and K for a log: from the launch's two configs, or else read off the one error that tells both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from console.wiring.checkpoint import facts_from_configs
from console.wiring.widths import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.lint.context import LogContext
    from console.logs.record import Record
    from console.logs.shapes import ShapeRow

MIN_HIDDEN_SIZE = 64
"""Smaller widths are rows, heads or batches."""
ONE_STATE = frozenset({"EAGLE", "NEXTN"})
"""Algorithms that hand a draft one state of the target."""
MAX_CAPTURES = 16
"""States that an EAGLE-3 draft is built for: 3 as a rule."""


@dataclass(frozen=True, slots=True)
class LogWiring:
    """What the widths of a log are held against; None where nothing tells it."""

    hidden_size: int | None = None
    captures: int | None = None
    draft_hidden_size: int | None = None
    layers: int | None = None
    """Layers of the target."""
    expect: Mapping[str, int] = field(default_factory=dict)
    """The profile's widths by site."""
    source: str = ""
    """`configs` or `log`."""

    def judge(self, row: ShapeRow) -> Verdict:
        return judge(row, self.hidden_size, self.captures, self.expect, self.draft_hidden_size)


def is_run_as_eagle(log: LogContext) -> bool:
    """Is an EAGLE-3 draft loaded under an algorithm that hands it one state?"""
    loaded = log.loaded
    return len(loaded) > 1 and log.algorithm in ONE_STATE and "eagle3" in str(loaded[1].fields["type"]).lower()


def weight_shapes(record: Record) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The shapes of a matrix that did not load: the checkpoint's, and the one that the server built."""
    file, model = record.fields.get("checkpoint_shape"), record.fields.get("model_shape")
    if not (isinstance(file, tuple) and isinstance(model, tuple) and len(file) == len(model) == 2):
        return None
    return cast("tuple[int, int]", file), cast("tuple[int, int]", model)


def weight_name(log: LogContext, record: Record) -> str:
    """The tensor that did not load; empty where neither the error tells it nor where it happened.

    `Attempted to load weight` is of a parameter that is not sharded: of an EAGLE-3 draft fc is the only such matrix.
    """
    name = record.fields.get("tensor")
    in_eagle3 = any("eagle3.py" in frame for frame in log.frames(record))
    return str(name) if name else "fc.weight" if in_eagle3 and _PLAIN in str(record.fields["sentence"]) else ""


_PLAIN = "Attempted to load weight"


def wiring_of(log: LogContext) -> LogWiring:
    """The wiring of the launch where it is known, else of the log."""
    launch = log.launch
    expect = {**launch.profile.expect.widths} if launch and launch.profile else {}
    target = launch.target.config if launch and launch.target else {}
    draft = launch.draft.config if launch and launch.draft else None
    if target or draft:
        facts = facts_from_configs(target, draft)
        return LogWiring(
            facts.hidden_size, facts.captures_expected, facts.draft_hidden_size, facts.target_layers, expect, "configs"
        )
    for record in log.errors("matmul"):
        if found := of_matmul(record):
            return LogWiring(found[0], found[1], found[0], None, expect, "log")
    return LogWiring(expect=expect)


def of_matmul(record: Record) -> tuple[int, int] | None:
    """(H, K) of an fc that got another width: its output is as wide as H where the draft is as wide as the target.

    `mat1 and mat2 shapes cannot be multiplied (6x28672 and 21504x7168)`: H is 7168 and K is 3.
    """
    given, wanted, out = (record.fields.get(name) for name in ("mat1_columns", "mat2_rows", "mat2_columns"))
    if not (isinstance(given, int) and isinstance(wanted, int) and isinstance(out, int)) or out < MIN_HIDDEN_SIZE:
        return None
    if given % out or wanted % out or not 1 < wanted // out <= MAX_CAPTURES:
        return None
    return out, wanted // out
