"""Owns golden curves: the accept length that a pair of models is known to reach, by speculation steps.

A user's YAML, in the form of public collections of such curves:

    name: Kimi-K2.5 with kimi-k2.5-eagle3, thinking
    source: where the numbers are from        # optional, as `model` and `draft` are
    curve: {1: 1.83, 2: 2.43, 3: 2.88}        # speculative_num_steps: tokens per verification, the bonus token in it

A reference line, never part of a verdict: acceptance depends on the prompts. But 1.0 to 1.3 where the curve says 2.9 is
wiring, not tuning.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.probe.differences import flags_of
from console.units import format_number, format_percent, plain
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from console.probe.stored import StoredRun
    from console.yaml_file import Located

KEYS = ("name", "source", "model", "draft", "curve")
MAX_STEPS = 128
EXAMPLE = "For instance:\nname: my pair\ncurve: {1: 1.8, 2: 2.4}"


@dataclass(frozen=True, slots=True)
class Golden:
    """A known curve."""

    name: str
    curve: Mapping[int, float]
    """Accept length by steps."""
    source: str = ""
    model: str = ""
    draft: str = ""


@dataclass(frozen=True, slots=True)
class GoldenPoint:
    """A run beside a curve; None where a part is not known."""

    name: str
    source: str
    steps: int | None
    """The run's `--speculative-num-steps`."""
    expected: float | None
    measured: float | None
    difference: float | None
    """Relative: -0.5 is half of what is known to be reached."""

    @property
    def text(self) -> str:
        """As "NAME: accept_len 2.43 at 2 steps, measured 1.21 (-50.2 %)"."""
        told = f"{plain(self.name)}: accept_len {format_number(self.expected)} at {self.steps or 'unknown'} steps"
        return f"{told}, measured {format_number(self.measured)} ({format_percent(self.difference, signed=True)})"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def golden_of(document: Located) -> Golden:
    """Read a curve. Raises UsageError naming file, line and column."""
    data = document.data
    if not isinstance(data, dict):
        raise UsageError(f"{document.source}: expected a mapping", EXAMPLE)
    for key in data:
        if key not in KEYS:
            near = nearest(key, KEYS)
            hint = f"Did you mean {near!r}?" if near else f"Keys: {', '.join(KEYS)}."
            raise UsageError(f"{document.where((key,))}: unknown key {key!r}", hint)
    texts = {key: _text(document, key) for key in ("name", "source", "model", "draft")}
    if not texts["name"]:
        raise UsageError(f"{document.source}: a curve needs a name", EXAMPLE)
    curve = data.get("curve")
    if not isinstance(curve, dict) or not curve:
        raise UsageError(f"{document.where(('curve',))}: expected steps and accept lengths", EXAMPLE)
    points = sorted(_point(document, key, value) for key, value in curve.items())
    return Golden(curve=dict(points), **texts)


def beside(golden: Golden, run: StoredRun) -> GoldenPoint:
    """Return what the curve says for a run's steps."""
    steps = steps_of(run.fingerprint.argv)
    expected = golden.curve.get(steps) if steps is not None else None
    measured = run.result.accept_len
    difference = measured / expected - 1 if measured and expected else None
    return GoldenPoint(golden.name, golden.source, steps, expected, measured, difference)


def steps_of(argv: Iterable[str]) -> int | None:
    """Return the speculation steps of a server's command; None without the flag: SGLang then chooses by the model."""
    text = flags_of(argv).get("speculative_num_steps", "").rpartition(" ")[2]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _text(document: Located, key: str) -> str:
    value = document.data.get(key, "")
    if not isinstance(value, str):
        raise UsageError(f"{document.where((key,))}: {key} is a text")
    return value


def _point(document: Located, key: str, value: object) -> tuple[int, float]:
    where = document.where(("curve", key))
    if key not in map(str, range(1, MAX_STEPS + 1)):
        raise UsageError(f"{where}: {key!r} is no number of steps, 1 to {MAX_STEPS}", EXAMPLE)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= 1 + MAX_STEPS:
        raise UsageError(f"{where}: an accept length is 1 or more (nothing accepted is 1.0), not {value!r:.40}")
    return int(key), float(value)
