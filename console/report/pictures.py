"""Owns the pictures of a run: the throughput of its blocks, and how many drafts each verification accepted. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.probe.sweep_outcome import throughput_interval
from console.report.svg import Bars, bar_chart
from console.units import format_number, format_rate

if TYPE_CHECKING:
    from console.probe.stored import StoredRun


def pictures(run: StoredRun) -> dict[str, str]:
    """Return SVG texts by name; none of what was not measured."""
    result, simulated = run.result, " SIMULATED" if run.fingerprint.simulated else ""
    found = {}
    if result.blocks:
        found["throughput"] = bar_chart(
            Bars(
                f"Output of each block, run {run.run_id}{simulated}",
                "tok/s",
                "block",
                result.blocks,
                [str(number) for number in range(1, len(result.blocks) + 1)],
                result.output_tok_s,
                f"all blocks {format_rate(result.output_tok_s)}; band: 95 % of the mean",
                throughput_interval(result.blocks),
            )
        )
    if result.accept_hist:
        found["accepted"] = bar_chart(
            Bars(
                f"Accepted drafts of each verification, run {run.run_id}{simulated}",
                f"verifications; accept_len {format_number(result.accept_len)}",
                "accepted drafts",
                result.accept_hist,
                [str(number) for number in range(len(result.accept_hist))],
            )
        )
    return found
