"""Owns what requests brought: whether two runs made the same greedy tokens, and whether a server broke under way.

Speculation must not change greedy text beyond numerics: where two tokens are nearly as likely, another batch size or
kernel may choose the other one, and all that follows differs. So the first divergence is what counts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.probe.trace import ProbeTrace, RequestTrace

AROUND = 4
"""Tokens shown before and behind a divergence."""
TEXT_AROUND = 24
"""Characters, where there is only text."""
SAME_TOKEN = 32
"""So many equal tokens at the end are no answer any more."""

SameText = Literal["same", "differs", "unknown"]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where one request's outputs part."""

    block: int
    index: int
    """Of the request in its block, from 0."""
    at: int
    """Tokens, or characters, that are alike."""
    a: str
    """What run a has there, with what stands around it: token ids, or hostile text."""
    b: str


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """All requests of two runs."""

    verdict: SameText
    why: str
    """Why it cannot be told; empty otherwise."""
    unit: Literal["tokens", "characters", ""]
    requests: int
    """Pairs that were compared."""
    same: int
    alike: int
    """Tokens, or characters, up to the first divergence of each pair, all together."""
    total: int
    divergences: tuple[Divergence, ...] = ()
    """One for each pair that differs, the earliest first."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "divergences": [asdict(each) for each in self.divergences]}


def compare_outputs(
    a: ProbeTrace, b: ProbeTrace, workload_a: Mapping[str, Any], workload_b: Mapping[str, Any]
) -> OutputComparison:
    """Compare what two runs made, request by request: tokens where both kept them, else text.

    The workloads (`Workload.identity()`) say whether the prompts were the same.
    """
    why = _why_not(workload_a, workload_b)
    pairs = [] if why else _pairs(a.requests, b.requests)
    if not pairs:
        return OutputComparison("unknown", why or _KEEP, "", 0, 0, 0, 0)
    is_ids = all(each.output_ids is not None for pair in pairs for each in pair)
    made = [_both(left, right, is_ids) for left, right in pairs]
    alike = [_common(left, right) for left, right in made]
    parted = [
        _divergence(pair[0], left, right, n)
        for pair, (left, right), n in zip(pairs, made, alike, strict=True)
        if n < len(left) or n < len(right)
    ]
    return OutputComparison(
        verdict="differs" if parted else "same",
        why="",
        unit="tokens" if is_ids else "characters",
        requests=len(pairs),
        same=len(pairs) - len(parted),
        alike=sum(alike),
        total=sum(max(len(left), len(right)) for left, right in made),
        divergences=tuple(sorted(parted, key=lambda each: (each.at, each.block, each.index))),
    )


def broke_midway(requests: Sequence[RequestTrace]) -> str:
    """Say that a server began to give one token over and over, though it first gave more; empty where it did not.

    A degraded server keeps its numbers (cases E13). One that does so from the start may be a toy: no judgement.
    """
    kept = [request for request in requests if request.output_ids and not request.error]
    stuck = [_is_stuck(request) for request in kept]
    begin = stuck.index(True) if True in stuck else 0
    # One prompt of several may end so on a small model: a broken server does it from some request on, and always.
    if begin == 0 or len(kept) - begin < 2 or not all(stuck[begin:]):
        return ""
    request = kept[begin]
    where = "the warm-up" if request.warmup else f"block {request.block + 1}"
    told = f"from request {request.index + 1} of {where} on every output ends in {SAME_TOKEN} equal tokens"
    return f"degraded: {told}, and none before"


_KEEP = "no outputs were kept: measure both with `probe.keep_output: true`"


def _why_not(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    # Requests of a block and its number are not compared: a prompt's prefix counts from the first request of all.
    names = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))
    if names:
        return f"the workloads are not the same: {', '.join(names)}"
    if a.get("temperature"):
        return f"the text is drawn by chance (temperature {a['temperature']:g})"
    if not a.get("flush_cache"):
        return "without a cache flush each run has prefixes of its own: the prompts are not the same"
    return ""


def _pairs(a: Sequence[RequestTrace], b: Sequence[RequestTrace]) -> list[tuple[RequestTrace, RequestTrace]]:
    known = {(each.block, each.index): each for each in b if _is_kept(each)}
    return [(each, known[each.block, each.index]) for each in a if _is_kept(each) and (each.block, each.index) in known]


def _is_kept(request: RequestTrace) -> bool:
    is_told = request.output_ids is not None or request.output_text is not None
    return is_told and not (request.warmup or request.error)


def _both(a: RequestTrace, b: RequestTrace, is_ids: bool) -> tuple[Sequence[int] | str, Sequence[int] | str]:
    """Both outputs; where one was not kept to its end, as far as both were."""
    left, right = _made(a, is_ids), _made(b, is_ids)
    if a.output_cut or b.output_cut:
        kept = min(len(left), len(right))
        return left[:kept], right[:kept]
    return left, right


def _made(request: RequestTrace, is_ids: bool) -> Sequence[int] | str:
    return request.output_ids or () if is_ids else request.output_text or ""


def _common(a: Sequence[int] | str, b: Sequence[int] | str) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _divergence(request: RequestTrace, a: Sequence[int] | str, b: Sequence[int] | str, at: int) -> Divergence:
    return Divergence(request.block, request.index, at, _around(a, at), _around(b, at))


def _around(made: Sequence[int] | str, at: int) -> str:
    if isinstance(made, str):
        return made[max(0, at - TEXT_AROUND) : at + TEXT_AROUND]
    before = " ".join(map(str, made[max(0, at - AROUND) : at]))
    behind = " ".join(map(str, made[at : at + AROUND])) or "(ends)"
    return f"{before} | {behind}".strip()


def _is_stuck(request: RequestTrace) -> bool:
    tail = (request.output_ids or ())[-SAME_TOKEN:]
    return len(tail) == SAME_TOKEN and len(set(tail)) == 1
