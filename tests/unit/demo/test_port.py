"""The embedded node listens where its user says, else on this user's own port."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.demo.setup import PORT_VARIABLE, prepare
from console.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_port_may_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PORT_VARIABLE, "18123")
    assert prepare(tmp_path).port == 18123
    monkeypatch.setenv(PORT_VARIABLE, "")
    assert 18000 <= prepare(tmp_path).port < 20000
    for wrong in ("0", "65536", "-1", "x"):
        monkeypatch.setenv(PORT_VARIABLE, wrong)
        with pytest.raises(UsageError, match="is no port"):
            prepare(tmp_path)
