"""Profiles of a test's own, in a folder of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from console.launch.library import Library
from console.launch.loader import Inputs, ResolvedProfile, resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VARIABLES = {"python": "/opt/venv/bin/python3", "models": "/models", "drafts": "/drafts", "logs": "/srv/logs"}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Library]:
    """Write profiles by name (dots of keyword names cannot be had: give a dict) and return their library."""

    def write_(profiles: dict[str, str]) -> Library:
        for name, text in profiles.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        return Library((tmp_path,))

    return write_


@pytest.fixture
def resolved(write: Callable[..., Library]) -> Callable[..., ResolvedProfile]:
    """Resolve the profile "p" with this text."""

    def resolved_(text: str, **inputs: Any) -> ResolvedProfile:
        given = Inputs(**{"variables": VARIABLES, "environ": {}, **inputs})
        return resolve("p", write({"p": text}), given)

    return resolved_
