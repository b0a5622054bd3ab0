"""Owns the axes of a sweep: read from options or a profile's `sweep:`, multiplied into points, each made coherent."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.launch.layers import parse_set
from console.launch.profile import Profile
from console.launch.secrets import looks_secret
from console.probe.sweep import SHORT
from console.units import NONE
from console.validation import unknown_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from console.launch.profile import Speculative

STEPS, TOPK, DRAFT_TOKENS = (f"speculative.{name}" for name in ("num_steps", "eagle_topk", "num_draft_tokens"))
MAX_POINTS = 500
"""More launches than a month has room for: a slip of the pen, such as `--steps 1-5000`."""

_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")

NOT_SWEPT = ("probe", "expect", "training", "baseline", "sweep", "ready_timeout_s", "log_path")
"""Keys that change nothing of what a server does; they may be set to one value."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The values of one key, `env.NAME` for a variable; a single value holds for every point."""

    key: str
    values: tuple[Any, ...]

    @property
    def is_swept(self) -> bool:
        return len(self.values) > 1

    @property
    def text(self) -> str:
        """As "steps (1, 2, 5)"."""
        shown = ", ".join(NONE if value is None else str(value) for value in self.values)
        return f"{SHORT.get(self.key, self.key.removeprefix('env.'))} ({shown})"


def steps_axis(text: str) -> Axis:
    """Read `1-5` or `1,2,5-7`. Raises UsageError."""
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = (each.strip() for each in part.partition("-"))
        if not low.isdecimal() or (dash and not high.isdecimal()) or len(part) > 12:
            raise UsageError(
                f"--steps {text[:60]}: {part[:20]!r} is not a number or a range", "For instance --steps 1-5."
            )
        ends = int(low), int(high or low)
        if ends[0] < 1 or ends[1] < ends[0] or ends[1] - ends[0] > MAX_POINTS:
            raise UsageError(f"--steps {text[:60]}: {part[:20]!r} goes from 1 upwards", "For instance --steps 1-5.")
        found += range(ends[0], ends[1] + 1)
    return Axis(STEPS, _distinct(found))


def set_axis(text: str) -> Axis:
    """Read `KEY=V1,V2`, each value as --set reads it; a comma within brackets or quotes divides nothing."""
    key, equals, values = text.partition("=")
    if not equals:
        raise UsageError(f"--set {key[:60]}: not of the form KEY=V1,V2", "For instance --set page_size=1,64.")
    key = key.strip()
    axis = Axis(key, _distinct(parse_set(f"{key}={part}").value for part in _parts(values)))
    if axis.is_swept and key.split(".")[0] in NOT_SWEPT:
        raise UsageError(f"--set {key}: not for sweeping: it changes nothing of what a server does", "Give one value.")
    _refuse_secret(axis)
    unknown = unknown_key(Profile, tuple(key.split(".")), f"--set {key[:60]}")
    if unknown is not None:
        raise UsageError(str(unknown), "" if unknown.nearest else "`spec-console profiles keys` has them all.")
    return axis


def env_axis(text: str) -> Axis:
    """Read `NAME=V1,V2`; the values are text, and an empty one leaves the variable unset."""
    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--env {name[:60]}: not of the form NAME=V1,V2", "For instance --env NCCL_PROTO=LL,Simple.")
    axis = Axis(f"env.{name.strip()}", _distinct(value.strip() or None for value in values.split(",")))
    _refuse_secret(axis)
    return axis


def arg_axis(text: str) -> Axis:
    """Read `FLAG=V1,V2`, a flag that profiles have no key for; `FLAG` alone is tried off and on."""
    flag, equals, values = text.lstrip("-").partition("=")
    return set_axis(f"args.{flag}={values if equals else 'false,true'}")


def profile_axes(sweep: Mapping[str, Sequence[Any]]) -> tuple[Axis, ...]:
    """The axes of a profile's `sweep:`, whose values the loader has checked."""
    return tuple(Axis(key, _distinct(values)) for key, values in sweep.items())


def combinations(axes: Sequence[Axis]) -> tuple[dict[str, Any], ...]:
    """Every combination of the axes, the last one changing fastest.

    Raises:
        UsageError: a key that stands twice, no axis with two values, or more than MAX_POINTS combinations.
    """
    keys = [axis.key for axis in axes]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} stands in two options", "Give all its values in one.")
    if not any(axis.is_swept for axis in axes):
        example = "--steps 1-5, --env NCCL_PROTO=LL,Simple, or `sweep:` in the profile."
        raise UsageError("nothing is swept: no key has two values", example)
    size = math.prod(len(axis.values) for axis in axes)
    if size > MAX_POINTS:
        raise UsageError(f"{size} points are too many (at most {MAX_POINTS})", "Fewer values, or one axis at a time.")
    return tuple(dict(zip(keys, values, strict=True)) for values in itertools.product(*(axis.values for axis in axes)))


def coherent(values: Mapping[str, Any], base: Speculative | None) -> dict[str, Any]:
    """Return the point with the draft tokens that go with its steps.

    With topk 1 SGLang verifies steps + 1 tokens, whatever was asked for (sglang.md 3.3), so the number follows the
    steps unless it is swept itself.

    Raises:
        UsageError: topk, steps and draft tokens do not go together.
    """
    if not {STEPS, TOPK, DRAFT_TOKENS} & values.keys():
        return dict(values)
    steps, topk, tokens = (
        values.get(key, getattr(base, key.partition(".")[2], None)) for key in (STEPS, TOPK, DRAFT_TOKENS)
    )
    if type(steps) is not int or type(topk) is not int or min(steps, topk) < 1:
        return dict(values)  # the profile's own checks say what is wrong with it
    if topk == 1:
        if DRAFT_TOKENS in values and tokens != steps + 1:
            raise UsageError(f"with topk 1 {steps} steps make {steps + 1} draft tokens: SGLang takes {tokens} for that")
        return {**values, DRAFT_TOKENS: steps + 1}
    # organize_draft_results takes the best num_draft_tokens - 1 of topk + (steps - 1) * topk^2 candidates.
    most = topk + (steps - 1) * topk**2 + 1
    if type(tokens) is int and tokens > most:
        raise UsageError(f"{steps} steps with topk {topk} draft at most {most} tokens, and {tokens} are asked for")
    return dict(values)


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Part a point into keys of the profile and variables of the server."""
    keys = {key: value for key, value in values.items() if not key.startswith("env.")}
    return keys, {key.removeprefix("env."): value for key, value in values.items() if key.startswith("env.")}


def set_words(keys: Mapping[str, Any], env: Mapping[str, str | None]) -> tuple[str, ...]:
    """The point as texts of --set; a variable that is None is taken away."""
    every = {**keys, **{f"env.{name}": value for name, value in env.items()}}
    return tuple(f"{key}={_yaml(value)}" for key, value in every.items())


def _yaml(value: Any) -> str:
    """JSON is YAML but for characters that YAML wants escaped, and pairs of surrogates, which it reads as two."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _parts(text: str) -> Iterator[str]:
    """The values between commas that stand in no bracket and no quotes."""
    depth, quote, begun = 0, "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[begun:at]
            begun = at + 1
    yield text[begun:]


def _distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """In their order, each once; 1 and true are two values."""
    return tuple({json.dumps(value, sort_keys=True, default=str): value for value in values}.values())


def _refuse_secret(axis: Axis) -> None:
    name = axis.key.rpartition(".")[2]
    if axis.key.split(".")[0] == "secret_env" or looks_secret(name):
        raise UsageError(f"{axis.key}: a secret has no place in a sweep, which is stored", "secret_env in the profile.")
