"""The pass that times verify: launched again with the patch on, probed by one block, read from its log."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from console.actions import apply_patch, deliver, launch_server, measure_point, read_log, run_probe, time_cycles
from console.errors import NegativeResult
from console.launch.profile import Profile
from console.logs.history import LogHistory
from console.probe.sweep import SweepPoint

LOG = b"".join(
    b"[EAGLE3_CYCLE] rank=0 seq=%d worker=EAGLEWorkerV2 bs=1 draft_ms=0.500 verify_ms=%.3f target_ms=20.0 "
    b"extend_ms=0.500 cycle_ms=%.3f gap_ms=- clock=cuda\n" % (seq, verify, verify + 1.2)
    for seq, verify in enumerate((22.0, 22.5, 40.0), 1)
)
POINT = SweepPoint(3, "point", {"speculative.num_steps": 2})


class Pass:
    """A node on which everything goes well, unless a test says otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, log: bytes = LOG, states: tuple[str, ...] = ("appliable",)):
        self.calls: list[tuple[Any, ...]] = []
        self.log = log
        files = [SimpleNamespace(state=state) for state in states]
        tree = SimpleNamespace(plans=[SimpleNamespace(patch_id="eagle3-cycle", files=files)])
        self._does(monkeypatch, apply_patch, "plan", SimpleNamespace(tree=tree))
        self._does(monkeypatch, deliver, "run", SimpleNamespace(ok=True))
        self._does(monkeypatch, measure_point, "clear", None)
        self._does(monkeypatch, launch_server, "plan", SimpleNamespace())
        self._does(monkeypatch, measure_point, "launched", SimpleNamespace(run_id="l1"))
        self._does(monkeypatch, run_probe, "plan", run_probe.ProbePlan(None, None))  # type: ignore[arg-type]
        self._does(monkeypatch, run_probe, "run", SimpleNamespace(ok=True))
        self._does(monkeypatch, read_log, "find", SimpleNamespace())
        self._does(monkeypatch, read_log, "read", self._history())

    def _does(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, gives: Any) -> None:
        async def done(_node: Any, *args: Any, **named: Any) -> Any:
            self.calls.append((f"{module.__name__.rpartition('.')[2]}.{name}", args, named))
            return gives

        monkeypatch.setattr(module, name, done)

    def _history(self) -> LogHistory:
        history = LogHistory(1)
        history.feed(0, self.log)
        return history

    def run(self, **profile: Any) -> time_cycles.Timed:
        given = {"name": "p", "log_path": "/l", "model_path": "/m", "patches": ["mine"], **profile}
        resolved = SimpleNamespace(profile=Profile.model_validate(given))

        async def resolve(*_: Any) -> Any:
            return resolved

        planned: Any = SimpleNamespace(
            launch_words=lambda _point: ("p", ("a=1",), ("SPT_NOENV=1",)),
            plan=SimpleNamespace(sweep_id="s1"),
            request=SimpleNamespace(allow=()),
            resolved=resolved,
        )
        node: Any = SimpleNamespace(profile=resolve)
        return asyncio.run(time_cycles.run(node, planned, POINT, lambda _line: None))

    def call(self, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return next(call[1:] for call in self.calls if call[0] == name)


SPECULATIVE = {"algorithm": "EAGLE3", "num_steps": 2}


def test_the_point_is_launched_again_with_the_patch_and_its_log_tells(monkeypatch):
    one = Pass(monkeypatch)
    timed = one.run(speculative=SPECULATIVE)
    assert timed.verify_ms == 22.5
    assert "median of 3 cycles" in timed.source
    assert "clock cuda" in timed.source
    (profile, sets, env, _allow), _ = one.call("launch_server.plan")
    assert (profile, env) == ("p", ("SPT_NOENV=1",))
    assert sets == ("a=1", 'patches=["mine", "eagle3-cycle"]', 'env.EAGLE3_CYCLE="1"', 'env.EAGLE3_CYCLE_RANKS="0"')
    order = [call[0] for call in one.calls]
    assert order.index("deliver.run") < order.index("measure_point.clear") < order.index("measure_point.launched")
    (_launch, mark, _say), _ = one.call("measure_point.launched")
    assert mark != {"id": "s1", "point": 3}, "a later console must not take it for the point itself"
    (probe, _say), _ = one.call("run_probe.run")
    assert probe.kind == "cycle", "its speed is not the point's"
    assert one.call("run_probe.plan")[1]["overrides"]["blocks"] == 1


@pytest.mark.parametrize(
    ("changes", "profile", "told"),
    [
        ({"states": ("not-applicable",)}, {"speculative": SPECULATIVE}, "fits no file of this tree"),
        ({"log": b"nothing of that kind\n"}, {"speculative": SPECULATIVE}, "no cycle was told"),
        ({}, {}, "no speculation"),
    ],
)
def test_without_a_time_the_reason_is_told(monkeypatch, changes, profile, told):
    with pytest.raises(NegativeResult, match=told):
        Pass(monkeypatch, **changes).run(**profile)
