"""A probe whose spool is here whole is kept, whatever becomes of the connection then."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from console.actions import collect_probe, server_figures
from console.actions.probe_record import ProbeRecord
from console.errors import NodeLost, Unreachable
from console.remote.session import LinkLost
from console.store import Journal
from remote_agent.protocol import ProbeRun
from tests.unit.probe.runs import fingerprint

RECORD = ProbeRecord("p", "h", "s-1", fingerprint())
PROBE = ProbeRun("r-1", "me@here", "/spool", "exited", 100.0, 8000)


class Losing:
    """A node whose link is lost `times` times when the server's figures are read; it may never come back."""

    def __init__(self, journal: Journal, times: int, comes_back: bool) -> None:
        self.left, self.comes_back = times, comes_back
        self.name, self.journal, self.record = "gpu-1", journal, lambda *_: None
        self.agent = SimpleNamespace(session=SimpleNamespace(connected=self._connected))

    async def _connected(self) -> None:
        if not self.comes_back:
            raise Unreachable("not connected: given up")

    async def beside(self, _node, result, *_):
        self.left -= 1
        if self.left >= 0:
            raise LinkLost("not connected")
        return result


@pytest.fixture
def losing(tmp_path, monkeypatch):
    async def spool(*_):
        return b""

    with Journal(tmp_path / "runs.sqlite3") as journal:

        def made(times: int, comes_back: bool = True) -> Losing:
            node = Losing(journal, times, comes_back)
            monkeypatch.setattr(server_figures, "beside", node.beside)
            monkeypatch.setattr(collect_probe, "follow", spool)
            monkeypatch.setattr(collect_probe, "NOTICE_S", 0)
            return node

        yield made


async def test_a_link_that_is_lost_after_the_last_block_costs_no_run(losing):
    node = losing(times=2)
    await collect_probe.collect(node, PROBE, RECORD, lambda _line: None)
    assert node.journal.has_run("r-1")


async def test_a_link_that_stays_away_leaves_the_run_to_be_adopted(losing):
    with pytest.raises(NodeLost) as lost:
        await collect_probe.collect(losing(times=1, comes_back=False), PROBE, RECORD, lambda _line: None)
    assert "probe gpu-1 --adopt r-1" in lost.value.hint
