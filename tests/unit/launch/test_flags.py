"""The table of flags and the profile's keys say the same thing."""

from __future__ import annotations

import pytest

from console.launch import flags
from console.launch.profile import Profile, Speculative

OF_THE_CONSOLE = {
    *("name", "description", "extends", "python", "module", "cwd", "log_path", "gpus", "speculative", "args", "env"),
    *("secret_env", "patches", "expect", "training", "baseline", "probe", "sweep", "ready_timeout_s"),
}


def test_every_key_of_a_profile_is_a_flag_a_secret_or_the_consoles_own() -> None:
    assert set(Profile.model_fields) == {*flags.SERVER_KEYS, *flags.SECRET_KEYS, *OF_THE_CONSOLE}
    assert set(Speculative.model_fields) == set(flags.SPECULATIVE_KEYS)


@pytest.mark.parametrize(
    ("flag", "key"),
    [
        ("tp", "tp_size"),
        ("tensor-parallel-size", "tp_size"),
        ("mem-fraction", "mem_fraction_static"),
        ("speculative-algo", "speculative.algorithm"),
        ("speculative-draft-model", "speculative.draft_model_path"),
        ("log-level", "log_level"),
        ("tool-call-parser", ""),
        ("forward-hooks", ""),
    ],
)
def test_a_flag_is_traced_to_its_key(flag: str, key: str) -> None:
    assert flags.key_for(flag) == key


def test_a_flag_that_begins_like_a_secret_one_is_its_own() -> None:
    assert not flags.is_secret("ssl-keyfile")
    assert flags.is_secret("ssl-keyfile-password")
    assert flags.is_secret("api-k")
