"""The link and the tabs as events make them, in whatever order these come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from console.state import events
from console.state.model import ConsoleState
from console.state.nodes_state import alarms, tab_of
from console.state.update import fold
from remote_agent.protocol import LedgerEntry, NodeFacts
from tests.unit.state.samples import run, telemetry

NAMES = ("connecting", "connected", "heartbeat-missed", "reconnecting", "disconnected")
FACTS = NodeFacts("n", "me", 1, "6.1", "Debian", 64, 1 << 40, "m", "b", "/s", "/c", "/h", "node", True, "smi", "")
happened = some.lists(
    some.one_of(
        some.builds(events.LinkChanged, some.sampled_from(NAMES), some.sampled_from(["", "EOF"])),
        some.builds(events.LinkSilent, some.integers(1, 10**6)),
        some.builds(events.TelemetrySampled, some.just(telemetry(0, 1))),
    ),
    max_size=30,
)


@given(happened)
def test_what_is_heard_has_no_age_and_nothing_that_was_known_is_forgotten(order):
    state, had_sample = ConsoleState(), False
    for event in order:
        state = fold(state, [event])
        had_sample = had_sample or isinstance(event, events.TelemetrySampled)
        assert not (state.link.name == "connected" and state.link.age_s)
        assert (state.gpus.sample is not None) == had_sample
    changes = [each for each in order if isinstance(each, events.LinkChanged)]
    if changes:
        assert (state.link.name, state.link.reason) == (changes[-1].name, changes[-1].reason)


def test_a_late_word_of_silence_does_not_grey_a_link_that_is_back():
    state = fold(ConsoleState(), [events.LinkChanged("connected"), events.LinkSilent(9)])
    assert state.link.age_s == 0


def test_the_age_stays_from_one_attempt_to_the_next():
    state = fold(ConsoleState(), [events.LinkChanged("reconnecting", "EOF"), events.LinkSilent(9)])
    state = fold(state, [events.LinkChanged("reconnecting", "refused")])
    assert (state.link.age_s, state.link.reason) == (9, "refused")


def read(*ledger: LedgerEntry, state: str = "running") -> events.InventoryRead:
    return events.InventoryRead(FACTS, telemetry(0, 0, 1, 90 << 30), (), (run("r1", "me", state),), 0, "", ledger)


def test_a_tab_has_what_matters_and_an_alarm_has_a_reason():
    known = fold(ConsoleState(), [events.NodeNamed("n", "me", False), events.LinkChanged("connected"), read()])
    tab = tab_of(known)
    assert (tab.name, tab.link, tab.free, tab.gpus, tab.alarms, tab.busy) == ("n", "connected", 1, 2, (), "")
    assert tab_of(ConsoleState()).free is None, "not read is not none"
    half = LedgerEntry("e", "/opt/sglang", ["p"], "me", 1.0, "intent")
    assert alarms(fold(known, [read(half)])) == ["half patched"]
    assert alarms(fold(known, [read(state="lost")])) == ["server died"]
    asked = [events.ActionAsked("free", "Free GPUs"), events.ActionStarted()]
    assert tab_of(fold(known, asked)).busy == "Free GPUs"
    assert alarms(fold(known, [*asked, events.ActionFailed("no")])) == ["Free GPUs failed"]
    assert alarms(fold(known, [*asked, events.ActionFailed("EOF", unknown=True)])) == ["Free GPUs unknown"]
