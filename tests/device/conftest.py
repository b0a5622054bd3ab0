"""Tests on a machine with a CUDA GPU. Skipped, and said, where there is none."""

from __future__ import annotations

import importlib.util

import pytest


@pytest.fixture(scope="session", autouse=True)
def cuda() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch on this machine")
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU on this machine")
