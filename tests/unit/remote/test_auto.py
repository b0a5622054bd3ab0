"""What of a configuration needs OpenSSH's own client, by what `ssh -G` says."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from console.remote.transports.auto import differences, reasons
from console.remote.transports.ssh_config import parse

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = """
host gpu
user me
hostname gpu.example
port 22
gssapiauthentication no
hostbasedauthentication no
controlpath none
pkcs11provider none
identityfile ~/.ssh/no-such-key
"""
PLACE = {"hostname": "gpu.example", "port": "22", "user": "me"}


def of(line: str) -> tuple[str, ...]:
    option = line.split()[0]
    kept = [each for each in PLAIN.splitlines() if not each.startswith(f"{option} ")]
    return reasons(parse("\n".join([*kept, line])))


def test_a_plain_configuration_needs_nothing_more():
    assert reasons(parse(PLAIN)) == ()
    assert differences(parse(PLAIN), PLACE) == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("knownhostscommand /usr/bin/keys %H", "KnownHostsCommand is set"),
        ("pkcs11provider /usr/lib/opensc.so", "PKCS11Provider is set"),
        ("bindinterface ib0", "BindInterface is set"),
        ("hostbasedauthentication yes", "HostbasedAuthentication is on"),
        ("proxycommand nc %h %p 2>/dev/null", "its ProxyCommand is a line for a shell"),
        ("proxycommand ~/bin/proxy %h", "its ProxyCommand is a line for a shell"),
        ("proxycommand exec proxy %h", "its ProxyCommand is a line for a shell"),
    ],
)
def test_what_only_ssh_itself_can_do(line, why):
    assert of(line) == (why,)


@pytest.mark.parametrize(
    "line",
    ["proxycommand ssh -W [%h]:%p -o Ciphers=aes128-ctr bastion", "controlpath /no/such/socket", "pkcs11provider none"],
)
def test_what_asyncssh_does_as_well(line):
    assert of(line) == ()


def test_a_master_counts_only_while_it_answers(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a path for a socket is short
    with socket.socket(socket.AF_UNIX) as master:
        master.bind("master")
        assert of("controlpath master") == ()
        master.listen()
        assert of("controlpath master") == ("a master connection is open at its ControlPath master",)


def test_a_kerberos_ticket_counts_where_gssapi_is_on(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'ticket'}")
    assert of("gssapiauthentication yes") == ()
    (tmp_path / "ticket").write_text("")
    assert of("gssapiauthentication yes") == ("GSSAPIAuthentication is on and there is a Kerberos ticket",)


def test_a_hardware_key_is_told_by_its_public_half(tmp_path: Path):
    key = tmp_path / "id_sk"
    key.with_suffix(".pub").write_text("sk-ssh-ed25519@openssh.com AAAA me\n")
    assert of(f"identityfile {key}") == (f"{key} is a hardware key",)


def test_another_place_is_told_option_by_option():
    read = {**PLACE, "hostname": "gpu", "proxyjump": "bastion"}
    assert differences(parse(PLAIN), read) == (
        "Hostname is gpu.example, and asyncssh reads gpu",
        "ProxyJump is not set, and asyncssh reads bastion",
    )
    canonical = parse(PLAIN + "canonicalizehostname yes\n")
    assert differences(canonical, {**PLACE, "hostname": "gpu"}) == ()


def test_a_configuration_that_asyncssh_cannot_read_is_said():
    assert differences(parse(PLAIN), "line 3: bad") == ("asyncssh cannot read the configuration (line 3: bad)",)
