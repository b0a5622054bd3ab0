from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e import sshd as sshd_module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.sshd import Sshd


@pytest.fixture
def sshd(tmp_path, monkeypatch) -> Iterator[Sshd]:
    """A real sshd, and HOME set to that of its user."""
    if sshd_module.SSHD is None:
        pytest.skip("no sshd on this machine (Debian: apt-get install openssh-server)")
    server = sshd_module.start(tmp_path / "sshd")
    for name, value in server.environ().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    yield server
    server.stop()
