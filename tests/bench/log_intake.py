"""What taking in a log costs: `python -m tests.bench.log_intake` prints lines per second of CPU time of one core.

Debug records of eight ranks, as `eagle3-shapes` writes them, in chunks of 64 KiB, through split, classify and fold; a
prefill of ever new length between them, and a decode line for each second of a server at 50 k lines/s. Peers in the
same run, on the same bytes: `grep -c`, Python's readline loop, and one that reads each pair by a regular expression.
CPU time of a machine that other work shares: read the ratios.
"""

from __future__ import annotations

import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from console.logs.classify import classify_all
from console.logs.history import LogHistory
from console.logs.split import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable

LINES = 200_000
RANKS = 8
CHUNK = 64 * 1024
RUNS = 3
REAL = Path(__file__).parents[1] / "data" / "logs" / "h200"
TARGET, DRAFT = "DeepseekV3ForCausalLM", "LlamaForCausalLMEagle3"
CALLS = (
    ("target.aux", TARGET, "TARGET_VERIFY", "shapes=({rows},7168);({rows},7168);({rows},7168)"),
    ("logits.stored", TARGET, "TARGET_VERIFY", "shape=({rows},21504)"),
    ("draft.fc_in", DRAFT, "DRAFT_EXTEND_V2", "shape=({rows},21504)"),
    ("draft.fc_out", DRAFT, "DRAFT_EXTEND_V2", "shape=({rows},7168)"),
)
_PAIR = re.compile(r"(\w+)=(\S+)")


def debug_log(lines: int = LINES) -> bytes:
    """Records of a server under eight ranks."""
    made: list[str] = []
    seq = 0
    while len(made) < lines:
        seq += 1
        rows = 100 + seq if seq % 40 == 0 else 6
        for site, model, mode, shape in CALLS:
            for rank in range(RANKS):
                head = f"[EAGLE3_DEBUG] site={site} rank={rank} model={model} mode={mode} seq={seq}"
                made.append(f"{head} {shape.format(rows=rows)} dtype=bfloat16 device=cuda:{rank}")
        if seq % 1500 == 0:
            made.append(
                f"[2026-02-20 10:{seq // 90000 % 60:02}:{seq // 1500 % 60:02} TP0] Decode batch, #running-req: 1"
            )
    return ("\n".join(made[:lines]) + "\n").encode()


def main() -> None:
    data = debug_log()
    print(f"{LINES:,} debug records of {RANKS} ranks, {len(data) / LINES:.0f} bytes each")
    whole = _line("split, classify, fold", _cpu(lambda: _fold(data)), LINES, "(target ≥ 100,000 lines/s)")
    split = LineSplitter().feed(0, data)
    _line("  split", _cpu(lambda: _split(data)), LINES)
    _line("  classify", _cpu(lambda: classify_all(split)), LINES)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        name = file.name
        for peer, run in (
            ("grep -c EAGLE3_DEBUG", lambda: _grep(name)),
            ("readline loop", lambda: _readline(name)),
            ("readline, pairs by regex", lambda: _pairs(name)),
        ):
            seconds = _cpu(run)
            _line(peer, seconds, LINES, f"(we take {whole / seconds:.1f} × its time)")
    for name in ("tp4-eagle3-debug.log", "tp4-eagle3.log"):
        real = (REAL / name).read_bytes()
        times = max(1, 4_000_000 // len(real))
        _line(f"real {name}", _cpu(lambda real=real, times=times: _fold(real * times)), times * real.count(b"\n"))


def _fold(data: bytes) -> None:
    history = LogHistory()
    for at in range(0, len(data), CHUNK):
        history.feed(at, data[at : at + CHUNK])


def _split(data: bytes) -> None:
    splitter = LineSplitter()
    for at in range(0, len(data), CHUNK):
        splitter.feed(at, data[at : at + CHUNK])


def _grep(name: str) -> None:
    # With its output on /dev/null GNU grep stops at the first line that matches.
    subprocess.run(["grep", "-c", "EAGLE3_DEBUG", name], capture_output=True, check=True)


def _readline(name: str) -> int:
    with open(name, encoding="utf-8", errors="replace") as file:
        return sum("EAGLE3_DEBUG" in line for line in file)


def _pairs(name: str) -> int:
    with open(name, encoding="utf-8", errors="replace") as file:
        return sum(len(dict(_PAIR.findall(line))) for line in file)


def _cpu(work: Callable[[], object]) -> float:
    """The least of several runs: seconds of CPU time, a child's too."""
    return min(_spent(work) for _ in range(RUNS))


def _spent(work: Callable[[], object]) -> float:
    begin, children = time.process_time(), _children()
    work()
    return time.process_time() - begin + _children() - children


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _line(name: str, seconds: float, lines: int, note: str = "") -> float:
    print(f"{name:28} {lines / seconds:>12,.0f} lines/s  {note}".rstrip())
    return seconds


if __name__ == "__main__":
    main()
