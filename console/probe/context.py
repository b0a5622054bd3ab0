"""Owns what an export tells of a run beyond its measurement: labels, its launch, the patches that were on. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class RunContext:
    """What the journal knows beside the run itself."""

    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    launch: Mapping[str, Any] = field(default_factory=dict)
    """What was asked and what came of it, when its server was launched; empty where that was not from here."""
    diff: str = ""
    """What the patches change in the folder that holds the package `sglang`; empty where it was not kept."""


NO_CONTEXT = RunContext()
