"""What a release makes of each flag of a launch line: declared, an abbreviation, gone, another engine's, or a typo."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from console.launch import flag_table
from console.launch.releases import READ, is_within
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.launch.asked import Asked
    from console.launch.flag_table import Parser

Standing = Literal[
    "declared", "abbreviation", "ambiguous", "underscore", "of-vllm", "removed", "retired", "later", "unknown"
]

OF_VLLM = {
    "block-size": "page-size",
    "disable-log-requests": "",
    "disable-log-stats": "",
    "distributed-executor-backend": "",
    "enable-auto-tool-choice": "",
    "enable-chunked-prefill": "",
    "enable-expert-parallel": "ep-size",
    "enable-prefix-caching": "",
    "enforce-eager": "disable-cuda-graph",
    "gpu-memory-utilization": "mem-fraction-static",
    "hf-overrides": "json-model-override-args",
    "max-model-len": "context-length",
    "max-num-batched-tokens": "chunked-prefill-size",
    "max-num-seqs": "max-running-requests",
    "ngram-prompt-lookup-max": "speculative-algorithm",
    "ngram-prompt-lookup-min": "speculative-algorithm",
    "no-enable-prefix-caching": "disable-radix-cache",
    "num-speculative-tokens": "speculative-num-steps",
    "seed": "random-seed",
    "speculative-config": "speculative-algorithm",
    "speculative-draft-tensor-parallel-size": "",
    "speculative-model": "speculative-draft-model-path",
    "swap-space": "",
    "use-v2-block-manager": "",
}
"""Flags of vLLM that no SGLang takes (docs.vllm.ai, engine arguments of 0.5.0 to 0.8.5), and ours that comes nearest in
meaning; "": it is not needed here, or there is none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One flag, as one SGLang reads it."""

    flag: str
    """Without dashes, as written."""
    standing: Standing
    full: str = ""
    """The flag that it stands for, or that should be written; "" when there is none to name."""
    candidates: tuple[str, ...] = ()
    """What argparse could take it for."""
    told: str = ""
    """The evidence: where this was read."""


def readings(asked: Asked, version: str | None, installed: Iterable[str] | None = None) -> tuple[Reading, ...]:
    """Read every flag of a launch once, in the order given."""
    known = flag_table.parsers(version, installed)
    return tuple(read(flag, known, version) for flag in dict.fromkeys(each.flag for each in asked.given))


def read(flag: str, known: tuple[Parser, ...], version: str | None) -> Reading:
    """Read one flag. `known` is `flag_table.parsers`'s answer; without one, it is read by the newest release."""
    if any(flag in parser.names for parser in known) or (not known and flag in flag_table.all_names()):
        row = flag_table.row_at(flag, version) if known else None
        retired = row is not None and row.kind == "retired"
        return Reading(flag, "retired" if retired else "declared", flag, told=row.told if row and retired else "")
    known = known or flag_table.parsers(READ[-1])
    could = [parser.completions(flag) for parser in known]
    if flag_table.releases_of(flag):
        return _of_another_release(flag, known, could[-1], version)
    if any(could):
        return _shortened(flag, known, could)
    return _strange(flag, known[-1])


def _of_another_release(flag: str, known: tuple[Parser, ...], could: tuple[str, ...], version: str | None) -> Reading:
    there = flag_table.releases_of(flag)
    later = bool(version) and all(is_within(each, version) for each in there)
    span = f"declared in {there[0]} to {there[-1]}" if len(there) > 1 else f"declared in {there[0]} alone"
    told = f"{span}, not in {known[-1].source}"
    if later:
        return Reading(flag, "later", candidates=could, told=f"first declared in {there[0]}, not in {known[-1].source}")
    return Reading(flag, "removed", _renamed(flag, known[-1]), could, told)


def _renamed(flag: str, parser: Parser) -> str:
    """The flag of this release that does what `flag` did: SGLang's own word for it, else one that sets the same."""
    for row in reversed(flag_table.rows(flag)):
        named = next((word.strip("`'\",.=") for word in row.told.split() if word.strip("`'\"").startswith("--")), "")
        if named[2:] in parser.names:
            return named[2:]
        same = [n for n in parser.names if n != flag and (at := flag_table.rows(n)) and at[-1].dest == row.dest]
        if same:
            return min(same)
    return ""


def _shortened(flag: str, known: tuple[Parser, ...], could: list[tuple[str, ...]]) -> Reading:
    widest = max(could, key=len)
    where = known[could.index(widest)].source
    if all(len(each) == 1 for each in could) and len(set(could)) == 1:
        return Reading(flag, "abbreviation", widest[0], widest, f"the one flag of {where} that begins so")
    if all(len(each) > 1 for each in could):
        return Reading(flag, "ambiguous", _best(flag, widest), widest, f"{len(widest)} flags of {where} begin so")
    one = min(could, key=len)
    full = one[0] if len(one) == 1 else _best(flag, widest)
    told = f"it could be {len(widest)} flags in {where}, and {len(one)} in {known[could.index(one)].source}"
    return Reading(flag, "abbreviation", full, widest, told)


def _best(flag: str, candidates: tuple[str, ...]) -> str:
    """The flag that old launch lines meant by `flag`: the one that it stood for while it stood for one."""
    for release in READ:
        (parser,) = flag_table.parsers(release)
        could = parser.completions(flag)
        if len(could) == 1:
            return could[0] if could[0] in candidates else ""
    return ""


def _strange(flag: str, parser: Parser) -> Reading:
    hyphens = flag.replace("_", "-")
    told = f"not among the {len(parser.names)} flags of {parser.source}"
    if hyphens in OF_VLLM:
        return Reading(flag, "of-vllm", OF_VLLM[hyphens], told=told)
    if "_" in flag:
        could = parser.completions(hyphens)
        if could or flag_table.releases_of(hyphens):
            return Reading(flag, "underscore", could[0] if len(could) == 1 else hyphens, could, told)
    return Reading(flag, "unknown", nearest(hyphens, parser.names), told=told)


def meant(asked: Asked, version: str | None, installed: Iterable[str] | None = None) -> Asked:
    """The same launch with every flag by the full name that it stands for here: what rules on values look at."""
    read_so = ("abbreviation", "ambiguous", "underscore", "removed")
    full = {r.flag: r.full for r in readings(asked, version, installed) if r.full and r.standing in read_so}
    spelled = tuple(replace(each, spelled=f"--{full.get(each.flag, each.flag)}") for each in asked.given)
    return replace(asked, given=spelled)


def dashed(names: tuple[str, ...], most: int = 4) -> str:
    """Write flags for a sentence: `--a, --b and 3 more`."""
    shown = ", ".join(f"--{name}" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
