"""Which probes on a node wait to be collected, and what of a run record is believed."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from console.actions import adopt_probe
from console.actions.probe_record import ProbeRecord, StopRule, record_of
from console.errors import UsageError
from console.store import Journal
from remote_agent.protocol import ProbeRun
from tests.unit.probe.runs import SPECULATIVE, fingerprint, stored

RECORD = ProbeRecord(
    profile="kimi",
    profile_hash="h",
    launch_id="s-1",
    fingerprint=fingerprint(argv=SPECULATIVE),
    server_log="/logs/x.log",
    baseline_id="b-1",
    stop_rule=StopRule(0.02, 3, (90.0, 91.0)),
)


def probe(run_id: str, state: str = "exited", operator: str = "me@here", **record: object) -> ProbeRun:
    told = json.loads(json.dumps(record or {"run": RECORD.to_json()}))
    return ProbeRun(run_id, operator, "/spool", state, 1.0, 8000, told)


@pytest.fixture
def node(tmp_path):
    with Journal(tmp_path / "runs.sqlite3") as journal:
        yield SimpleNamespace(name="gpu-1", operator="me@here", journal=journal)


def test_a_record_comes_back_from_the_node_as_it_was():
    assert record_of(probe("r1")) == RECORD


@pytest.mark.parametrize(
    "told",
    [
        {"server": "s-1"},
        {"run": None},
        {"run": []},
        {"run": {"profile": "kimi"}},
        {"run": {**RECORD.to_json(), "fingerprint": "none"}},
        {"run": {**RECORD.to_json(), "stop_rule": {"half_width": "wide"}}},
        {"run": {**RECORD.to_json(), "stop_rule": 3}},
    ],
)
def test_a_record_that_is_none_is_not_adopted(told):
    assert record_of(probe("r1", **told)) is None


def test_a_baseline_of_nonsense_measures_nothing():
    rule = {"half_width": 0.02, "least_blocks": 3, "baseline": [-1.0, 0.0]}
    record = record_of(probe("r1", run={**RECORD.to_json(), "stop_rule": rule}))
    assert record
    assert record.stop_rule
    assert record.stop_rule.against is None


def test_only_those_of_this_operator_that_the_journal_has_not_wait(node):
    node.journal.add_run(stored(90.0, run_id="kept"))
    probes = [probe("kept"), probe("mine"), probe("theirs", operator="you@there"), probe("old", server="s-1")]
    assert [each.run_id for each in adopt_probe.uncollected(node, probes)] == ["mine"]


def test_it_is_said_how_many_wait(node):
    assert list(adopt_probe.notice(node, [])) == []
    assert list(adopt_probe.notice(node, [probe("a")])) == ["1 finished probe is not collected: probe gpu-1 --adopt"]
    several = [probe("a"), probe("b", "lost"), probe("c", "running")]
    assert list(adopt_probe.notice(node, several)) == [
        "2 finished probes are not collected: probe gpu-1 --adopt",
        "1 probe is running: probe gpu-1 --adopt follows and keeps",
    ]


async def test_one_is_meant_by_its_id_or_the_end_of_it(node):
    probes = [probe("20261130T000000-aaaaaa"), probe("20261130T000000-bbbbbb")]

    async def listed():
        return probes

    node.agent = SimpleNamespace(probes=listed)
    assert [each.run_id for each in (await adopt_probe.plan(node, "bbbbbb")).probes] == [probes[1].run_id]
    assert len((await adopt_probe.plan(node)).probes) == 2
    with pytest.raises(UsageError) as caught:
        await adopt_probe.plan(node, "cccccc")
    assert probes[0].run_id in caught.value.hint
