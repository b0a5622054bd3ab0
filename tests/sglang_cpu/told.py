"""What an instrumented server told in its log while it answered one request, by rank."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.logs.history import LogHistory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from console.logs.record import Record

Row = tuple[object, ...]
"""site, model, mode, shape (one tensor's, or a tuple of shapes)."""
KINDS = ("tensor_shape", "eagle3_digest", "eagle3_cycle")


@dataclass(frozen=True, slots=True)
class Call:
    """The captured states of one call, as eagle3-digest told them."""

    site: str
    mode: str
    rows: int
    sums: tuple[str, ...]
    """A checksum for each state, in their order."""
    nans: int
    embed: tuple[int | None, ...]
    """By state: rows that are the token's embedding; None where the site cannot tell."""


class Told:
    """The records of a log; those behind `ready` are of the one request, SGLang's own warm-up stands before."""

    def __init__(self, log: bytes) -> None:
        self.history = LogHistory()
        self._all = [*self.history.feed(0, log), *self.history.finish()]
        (ready,) = [index for index, record in enumerate(self._all) if record.kind == "ready"]
        self._of_request = self._all[ready:]

    def errors(self) -> list[Mapping[str, object]]:
        return [record.fields for record in self._all if record.kind in KINDS and "error" in record.fields]

    def ranks(self) -> dict[str, set[int | None]]:
        return {kind: {each.rank for each in self._all if each.kind == kind} for kind in KINDS}

    def prompt_rows(self) -> int:
        """Tokens of the request's prompt, as the scheduler counts them."""
        (prefill,) = [record.fields for record in self._of_request if record.kind == "prefill_batch"]
        return int(str(prefill["new_token"]))

    def shapes(self, rank: int) -> Counter[Row]:
        return Counter(
            (f["site"], f["model"], f["mode"], f.get("shape") or f["shapes"])
            for f in _fields(self._of_request, "tensor_shape", rank)
        )

    def calls(self, rank: int, site: str, *modes: str) -> list[Call]:
        """Those of the request, in their order."""
        groups: dict[object, list[Mapping[str, Any]]] = {}
        for fields in _fields(self._of_request, "eagle3_digest", rank):
            if fields["site"] == site and fields["mode"] in modes:
                groups.setdefault(fields["seq"], []).append(fields)
        return [_call(states) for states in groups.values()]

    def cycles(self, rank: int) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
        """All since the start, and those of the request."""
        return (
            list(_fields(self._all, "eagle3_cycle", rank)),
            list(_fields(self._of_request, "eagle3_cycle", rank)),
        )


def _call(states: list[Mapping[str, Any]]) -> Call:
    first = states[0]
    assert [state["state"] for state in states] == list(range(first["of"])), "each state is told once, in order"
    return Call(
        first["site"],
        first["mode"],
        first["rows"],
        tuple(state["sum32"] for state in states),
        sum(state["nan"] for state in states),
        tuple(state.get("embed") for state in states),
    )


def _fields(records: list[Record], kind: str, rank: int) -> Iterator[Mapping[str, Any]]:
    return (record.fields for record in records if record.kind == kind and record.rank == rank)
