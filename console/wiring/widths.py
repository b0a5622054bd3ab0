"""The width verdict: is a row of the shape table as wide as this draft and this target want it?

Only last dimensions are factored, captures = width / H, never the number of rows. A width equal to the embedding's
makes the draft skip its `fc` without a word (models/llama_eagle3.py, all releases read): normal on a draft decode,
whose input is the draft's own state, and the sign of a broken wiring on a draft extend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.shapes import ShapeRow

State = Literal["ok", "wrong", "unknown"]

_CAPTURES = frozenset({"target.aux", "logits.cat_in", "logits.stored"})
_DECODE = frozenset({"DECODE", "IDLE"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of a row."""

    state: State
    sentence: str


@dataclass(frozen=True, slots=True)
class _Case:
    row: ShapeRow
    hidden_size: int
    captures: int
    embedding_width: int

    @property
    def fc_in_width(self) -> int:
        return self.hidden_size * self.captures


def judge(
    row: ShapeRow,
    hidden_size: int | None,
    captures_expected: int | None,
    expect: Mapping[str, int] | None = None,
    embedding_width: int | None = None,
) -> Verdict:
    """Judge one row.

    `hidden_size` is the width of one captured state (H), `captures_expected` how many the draft's fc wants (K),
    `expect` the profile's widths by site, `embedding_width` the draft's hidden size where it is not H.
    """
    if row.differing_ranks:
        named = ", ".join(f"rank {one.rank} has {_written(one.shape)}" for one in row.differing_ranks)
        return Verdict("wrong", f"ranks differ: {named}, the others {_written(row.shape)}")
    if hidden_size is None or captures_expected is None:
        return _by_profile(row, expect) or Verdict("unknown", "hidden size or number of captures is not known")
    case = _Case(row, hidden_size, captures_expected, embedding_width or hidden_size)
    found, by_profile = _by_site(case), _by_profile(row, expect)
    if by_profile is None or found.state == "wrong" or found.state == by_profile.state:
        return found
    return by_profile


def judge_matmul(given: int, wanted: int, hidden_size: int | None) -> Verdict:
    """Explain `mat1 and mat2 shapes cannot be multiplied`: `given` is mat1's columns, `wanted` mat2's rows."""
    if not hidden_size or given % hidden_size or wanted % hidden_size:
        return Verdict("unknown", f"{given} wide where {wanted} is wanted: not multiples of one hidden size")
    has, wants = given // hidden_size, wanted // hidden_size
    return Verdict("wrong", f"{has} captures given, {wants} wanted (hidden size {hidden_size}): {_surplus(has, wants)}")


def _by_site(case: _Case) -> Verdict:
    site = case.row.site
    if case.row.is_list:
        return _list(case) if site in _CAPTURES else Verdict("unknown", f"a list of {len(case.row.widths)}")
    width = case.row.widths[0]
    if width is None:
        return Verdict("unknown", "no width")
    if site == "draft.fc_in":
        return _fc_in(case, width)
    if site == "draft.fc_out":
        return _fc_out(case, width)
    if site in _CAPTURES:
        return _captured(case, width)
    return Verdict("unknown", _factors(case, width))


def _list(case: _Case) -> Verdict:
    row, widths = case.row, case.row.widths
    if _is_draft(row.model):
        return Verdict("ok", "the draft's own states, not captures")
    other = next((width for width in widths if width != case.hidden_size), None)
    if other is not None:
        return Verdict("wrong", f"a capture is {other} wide, the target's hidden size is {case.hidden_size}")
    if not _has_named_model(row) and len(widths) == 1 and case.captures != 1:
        return Verdict("unknown", "one state: the draft's own, or the target's only capture; the line names no model")
    return _count(case, len(widths))


def _captured(case: _Case, width: int) -> Verdict:
    """A packed capture, or what the logits processor concatenated and stored."""
    row = case.row
    if _is_draft(row.model):
        return Verdict("ok", "the draft's own states, not captures")
    if width == case.hidden_size and case.captures != 1:
        if not _has_named_model(row):
            return Verdict("unknown", "one state: the draft's own, or a single capture; the line names no model")
        return Verdict("wrong", "the last hidden state alone, no captures: as under --speculative-algorithm EAGLE")
    return _factored(case, width)


