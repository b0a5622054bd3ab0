from __future__ import annotations

from console.actions.run_probe import load_of

RECORD = {"profile": {"probe": {"max_new_tokens": 400, "blocks": 2, "prompt": [5, 17, 300]}}}


def test_an_option_that_was_not_given_leaves_the_profiles_value():
    load = load_of(RECORD, {"blocks": 1, "max_new_tokens": None, "concurrency": None})
    assert load == {"max_new_tokens": 400, "blocks": 1, "prompt": [5, 17, 300]}


def test_a_server_without_a_profile_takes_what_is_given():
    assert load_of({}, {"blocks": 1, "prompt": None}) == {"blocks": 1}
