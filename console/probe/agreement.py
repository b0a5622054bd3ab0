"""Owns the check of the client's figures against the server's own, over the same blocks.

| client | server | why these |
|---|---|---|
| decode_tok_s, at concurrency 1 | gen_tok_s | both are without prefill and without the time between requests |
| steady_tok_s, at concurrency > 1 | full_gen_tok_s | both while all streams run |
| (completion_tokens - requests) / verifications | accept_len | SGLang's log leaves out the token that prefill makes |

The server's windows cover most of a run, never all of it: with few of them a difference may be chance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.probe.metrics import ProbeResult
    from console.probe.server_side import ServerFigures

TOLERANCE = 0.02
MIN_WINDOWS = 3


def with_server(result: ProbeResult, figures: ServerFigures | None) -> ProbeResult:
    """Return the result with the server's own figures beside it, and a note for each that differs by over 2 %."""
    if figures is None:
        return result
    return replace(result, server=figures, notes=(*result.notes, *disagreements(result, figures)))


class Beside(NamedTuple):
    """The same quantity by the client and by the server; None: one of them does not know it."""

    client: float | None
    server: float | None
    windows: int

    @property
    def apart(self) -> float | None:
        """Relative to the server's; None where they agree, or too few windows tell."""
        if not self.client or not self.server or self.windows < MIN_WINDOWS:
            return None
        apart = abs(self.client / self.server - 1)
        return apart if apart > TOLERANCE else None


def throughput(result: ProbeResult, figures: ServerFigures) -> Beside:
    """Tokens per second."""
    if result.concurrency == 1:
        return Beside(result.decode_tok_s, figures.gen_tok_s, figures.windows)
    return Beside(result.steady_tok_s, figures.full_gen_tok_s, figures.windows)


def decode_accept_len(result: ProbeResult, figures: ServerFigures) -> Beside:
    """Tokens per verification, without the token that prefill makes."""
    decoded = result.completion_tokens - result.requests
    client = decoded / result.verifications if result.verifications else None
    return Beside(client, figures.accept_len, figures.windows)


def disagreements(result: ProbeResult, figures: ServerFigures) -> Iterator[str]:
    """Tell both numbers of each pair that disagrees."""
    windows = f"over {figures.windows} windows of its log"
    rate = throughput(result, figures)
    if (apart := rate.apart) is not None:
        told = f"the client measured {rate.client:.1f} tok/s, the server says {rate.server:.1f}"
        yield f"{told} {windows}: {apart:.1%} apart"
    length = decode_accept_len(result, figures)
    if (apart := length.apart) is not None:
        told = f"accept_len without prefill's token is {length.client:.4f} by the client, {length.server:.4f}"
        yield f"{told} {windows}: {apart:.1%} apart"
