"""What the shape table of a server must show: three captured states on every rank, and fc fed with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.device.profiles import HIDDEN, STATES
from tests.device.site import NODE

if TYPE_CHECKING:
    from tests.device.report import Part
    from tests.device.site import Site

WIDTH = HIDDEN * STATES


def expect_shapes(site: Site, part: Part, *, replayed: bool) -> None:
    """Read `logs --shapes`. `replayed`: cycles are CUDA graphs, which run no Python; captures and prefills are seen."""
    told = site.must(part, "logs", NODE, "--shapes").told
    rows, ranks = told["shapes"], f"{site.kit.tp_size}/{site.kit.tp_size}"
    part.figure(
        "shapes", [f"{r['site']} {r['model']} {r['mode']} {r['ranks']} {r['shape']} {r['verdict']}" for r in rows]
    )
    part.figure("unclaimed lines", {"count": told["unclaimed"]["count"], "samples": told["unclaimed"]["samples"][:5]})
    part.expect("verdicts other than ok", [row for row in rows if row["verdict"] not in ("ok", None, "unknown")], [])
    fed = [row for row in rows if row["site"] == "draft.fc_in" and row["mode"] != "DECODE"]  # there fc is skipped
    part.expect("draft.fc_in: last dimension", sorted({row["shape"][-1] for row in fed}), [WIDTH])
    part.expect("draft.fc_in: ranks", sorted({row["ranks"] for row in fed}), [ranks])
    # A Llama draft inherits the target's forward, and tells of its own one state too.
    captured = [row for row in rows if row["site"] == "target.aux" and "Eagle3" not in row["model"]]
    part.expect("target.aux: widths of the captured states", sorted({_width(row) for row in captured}), [WIDTH])
    part.expect("target.aux: ranks", sorted({row["ranks"] for row in captured}), [ranks])
    if not replayed:
        modes = sorted({row["mode"] for row in rows})
        is_cycle = "TARGET_VERIFY" in modes and any(mode.startswith("DRAFT_EXTEND") for mode in modes)
        part.expect("modes of a cycle are in the table", modes, "TARGET_VERIFY, DRAFT_EXTEND…", ok=is_cycle)


def _width(row: dict[str, Any]) -> int:
    """Of a packed state its last dimension, of a list the sum over its states."""
    shape = row["shape"]
    return sum(each[-1] for each in shape) if isinstance(shape[0], list) else int(shape[-1])


def expect_acceptance(site: Site, part: Part, arch_facts: dict[str, Any], *words: str) -> dict[str, Any]:
    """Probe as the profile says, and hold acceptance against what the weights predict."""
    run: dict[str, Any] = site.must(part, "probe", NODE, *words, timeout_s=300).told["run"]
    part.expect("probe: valid", (run["valid"], run["why"]), (True, ""))
    part.expect("probe: accept_len", round(run["accept_len"] or 0, 4), arch_facts["accept_len"])
    blocks = len(run["blocks"])
    part.expect("probe: histogram of accepted drafts", run["accept_hist"], [blocks * n for n in arch_facts["hist"]])
    part.figure("probe", speeds(run))
    return run


def speeds(run: dict[str, Any]) -> dict[str, Any]:
    """The figures of a probe that are worth a line."""
    ttft = run.get("ttft_ms") or {}
    names = ("output_tok_s", "decode_tok_s", "cycle_ms", "blocks", "client_cpu_share", "notes")
    return {**{name: run.get(name) for name in names}, "ttft_ms": ttft.get("p50")}
