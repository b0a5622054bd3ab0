"""What each SSH transport makes of the host key that a real sshd shows, by what known_hosts says."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from console.errors import Unreachable
from tests.e2e import sshd as sshd_module
from tests.e2e.ways import NODE, SSH, by, forget, outcome, way

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.sshd import Sshd

pytestmark = pytest.mark.sshd
each = pytest.mark.parametrize("name", SSH)
one = by("asyncssh")


async def connects(name: str, **options: object) -> None:
    async with way(name, **options) as transport:
        assert (await outcome(transport, ["true"]))[0] == 0


@contextmanager
def refused(*words: str) -> Iterator[pytest.ExceptionInfo[Unreachable]]:
    with pytest.raises(Unreachable) as caught:
        yield caught
    assert caught.value.exit_code == 3
    for word in words:
        assert word in caught.value.message


def shown(path: Path) -> str:
    """Type and SHA256 of a public key, as ssh-keygen has them."""
    told = subprocess.run(["ssh-keygen", "-lf", str(path)], check=True, capture_output=True, text=True).stdout.split()
    return f"{path.read_text().split()[0]} {told[1]}"


def known(sshd: Sshd, *lines: str) -> Path:
    path = sshd.ssh / "known_hosts"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def key_of(path: Path) -> str:
    return " ".join(path.read_text().split()[:2])


@pytest.fixture
def place(sshd: Sshd) -> str:
    return f"[127.0.0.1]:{sshd.port}"


@each
async def test_an_unknown_key_is_shown_refused_and_remembered_only_if_accepted(name, sshd, place):
    path = known(sshd, f"other.example {key_of(sshd.folder / 'host_key.pub')}")
    if name != "openssh":  # whose own client, before 9.3, writes on into a line that an editor left open
        path.write_text(path.read_text().rstrip("\n"))
    key = shown(sshd.folder / "host_key.pub")
    with refused(f"the host key of {NODE} is not known: {key}") as caught:
        await connects(name)
    assert "--accept-new-host-key" in caught.value.hint
    assert len(path.read_text().splitlines()) == 1
    await connects(name, accept_new_host_key=True)
    first, second = path.read_text().splitlines()
    assert first.startswith("other.example ")
    assert second.endswith(key_of(sshd.folder / "host_key.pub").split()[1])
    await connects(name)


@each
async def test_a_changed_key_is_refused_and_its_line_named_whatever_is_accepted(name, sshd, place):
    path = known(sshd, "# a comment", f"{place} {key_of(sshd.ssh / 'id_ed25519.pub')}")
    key = shown(sshd.folder / "host_key.pub")
    with refused(f"the host key of {NODE} CHANGED: it shows {key}, and {path}:2 says otherwise") as caught:
        await connects(name, accept_new_host_key=True)
    assert place in caught.value.hint


@each
async def test_a_revoked_key_is_refused_and_its_line_named(name, sshd, place):
    key = key_of(sshd.folder / "host_key.pub")
    path = known(sshd, f"{place} {key}", f"@revoked * {key}")
    with refused(f"the host key of {NODE} is REVOKED", f"{path}:2"):
        await connects(name, accept_new_host_key=True)


@one
async def test_hashed_names_are_read(name, sshd, place):
    path = known(sshd, f"{place} {key_of(sshd.folder / 'host_key.pub')}")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(path)], check=True, capture_output=True)
    assert path.read_text().startswith("|1|")
    await connects(name)
    await forget(sshd)
    path.write_text(path.read_text().replace(key_of(sshd.folder / "host_key.pub"), key_of(sshd.ssh / "id_ed25519.pub")))
    with refused("CHANGED", f"{path}:1"):
        await connects(name)


@one
async def test_an_alias_is_looked_up_in_place_of_the_address(name, sshd):
    sshd.configure(f"Host {NODE}", "  HostKeyAlias cluster-login")
    known(sshd, f"cluster-login {key_of(sshd.folder / 'host_key.pub')}")
    await connects(name)


@one
async def test_a_host_known_by_another_type_of_key_is_asked_for_that_one(name, tmp_path, monkeypatch):
    if sshd_module.SSHD is None:
        pytest.skip("no sshd on this machine")
    rsa = tmp_path / "host_rsa"
    sshd_module.keygen("-t", "rsa", "-b", "2048", "-N", "", "-f", str(rsa))
    server = sshd_module.start(tmp_path / "sshd", options=(f"HostKey {rsa}",))
    try:
        for variable, value in server.environ().items():
            monkeypatch.setenv(variable, value)
        known(server, f"[127.0.0.1]:{server.port} {key_of(rsa.with_suffix('.pub'))}")
        await connects(name)
    finally:
        server.stop()


@pytest.fixture
def certified(tmp_path, monkeypatch) -> Iterator[tuple[Sshd, Path]]:
    """A server whose key an authority has signed, and the authority."""
    if sshd_module.SSHD is None:
        pytest.skip("no sshd on this machine")
    authority = tmp_path / "authority"
    sshd_module.keygen("-t", "ed25519", "-N", "", "-f", str(authority))
    server = sshd_module.start(tmp_path / "sshd", trusted=False, authority=authority)
    for variable, value in server.environ().items():
        monkeypatch.setenv(variable, value)
    yield server, authority.with_suffix(".pub")
    server.stop()


@pytest.mark.parametrize("name", ["asyncssh", "openssh"])
async def test_a_certificate_of_a_known_authority_is_enough(name, certified):
    server, authority = certified
    path = known(server, f"@cert-authority *.example,[127.0.0.*]:* {key_of(authority)}")
    await connects(name)
    await forget(server)
    path.write_text(path.read_text() + f"@revoked * {key_of(authority)}\n")
    with refused(NODE):
        await connects(name)


async def test_an_authority_that_did_not_sign_is_not_enough(certified):
    server, _ = certified
    path = known(server, f"@cert-authority * {key_of(server.ssh / 'id_ed25519.pub')}")
    with refused("the host key of", "certificate of the authority ssh-ed25519 SHA256:", f"{path}:1"):
        await connects("asyncssh")
    with refused("the host key of", NODE):
        await connects("openssh")


async def test_paramiko_says_that_it_saw_no_certificate(certified):
    server, authority = certified
    path = known(server, f"@cert-authority * {key_of(authority)}")
    with refused("is not known", f"{path}:1 trusts an authority"):
        await connects("paramiko")


@one
async def test_without_a_line_of_an_authority_the_plain_key_counts(name, certified):
    server, _ = certified
    known(server, f"[127.0.0.1]:{server.port} {key_of(server.folder / 'host_key.pub')}")
    await connects(name)
