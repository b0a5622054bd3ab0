"""What OpenSSH's client wrote, in our words. Its own words: those of 9.2, shortened."""

from __future__ import annotations

import pytest

from console.remote.transports.host_keys import Target
from console.remote.transports.ssh_failure import Way, failure

TARGET = Target("gpu", "10.0.0.7", 22)
ADDRESS = ("10.0.0.7", 22)
SHOWN = "debug1: Server host key: ssh-ed25519 SHA256:abc/+\n"


def told(text: str, *refused: str) -> str:
    return failure(Way(TARGET, [], ADDRESS), text, refused).message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SHOWN + "No ED25519 host key is known for 10.0.0.7 and you have requested strict checking.\r\n",
            "the host key of gpu is not known: ssh-ed25519 SHA256:abc/+",
        ),
        (
            SHOWN
            + "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nOffending ED25519 key in /h/known_hosts:3\r\n",
            "the host key of gpu CHANGED: it shows ssh-ed25519 SHA256:abc/+, and /h/known_hosts:3 says otherwise",
        ),
        (
            SHOWN + "@ WARNING: REVOKED HOST KEY DETECTED! @\r\n",
            "the host key of gpu is REVOKED: ssh-ed25519 SHA256:abc/+, by a list of revoked keys",
        ),
        (
            "me@10.0.0.7: Permission denied (publickey,password).\n",
            "gpu refused us: Permission denied (publickey,password)",
        ),
        (
            "/h/.ssh/config: line 2: Bad configuration option: hostnam\r\n/h/.ssh/config: terminating, 1 bad "
            "configuration options\r\n",
            "the ssh configuration cannot be used: /h/.ssh/config: terminating, 1 bad configuration options",
        ),
        (
            "debug1: Connecting to 10.0.0.7\nssh: connect to host 10.0.0.7 port 22: Connection refused\r\n",
            "gpu cannot be reached: connect to host 10.0.0.7 port 22: Connection refused",
        ),
        (
            "ssh: Could not resolve hostname bastion: Name or service not known\r\n"
            "kex_exchange_identification: Connection closed by remote host\r\n"
            "Connection closed by UNKNOWN port 65535\r\n",
            "gpu cannot be reached: Could not resolve hostname bastion: Name or service not known",
        ),
        (
            "OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.11\r\ndebug1: Connection established.\r\n"
            "kex_exchange_identification: Connection closed by remote host\r\n"
            "Connection closed by 127.0.0.1 port 2222\r\n",
            "gpu cannot be reached: Connection closed by 127.0.0.1 port 2222",
        ),
        ("", "gpu cannot be reached: ssh said nothing"),
        ("debug1: hostile \x1b]52;c;AAAA\x07\n", "gpu cannot be reached: ssh said nothing"),
    ],
)
def test_its_words_in_ours(text, message):
    assert told(text) == message


def test_a_failure_on_the_way_is_that_of_the_jump_host():
    text = "debug1: Executing proxy command: exec ssh -W\ndebug1: Authenticating to 10.0.0.1:2222 as 'me'\n"
    assert told(text + "me@10.0.0.1: Permission denied (publickey).\n") == (
        "the jump host 10.0.0.1 refused us: Permission denied (publickey)"
    )
    text += "debug1: Authenticating to 10.0.0.7:22 as 'me'\n"
    assert (
        told(text + "me@10.0.0.7: Permission denied (publickey).\n") == "gpu refused us: Permission denied (publickey)"
    )


def test_an_unknown_key_on_the_way_is_that_of_the_jump_host():
    asked = (
        "The authenticity of host 'bastion (10.0.0.1)' can't be established.\n"
        "ED25519 key fingerprint is SHA256:xyz.\nAre you sure you want to continue connecting (yes/no)? "
    )
    assert told("", asked) == "the host key of the jump host bastion is not known: ED25519 SHA256:xyz"
    assert "jump host" in told("", "something else")
