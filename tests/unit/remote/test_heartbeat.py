"""What times alone say of a link: silence, sleep of this machine, and what a clock that was set must not say."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as some

from console.remote import heartbeat
from console.remote.heartbeat import ANSWER_S, AWAY_S, HEARTBEAT_S, LOST_AFTER_S, Heartbeat, Moment

STEP = HEARTBEAT_S
at = Moment


def test_a_link_that_is_heard_is_connected():
    beat = Heartbeat(at(0, 1000))
    assert beat.look(at(5, 1005), 4.9).state == "connected"
    assert beat.look(at(10, 1010), 9.9).state == "connected"


def test_silence_is_told_and_then_is_the_end():
    beat = Heartbeat(at(0, 1000))
    looks = [beat.look(at(n * STEP, 1000 + n * STEP), 0.0) for n in range(1, 6)]
    assert [look.state for look in looks] == ["connected", "connected", "heartbeat-missed", "heartbeat-missed", "lost"]
    assert looks[-1].why == "nothing heard for 25 s"


def test_a_laptop_that_slept_asks_anew_before_it_gives_up():
    beat = Heartbeat(at(0, 1000))
    woken = beat.look(at(5, 1000 + 3 * 3600), 4.9)  # while it slept, the monotonic clock stood still
    assert (woken.state, woken.why) == ("heartbeat-missed", "this machine was away for 3 h 00 min")
    assert woken.next_s < HEARTBEAT_S
    answered = beat.look(at(5.5, 1000 + 3 * 3600 + 0.5), 5.2)
    assert (answered.state, answered.next_s) == ("connected", HEARTBEAT_S)


def test_a_link_that_did_not_survive_the_sleep_is_found_within_seconds():
    beat = Heartbeat(at(0, 1000))
    beat.look(at(5, 90_000), 4.9)
    times = itertools.count(5.5, 0.5)
    state, now = "", 0.0
    while state != "lost":
        now = next(times)
        state = beat.look(at(now, 90_000 + now - 5), 4.9).state
    assert now - 5 <= ANSWER_S + 0.5 < LOST_AFTER_S


def test_a_console_that_was_stopped_takes_no_silence_for_the_nodes():
    beat = Heartbeat(at(0, 1000))
    assert beat.look(at(605, 1605), 1.0).state == "heartbeat-missed", "both clocks went on"
    assert beat.look(at(605.5, 1605.5), 605.1).state == "connected"


def test_a_clock_that_is_set_back_says_nothing():
    beat = Heartbeat(at(0, 1000))
    assert beat.look(at(5, 10), 4.9).state == "connected"
    assert beat.look(at(10, 15), 9.9).state == "connected"


steps = some.lists(
    some.tuples(some.floats(0.01, 3600), some.floats(-1e6, 1e6), some.booleans()), min_size=1, max_size=40
)


@given(steps)
def test_whatever_the_clocks_do_a_link_that_answers_lives_and_one_that_does_not_is_given_up(taken):
    """Each step: how long until the look, by how much the wall clock was set meanwhile, whether the node was heard."""
    now, wall, heard = 0.0, 1e6, 0.0
    beat = Heartbeat(at(now, wall))
    for passed, set_by, is_heard in taken:
        now, wall = now + passed, wall + passed + set_by
        heard = now if is_heard else heard
        look = beat.look(at(now, wall), heard)
        if is_heard and passed <= HEARTBEAT_S + AWAY_S and set_by <= 0:
            assert look.state != "lost"
        if look.state == "lost":
            return
    for _ in range(20):  # from now on nothing is heard, and time goes on as it should
        now, wall = now + look.next_s, wall + look.next_s
        look = beat.look(at(now, wall), heard)
        if look.state == "lost":
            assert look.why
            return
    raise AssertionError("it is never given up")


def test_the_clocks_are_read_together():
    before = heartbeat.now()
    after = heartbeat.now()
    assert after.monotonic >= before.monotonic
    assert abs((after.wall - before.wall) - (after.monotonic - before.monotonic)) < 1.0
