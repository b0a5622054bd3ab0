"""The probe against `sglang.bench_one_batch_server` on the same live server, with the same prompt; alternating."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from typing import TYPE_CHECKING, Any

from console.probe.stats import contrast
from tests.device.report import PartFailed
from tests.device.site import NODE, ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.device.report import Part
    from tests.device.rig import Rig
    from tests.device.site import Site

PROMPT = "t5 t17 t300"
STANDIN = ROOT / "tests" / "device" / "bundle" / "benchmark"
"""For a package that the benchmark imports and does not use here; an installed one goes before it."""
PROMPT_TOKENS = 3
TOLERANCE = 0.01
ROUNDS = 4
BENCH_S = 90.0


def against_sglang(rig: Rig, site: Site, part: Part) -> None:
    """Compare tokens / wall time of single requests, ROUNDS times one after the other; spread beside it."""
    tokens, times = (400, 24) if rig.kit.has_gpus else (64, 2)
    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(ROUNDS):
        ours += _probe(site, part, tokens, times)
        theirs += _bench(rig, site, part, tokens, times, turn)
    part.figure("probe tok/s", _spread(ours))
    part.figure("bench_one_batch_server tok/s", _spread(theirs))
    between = contrast(theirs, ours)
    part.figure("probe against benchmark", {"difference": between.difference, "interval": between.interval})
    ratio = statistics.median(ours) / statistics.median(theirs)
    tolerance = TOLERANCE if rig.kit.has_gpus else 1.0  # two cores that others use
    part.expect("probe / benchmark, medians", round(ratio, 4), f"1 ± {tolerance}", ok=abs(ratio - 1) <= tolerance)


def _probe(site: Site, part: Part, tokens: int, times: int) -> list[float]:
    load = ("--max-new-tokens", str(tokens), "--blocks", str(times), "--warmup", "1")
    run: dict[str, Any] = site.must(part, "probe", NODE, *load, timeout_s=300).told["run"]
    part.figure("probe: CPU share of the client", run["client_cpu_share"])
    return [float(each) for each in run["blocks"]]


def _bench(rig: Rig, site: Site, part: Part, tokens: int, times: int, turn: int) -> list[float]:
    """One start of the benchmark measures `times` requests: `--batch-size 1 1 1` is three cases."""
    result = site.home / f"bench-{turn}.jsonl"
    words = [
        *(str(rig.kit.python), "-m", "sglang.bench_one_batch_server", "--model-path", "None"),
        *("--base-url", f"http://127.0.0.1:{site.port}", "--dataset-name", "random"),
        *("--dataset-path", str(_dataset(site.home)), "--batch-size", *["1"] * (times + 1)),
        *("--input-len", str(PROMPT_TOKENS), "--output-len", str(tokens), "--skip-warmup"),
        *("--result-filename", str(result), "--no-append-to-github-summary"),
    ]
    path = f"{rig.kit.env['PYTHONPATH']}:{STANDIN}"
    env = {**os.environ, "HOME": str(site.user_home), **rig.kit.env, "PYTHONPATH": path}
    log = site.home / "logs" / f"bench-{turn}.log"
    limit = rig.clock.at_most(BENCH_S if rig.kit.has_gpus else 10 * BENCH_S)
    with log.open("w") as told:
        try:
            done = subprocess.run(
                words, env=env, cwd=site.home, stdout=told, stderr=subprocess.STDOUT, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            raise PartFailed(f"bench_one_batch_server took over {limit:.0f} s: {log.read_text()[-800:]}") from None
    rig.report.verb(part=part.name, site=site.name, words=words, code=done.returncode)
    if done.returncode or not result.exists():
        raise PartFailed(f"bench_one_batch_server: exit {done.returncode}: {log.read_text()[-800:]}")
    cases = [json.loads(line) for line in result.read_text().splitlines()]
    part.figure(f"bench_one_batch_server, round {turn}", cases[-1])
    return [tokens / case["latency"] for case in cases[1:]]  # the first warms up


def _dataset(home: Path) -> Path:
    """The prompt of the probe as a data set of conversations, so that nothing is fetched."""
    path = home / "conversations.json"
    turns = [{"from": "human", "value": PROMPT}, {"from": "gpt", "value": PROMPT}]
    path.write_text(json.dumps([{"conversations": turns}] * 4))
    return path


def _spread(values: list[float]) -> dict[str, Any]:
    middle = statistics.median(values)
    return {
        "median": round(middle, 2),
        "min": round(min(values), 2),
        "max": round(max(values), 2),
        "spread": round((max(values) - min(values)) / middle, 4),
        "n": len(values),
    }
