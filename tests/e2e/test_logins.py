"""How each SSH transport logs in to a real sshd, and through another one; what the account's shell does on the way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from console.errors import AgentStartFailed, Unreachable
from tests.e2e import sshd as sshd_module
from tests.e2e import ways
from tests.e2e.ways import NODE, SSH, by, outcome, way

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.sshd import Sshd

pytestmark = pytest.mark.sshd
each = pytest.mark.parametrize("name", SSH)
one = by("asyncssh")
both = by("asyncssh", others=("asyncssh", "openssh"))
"""What a shell does to a command does not depend on who sent it: once by default."""


async def connects(name: str, host: str = NODE) -> None:
    async with way(name, host) as transport:
        assert (await outcome(transport, ["true"]))[0] == 0


def authorize(sshd: Sshd, line: str) -> None:
    (sshd.folder / "authorized_keys").write_text(line + "\n")


def use_key(sshd: Sshd, *words: str) -> Path:
    """Make the user's key anew, as another one."""
    key = sshd.ssh / "id_ed25519"
    for path in (key, key.with_suffix(".pub")):
        path.unlink()
    sshd_module.keygen(*words, "-N", "", "-f", str(key))
    return key


@one
async def test_an_rsa_key(name, sshd):
    authorize(sshd, use_key(sshd, "-t", "rsa", "-b", "2048").with_suffix(".pub").read_text())
    await connects(name)


@each
async def test_a_certificate_of_the_user(name, sshd, tmp_path):
    authority = tmp_path / "authority"
    sshd_module.keygen("-t", "ed25519", "-N", "", "-f", str(authority))
    key = sshd.ssh / "id_ed25519.pub"
    user = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
    sshd_module.keygen("-s", str(authority), "-I", "me", "-n", user, str(key))
    authorize(sshd, "cert-authority " + authority.with_suffix(".pub").read_text())
    await connects(name)
    (sshd.ssh / "id_ed25519-cert.pub").unlink()
    await ways.forget(sshd)
    with pytest.raises(Unreachable, match=f"{NODE} refused us"):
        await connects(name)


@pytest.fixture
def agent_socket(tmp_path, monkeypatch) -> Iterator[None]:
    """An ssh-agent without keys."""
    told = subprocess.run(["ssh-agent", "-s"], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"(SSH_\w+)=([^;]+);", told)
    for variable, value in found:
        monkeypatch.setenv(variable, value)
    yield
    subprocess.run(["ssh-agent", "-k"], check=True, capture_output=True, env={**os.environ, **dict(found)})


@each
async def test_a_key_of_the_agent_that_is_in_no_file(name, sshd, agent_socket):
    key = sshd.ssh / "id_ed25519"
    subprocess.run(["ssh-add", "-q", str(key)], check=True, capture_output=True)
    key.unlink()
    sshd.configure(f"Host {NODE}", "  IdentitiesOnly no")
    await connects(name)


@pytest.mark.parametrize("name", ["asyncssh", "openssh"])
async def test_through_a_jump_host(name, sshd, tmp_path):
    inner = sshd_module.start(tmp_path / "inner", name="inner")
    try:
        sshd.configure((inner.ssh / "config").read_text(), f"  ProxyJump {NODE}")
        async with way(name, "inner") as transport:
            _, output, _ = await outcome(transport, ["sh", "-c", "echo $HOME"])
            assert output.decode().strip() == str(inner.home)
            assert len(sshd.connections()) == 1, "it went through the jump host"
        await ways.forget(inner)
        (sshd.ssh / "known_hosts").write_text("")
        with pytest.raises(Unreachable, match=r"the host key of the jump host .* is not known: \S+ SHA256:"):
            await connects(name, "inner")
    finally:
        inner.stop()


async def test_paramiko_says_that_it_goes_through_nothing(sshd):
    sshd.configure(f"Host {NODE}", "  ProxyJump bastion")
    with pytest.raises(Unreachable, match=r"proxyjump bastion, which the paramiko transport cannot do") as caught:
        await connects("paramiko")
    assert "openssh" in caught.value.hint


