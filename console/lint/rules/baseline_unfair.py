"""The baseline differs from this launch in more than it should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch import flag_reading, flag_table
from console.launch.flags import flag_of
from console.launch.speculation import DEFAULT_MAX_RUNNING_REQUESTS, NO_EFFECT, overlaps
from console.lint import asks
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.launch.asked import Asked
    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="baseline-unfair",
    title="The baseline differs from this launch in more than it should",
    why="A speed-up is then of those differences as much as of the draft; a comparison of the two is withheld.",
    source="server_args.py and arg_groups/speculative_hook.py of 28 releases: what speculation changes beside "
    "itself is max_running_requests and the overlap scheduler",
)

NO_MATTER = {
    *("host", "port", "api-key", "admin-api-key", "config", "served-model-name", "log-level", "log-level-http"),
    *("decode-log-interval", "skip-server-warmup", NO_EFFECT),
}
"""Flags that change no figure; --config carries what is compared elsewhere or a key."""
_LIMIT = "max-running-requests"
_HERE = {"PYTHONPATH", "CUDA_VISIBLE_DEVICES"}
"""Differences that runs are compared by when they are measured: the tree that served, and the GPUs."""


def check(launch: Launch) -> Iterator[Finding]:
    if launch.baseline is None:
        return
    here = asks.full(launch)
    there = flag_reading.meant(launch.baseline, launch.version, launch.installed.flags)
    profile = launch.profile
    varies = profile.baseline.varies if profile and profile.baseline else ("speculative",)
    differs = [*_flags(here, there, varies), *_env(here, there, varies)]
    if differs:
        told = f"the baseline differs in {'; '.join(differs)}"
        if profile and profile.patches:
            yield RULE.info(told, "This one is for reading shapes: no comparison of the two will be made.")
        else:
            yield RULE.warn(told, "Make them alike, or name the keys in baseline.varies.")
    if overlaps(here, launch.version) is False and overlaps(there, launch.version):
        if not _may_vary("disable-overlap-schedule", varies):
            hint = "Measure a baseline with --disable-overlap-schedule too, and show both."
            yield RULE.info("the baseline has the overlap scheduler, and speculation here runs without it", hint)


def _flags(here: Asked, there: Asked, varies: tuple[str, ...]) -> Iterator[str]:
    ours, theirs = _by_dest(here), _by_dest(there)
    for dest in sorted(ours.keys() | theirs.keys()):
        flag = (ours.get(dest) or theirs[dest])[0]
        mine, other = (side[dest][1] if dest in side else None for side in (ours, theirs))
        if mine == other or flag in NO_MATTER or _may_vary(flag, varies):
            continue
        if flag == _LIMIT and mine is None and here.algorithm and other == str(DEFAULT_MAX_RUNNING_REQUESTS):
            continue
        yield f"--{flag} ({_told(mine)} here, {_told(other)} there)"


def _env(here: Asked, there: Asked, varies: tuple[str, ...]) -> Iterator[str]:
    for name in sorted(here.env.keys() | there.env.keys()):
        if here.env.get(name) != there.env.get(name) and name not in _HERE:
            if not {"env", f"env.{name}", f"secret_env.{name}"}.intersection(varies):
                yield f"env.{name}"


def _by_dest(asked: Asked) -> dict[str, tuple[str, str]]:
    """What is set, however it is spelled: flag and values by argparse's dest, the last one winning."""
    return {flag_table.dest_of(each.flag): (each.flag, " ".join(each.values)) for each in asked.given}


def _may_vary(flag: str, varies: tuple[str, ...]) -> bool:
    names = {flag_of(key.removeprefix("args.")) for key in varies}
    return flag in names or ("speculative" in varies and flag.startswith("speculative-")) or "args" in varies


def _told(values: str | None) -> str:
    return "not set" if values is None else values or "set"