def _fc_in(case: _Case, width: int) -> Verdict:
    if width == case.fc_in_width:
        return _count(case, case.captures)
    if width != case.embedding_width:
        return _factored(case, width)
    if case.row.mode in _DECODE:
        return Verdict("ok", "the draft's own state on a draft decode: fc is skipped")
    if not _has_named_mode(case.row):
        return Verdict("unknown", "as wide as the embedding: a draft decode, or fc is bypassed; the mode is not named")
    return Verdict("wrong", f"as wide as the embedding on {case.row.mode}: fc is bypassed")


def _fc_out(case: _Case, width: int) -> Verdict:
    if width == case.embedding_width:
        return Verdict("ok", "the draft's hidden size")
    return Verdict("wrong", f"{width} wide, the draft's hidden size is {case.embedding_width}")


def _factored(case: _Case, width: int) -> Verdict:
    if width % case.hidden_size == 0:
        return _count(case, width // case.hidden_size)
    if width and case.fc_in_width % width == 0:
        parts = case.fc_in_width // width
        return Verdict("wrong", f"{width} is {case.fc_in_width} / {parts}: a shard, or another hidden size")
    return Verdict("wrong", f"{width} is no multiple of the hidden size {case.hidden_size}: another hidden size")


def _count(case: _Case, captures: int) -> Verdict:
    if captures == case.captures:
        return Verdict("ok", f"{captures} × {case.hidden_size}")
    surplus = _surplus(captures, case.captures)
    return Verdict("wrong", f"{captures} captures, {case.captures} wanted (hidden size {case.hidden_size}): {surplus}")


def _by_profile(row: ShapeRow, expect: Mapping[str, int] | None) -> Verdict | None:
    """Hold the row against the profile's width of its site, which means what the target captured."""
    wanted = (expect or {}).get(row.site or "")
    if wanted is None or row.is_list or _is_drafts_own(row):
        return None
    width = row.widths[0]
    if width == wanted:
        return Verdict("ok", f"{width}, as the profile expects")
    return None if _may_be_drafts_own(row) else Verdict("wrong", f"{width} wide, the profile expects {wanted}")


def _is_drafts_own(row: ShapeRow) -> bool:
    """True for states that the draft hands to itself."""
    if row.site in _CAPTURES:
        return _is_draft(row.model)
    return row.site == "draft.fc_in" and row.mode in _DECODE


def _may_be_drafts_own(row: ShapeRow) -> bool:
    """True where only the missing model, or the missing name of the mode, would tell."""
    if row.site in _CAPTURES:
        return not _has_named_model(row)
    return row.site == "draft.fc_in" and not _has_named_mode(row)


def _has_named_model(row: ShapeRow) -> bool:
    """True when the model is an architecture, not just the class that stood at the site (`LogitsProcessor`)."""
    return row.model is not None and ("For" in row.model or _is_draft(row.model))


def _has_named_mode(row: ShapeRow) -> bool:
    return row.mode is not None and not row.mode.isdecimal()


def _is_draft(model: str | None) -> bool:
    return model is not None and "eagle" in model.lower()


def _surplus(has: int, wants: int) -> str:
    if has > wants:
        return "one too many" if has == wants + 1 else f"{has - wants} too many"
    return "one too few" if has == wants - 1 else f"{wants - has} too few"


def _factors(case: _Case, width: int) -> str:
    times, rest = divmod(width, case.hidden_size)
    return f"{times} × {case.hidden_size}" if times and not rest else f"{width} wide"


def _written(shape: object) -> str:
    if isinstance(shape, tuple) and shape and isinstance(shape[0], tuple) and len(set(shape)) == 1:
        return f"{len(shape)} × {_written(shape[0])}"
    if isinstance(shape, tuple):
        return "(" + ",".join(_written(part) for part in shape) + ")"
    return "*" if shape is None else str(shape)
