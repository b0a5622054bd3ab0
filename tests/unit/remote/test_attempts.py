"""Every try of a login, from what each client says while it makes it: their own words, shortened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.remote.transports.attempts import (
    ACCEPTED,
    KNOWN,
    NOT_ENOUGH,
    REFUSED,
    UNUSABLE,
    from_asyncssh,
    from_openssh,
    from_paramiko,
)

OPENSSH = """\
debug1: Connecting to 10.0.0.7 [10.0.0.7] port 2222.
debug1: Authenticating to 10.0.0.7:2222 as 'me'
debug1: Authentications that can continue: publickey,password
debug1: Next authentication method: publickey
debug1: Offering public key: /h/.ssh/id_other ED25519 SHA256:aaa explicit
debug1: Authentications that can continue: publickey,password
debug1: Trying private key: /h/.ssh/id_rsa
debug1: Offering public key: /h/.ssh/id_ed25519 ED25519 SHA256:bbb explicit
debug1: Server accepts key: /h/.ssh/id_ed25519 ED25519 SHA256:bbb explicit\r
Authenticated to 10.0.0.7 ([10.0.0.7]:2222) using "publickey".
debug1: Authenticating to inner:22 as 'me'
debug1: Authentications that can continue: publickey,password
debug1: Next authentication method: publickey
debug1: Offering public key: /h/.ssh/id_locked ED25519 SHA256:ccc explicit
debug1: Server accepts key: /h/.ssh/id_locked ED25519 SHA256:ccc explicit
Load key "/h/.ssh/id_locked": incorrect passphrase supplied to decrypt private key
debug1: Next authentication method: password
debug1: Authentications that can continue: publickey,password
me@inner: Permission denied (publickey,password).
"""
ASYNCSSH = (
    "[conn=0] Connected to SSH server at 10.0.0.7, port 2222",
    "[conn=0] Beginning auth for user me",
    "[conn=0] Remaining auth methods: publickey,keyboard-interactive",
    "[conn=0] Preferred auth methods: gssapi-keyex,publickey",
    "[conn=0] Trying public key auth with ssh-ed25519 key",
    "[conn=0] Remaining auth methods: publickey,keyboard-interactive",
    "[conn=0] Trying public key auth with ssh-ed25519 key",
    "[conn=0] Signing request with ssh-ed25519 key",
    "[conn=0] Public key auth failed: Passphrase must be specified",
    "[conn=0] Trying keyboard-interactive auth",
    "[conn=0] Auth for user me succeeded",
    "[conn=1] Connected to SSH server at inner, port 22",
    "[conn=1] Remaining auth methods: publickey",
    "[conn=1] Trying public key auth with ssh-ed25519 key",
    "[conn=1] Signing request with ssh-ed25519 key",
    "[conn=1] Auth for user me succeeded",
)
PARAMIKO = (
    "Connected (version 2.0, client OpenSSH_9.2p1)",
    "Trying discovered key b'bbb' in /h/.ssh/id_other",
    "userauth is OK",
    "Authentication (publickey) failed.",
    "Trying SSH agent key b'aaa'",
    "Authentication (publickey) failed.",
    "Auth banner: b'Authentication (password) successful!'",
    "Authentication type (password) not permitted.",
    "Allowed methods: ['publickey', 'keyboard-interactive']",
    "Authentication (keyboard-interactive) successful!",
)


def outcomes(found, host: str) -> list[tuple[str, str]]:
    return [(each.method, each.outcome) for each in found.attempts if each.host == host]


def test_openssh_tells_each_key_and_each_hop():
    found = from_openssh(OPENSSH)
    assert found.hosts == ("10.0.0.7:2222", "inner")
    assert outcomes(found, "10.0.0.7:2222") == [
        ("publickey", REFUSED),
        ("publickey", UNUSABLE),
        ("publickey", ACCEPTED),
    ]
    assert found.attempts[2].credential == "/h/.ssh/id_ed25519 ED25519 SHA256:bbb explicit"
    assert found.attempts[2].why == KNOWN
    assert outcomes(found, "inner") == [("publickey", UNUSABLE), ("password", REFUSED)]
    assert "incorrect passphrase" in found.attempts[3].why
    assert dict(found.offered) == {"10.0.0.7:2222": "publickey,password", "inner": "publickey,password"}


def test_a_factor_that_is_not_enough_is_not_called_refused():
    head = "debug1: Authenticating to gpu:22 as 'me'\ndebug1: Authentications that can continue: publickey\n"
    key = "debug1: Offering public key: /h/k ED25519 SHA256:b explicit\ndebug1: Server accepts key: /h/k ED25519\n"
    more = (
        'Authenticated using "publickey" with partial success.\ndebug1: Authentications that can continue: password\n'
    )
    found = from_openssh(head + key + more)
    assert (outcomes(found, "gpu"), dict(found.offered)) == ([("publickey", NOT_ENOUGH)], {"gpu": "password"})
    told = [*ASYNCSSH[:4], "[conn=0] Trying keyboard-interactive auth", "[conn=0] Remaining auth methods: publickey"]
    assert outcomes(from_asyncssh(told), "10.0.0.7:2222") == [("keyboard-interactive", NOT_ENOUGH)]
    told = [
        "Trying discovered key b'b' in /h/k",
        "userauth is OK",
        "Authentication continues...",
        "Methods: ['password']",
    ]
    assert outcomes(from_paramiko(told, "gpu"), "gpu") == [("publickey", NOT_ENOUGH)]


def test_asyncssh_tells_each_try_and_why_one_could_not_be_made():
    found = from_asyncssh(ASYNCSSH)
    assert outcomes(found, "10.0.0.7:2222") == [
        ("publickey", REFUSED),
        ("publickey", UNUSABLE),
        ("keyboard-interactive", ACCEPTED),
    ]
    assert found.attempts[1].why == "Passphrase must be specified"
    assert outcomes(found, "inner") == [("publickey", ACCEPTED)]


def test_paramiko_tells_each_try_and_a_banner_is_none():
    found = from_paramiko(PARAMIKO, "gpu")
    assert outcomes(found, "gpu") == [
        ("publickey", REFUSED),
        ("publickey", REFUSED),
        ("password", REFUSED),
        ("keyboard-interactive", ACCEPTED),
    ]
    assert found.attempts[0].credential == "/h/.ssh/id_other"
    assert dict(found.offered) == {"gpu": "publickey,keyboard-interactive"}


@pytest.mark.parametrize("read", [from_openssh, lambda text: from_asyncssh(text.split("\n"))])
@given(st.lists(st.sampled_from([*OPENSSH.split("\n"), *ASYNCSSH]) | st.text(max_size=40), max_size=12).map("\n".join))
def test_no_lines_in_no_order_leave_a_try_open(read, text):
    found = read(text)
    assert {each.outcome for each in found.attempts} <= {ACCEPTED, NOT_ENOUGH, REFUSED, UNUSABLE}
    assert from_openssh("").attempts == ()
