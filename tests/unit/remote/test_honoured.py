"""What becomes of each option that an ssh configuration sets."""

from __future__ import annotations

import pytest
from asyncssh.config import SSHClientConfig

from console.remote.transports import honoured
from console.remote.transports.honoured import HONOURED, IGNORED, LEFT_OUT, REPLACED, options
from console.remote.transports.ssh_config import parse

UNTOUCHED = parse("host gpu\nport 22\nciphers a,b\nstricthostkeychecking ask\n")
CONFIG = parse(
    "host gpu\nport 2222\nciphers a,b\nstricthostkeychecking false\nproxyjump bastion\nipqos lowdelay\n"
    "localforward 1 [h]:2\nlocalforward 3 [h]:4\n"
)


@pytest.mark.parametrize(
    ("transport", "jump", "qos"),
    [("asyncssh", HONOURED, IGNORED), ("paramiko", IGNORED, IGNORED), ("openssh", HONOURED, HONOURED)],
)
def test_each_option_that_is_set_has_its_state(transport, jump, qos):
    found = {each.name: each for each in options(transport, CONFIG, UNTOUCHED)}
    assert {name: each.state for name, each in found.items()} == {
        "port": HONOURED,
        "stricthostkeychecking": REPLACED,
        "proxyjump": jump,
        "ipqos": qos,
        "localforward": LEFT_OUT,
    }
    assert found["localforward"].value == "1 [h]:2 3 [h]:4"


def test_what_asyncssh_is_said_to_honour_it_reads():
    assert set(SSHClientConfig._handlers) >= honoured._ASYNCSSH
