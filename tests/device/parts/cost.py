"""What the instrumentation costs, as ratios to stock: servers side by side, probed in turns."""

from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tests.device.parts import faults
from tests.device.site import NODE, allow

if TYPE_CHECKING:
    from tests.device.report import Part
    from tests.device.rig import Rig
    from tests.device.site import Site

PATCHES = '["eagle3-shapes", "eagle3-cycle"]'
VARIANTS: dict[str, tuple[str, ...]] = {
    "stock": (),
    "off": ("EAGLE3_DEBUG=0", "EAGLE3_CYCLE=0"),
    "shapes": ("EAGLE3_DEBUG=1", "EAGLE3_CYCLE=0"),
    "cycle": ("EAGLE3_DEBUG=0", "EAGLE3_CYCLE=1"),
}
"""Overlay with both patches, and what is switched on; stock has no overlay."""
CYCLE = 0.1
LOADS = {"eager": (150, 2, 3), "eagle3": (1000, 2, 4)}
"""Profile: tokens, blocks of a probe, rounds."""


def run(rig: Rig) -> None:
    """All servers start at once; what is measured is measured alone."""
    modes = list(LOADS) if rig.kit.has_gpus else ["eager"]
    names = list(VARIANTS) if rig.kit.has_gpus else ["stock", "cycle"]
    with ExitStack() as stack:
        with rig.report.part("cost.launch") as part:
            sites = {(m, n): stack.enter_context(rig.site(f"cost-{m}-{n}")) for m in modes for n in names}
            with ThreadPoolExecutor(max_workers=rig.kit.at_once) as pool:
                list(pool.map(lambda each: _start(part, each[1], each[0][0], VARIANTS[each[0][1]]), sites.items()))
        for mode in modes:
            _price(rig, mode, {name: sites[mode, name] for name in names})


def _price(rig: Rig, mode: str, sites: dict[str, Site]) -> None:
    with rig.report.part(f"cost.{'graphs' if mode == 'eagle3' else mode}") as part:
        runs = _measure(rig, part, sites, LOADS[mode])
        _tell(part, runs)
        _cycles(part, sites["cycle"], runs["cycle"])
        for site in sites.values():
            faults.stopped(site, part, site.members())


def _start(part: Part, site: Site, mode: str, switches: tuple[str, ...]) -> None:
    profile = f"deepseek-{mode}"
    words = [word for each in switches for word in ("--env", each)]
    if switches:
        patches = ("--set", f"patches={PATCHES}")
        site.must(part, "patch", "apply", NODE, "--profile", profile, *patches, "--yes")
        words += patches
    site.must_launch(part, profile, *words, *allow(faults.BESIDE))


def _measure(
    rig: Rig, part: Part, sites: dict[str, Site], load: tuple[int, int, int]
) -> dict[str, list[dict[str, Any]]]:
    tokens, times, rounds = load if rig.kit.has_gpus else (60, 1, 1)
    words = ("--max-new-tokens", str(tokens), "--blocks", str(times), "--warmup", "1")
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in sites}
    names = list(sites)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            runs[name].append(sites[name].must(part, "probe", NODE, *words, timeout_s=300).told["run"])
    return runs


def _tell(part: Part, runs: dict[str, list[dict[str, Any]]]) -> None:
    speed = {name: [block for run in mine for block in run["blocks"]] for name, mine in runs.items()}
    stock = statistics.median(speed["stock"])
    for name, blocks in speed.items():
        ratio, spread = statistics.median(blocks) / stock, (max(blocks) - min(blocks)) / statistics.median(blocks)
        cycle_ms = statistics.median(run["cycle_ms"] for run in runs[name])
        told = {"ratio": round(ratio, 4), "tok_s": round(statistics.median(blocks), 2), "spread": round(spread, 4)}
        part.figure(f"{name}: to stock", {**told, "cycle_ms": round(cycle_ms, 3), "n": len(blocks)})
    lengths = {name: sorted({round(run["accept_len"], 4) for run in mine}) for name, mine in runs.items()}
    part.expect("accept_len is the same with and without", list(lengths.values()), "all equal", ok=_equal(lengths))


def _equal(lengths: dict[str, list[float]]) -> bool:
    return len({tuple(each) for each in lengths.values()}) == 1


def _cycles(part: Part, site: Site, runs: list[dict[str, Any]]) -> None:
    """eagle3-cycle's own figures, the time between two cycles with them, beside the client's cycle time: means both."""
    found = site.verb(part, "logs", NODE, "--shapes").told.get("cycles") or {}
    part.figure("eagle3-cycle", found)
    client = statistics.fmean(run["cycle_ms"] for run in runs)
    whole = found.get("round_ms") or 0.0
    told = {"round_ms": round(whole, 3), "client_ms": round(client, 3), "ratio": round(whole / client, 4)}
    limit = CYCLE if site.kit.has_gpus else 1.0  # two cores that others use
    part.expect("cycle and gap / client's cycle", told, f"1 ± {limit}", ok=abs(whole / client - 1) <= limit)