@each
async def test_a_session_wants_nothing_of_what_the_user_has_set_for_a_terminal(name, sshd):
    lines = (
        "RemoteCommand tmux attach",
        "RequestTTY force",
        f"LocalForward {sshd.port} localhost:22",
        "ForwardX11 yes",
    )
    sshd.configure(f"Host {NODE}", *(f"  {line}" for line in lines))
    data = bytes(range(256))
    async with way(name) as transport:
        assert await outcome(transport, ["cat"], data) == (0, data, b"")


@both
@pytest.mark.parametrize("shell", ["tcsh", "fish", "dash"])
async def test_another_login_shell(name, shell, tmp_path, monkeypatch):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on this machine (Debian: apt-get install {shell})")
    # sshd runs a command as `shell -c command`: so does this, for an account whose shell is another.
    forced = f'ForceCommand exec {program} -c "$SSH_ORIGINAL_COMMAND"'
    async with _agent(name, tmp_path, monkeypatch, forced) as agent:
        assert agent.session.uploaded
        assert agent.hello.pid


@both
async def test_a_shell_that_talks_before_it_obeys(name, tmp_path, monkeypatch):
    forced = "ForceCommand echo 'Welcome! {'; printf 'no newline'; echo; exec sh -c \"$SSH_ORIGINAL_COMMAND\""
    banner = tmp_path / "banner"
    banner.write_text("AUTHORIZED USE ONLY\n")
    async with _agent(name, tmp_path, monkeypatch, forced, f"Banner {banner}") as agent:
        assert (await agent.paths(["/"]))[0].kind == "dir"


@both
async def test_a_command_that_the_server_forces_is_named(name, tmp_path, monkeypatch):
    with pytest.raises(AgentStartFailed, match="ran something else in its place") as caught:
        async with _agent(name, tmp_path, monkeypatch, "ForceCommand echo This account is for git only."):
            pass
    assert "This account is for git only." in caught.value.detail
    assert "ForceCommand" in caught.value.hint


@both
async def test_an_account_for_sftp_alone_is_named(name, tmp_path, monkeypatch):
    with pytest.raises(AgentStartFailed, match="ran something else in its place") as caught:
        async with _agent(name, tmp_path, monkeypatch, "ForceCommand internal-sftp"):
            pass
    assert "ForceCommand" in caught.value.hint


@one
async def test_a_key_that_is_restricted_to_a_command_is_named_and_one_without_extras_is_enough(name, sshd):
    key = (sshd.ssh / "id_ed25519.pub").read_text()
    authorize(sshd, f"restrict {key}")
    await connects(name)
    authorize(sshd, f'restrict,command="/bin/false" {key}')
    await ways.forget(sshd)
    with pytest.raises(AgentStartFailed, match="ran something else in its place"):
        async with ways.agent(name):
            pass


@one
async def test_a_server_that_allows_no_session_is_named(name, tmp_path, monkeypatch):
    with pytest.raises((Unreachable, AgentStartFailed)) as caught:
        async with _agent(name, tmp_path, monkeypatch, "MaxSessions 0"):
            pass
    if name == "openssh":  # whose client says so only on its standard error
        assert "the connection broke before the agent said hello" in caught.value.message
        assert "refused by peer" in caught.value.detail
    else:
        assert "no channel for a command" in caught.value.message


def _agent(name: str, tmp_path: Path, patch: pytest.MonkeyPatch, *options: str):
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def connected():
        if sshd_module.SSHD is None:
            pytest.skip("no sshd on this machine")
        server = sshd_module.start(tmp_path / "sshd", options=options)
        for variable, value in server.environ().items():
            patch.setenv(variable, value)
        try:
            async with ways.agent(name) as agent:
                yield agent
        finally:
            server.stop()

    return connected()
