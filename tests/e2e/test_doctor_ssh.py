"""doctor NODE over a real sshd: every try to log in, a chatty shell, a line that large packets do not pass."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from console.actions.checkup import account, facts_script, link, login, talk
from console.errors import Unreachable
from tests.e2e import sshd as sshd_module
from tests.e2e.ways import NODE, by, forget, make, way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.checkup.check import Check
    from tests.e2e.sshd import Sshd

pytestmark = pytest.mark.sshd
each = pytest.mark.parametrize("name", ["asyncssh", "openssh", "paramiko"])


async def logged_in(name: str, host: str = NODE) -> tuple[list[Check], Exception | None]:
    """The doctor's lines on a login, and what came of it."""
    transport, error = make(name, host), None
    with login.watched(transport) as heard:
        try:
            await transport.connect()
        except Unreachable as caught:
            error = caught
    found = list(login.checks(transport, login.logins(transport, heard, host)))
    await transport.close()
    return found, error


@each
async def test_each_try_to_log_in_is_told_with_what_became_of_it(name, sshd):
    other = sshd.ssh / "id_other"
    sshd_module.keygen("-t", "ed25519", "-N", "", "-f", str(other))
    sshd.configure(f"Host {NODE}", f"  IdentityFile {other}")
    (check,), error = await logged_in(name)
    assert (check.state, error) == ("ok", None)
    assert [each["outcome"] for each in check.values["attempts"]] == ["refused", "accepted"]
    assert {each["method"] for each in check.values["attempts"]} == {"publickey"}
    if name != "asyncssh":  # which does not say which key it shows
        assert str(other) in check.values["attempts"][0]["credential"]
    (sshd.folder / "authorized_keys").write_text("")
    await forget(sshd)
    (check,), error = await logged_in(name)
    assert isinstance(error, Unreachable)
    assert check.state == "bad"
    assert [each["outcome"] for each in check.values["attempts"]] == ["refused", "refused"]
    if name != "paramiko":  # which tells it only of a method that is not taken
        assert check.values["offered"] == ["publickey"]
    assert "authorized_keys" in check.hint


@pytest.mark.parametrize("name", ["asyncssh", "openssh"])
async def test_a_login_of_two_factors_tells_the_first_as_not_enough(name, tmp_path, monkeypatch):
    server = sshd_module.start(tmp_path / "sshd", options=("AuthenticationMethods publickey,publickey",))
    try:
        for variable, value in server.environ().items():
            monkeypatch.setenv(variable, value)
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        second = server.ssh / "id_second"
        sshd_module.keygen("-t", "ed25519", "-N", "", "-f", str(second))
        server.configure(f"Host {NODE}", f"  IdentityFile {second}")
        keys = [path.read_text() for path in server.ssh.glob("*.pub")]
        (server.folder / "authorized_keys").write_text("".join(keys))
        (check,), error = await logged_in(name)
    finally:
        server.stop()
    assert (check.state, error) == ("ok", None)
    assert [each["outcome"] for each in check.values["attempts"]] == ["not enough", "accepted"]


async def test_over_a_master_that_was_there_nothing_is_claimed_of_the_login(sshd):
    assert (await logged_in("openssh"))[0][0].state == "ok"
    (check,), error = await logged_in("openssh")
    assert (check.state, error) == ("unknown", None)
    assert "a master connection was there already" in check.told


@pytest.mark.parametrize("name", ["asyncssh", "openssh"])
async def test_every_hop_of_the_way_is_told(name, sshd, tmp_path):
    inner = sshd_module.start(tmp_path / "inner", name="inner")
    try:
        sshd.configure((inner.ssh / "config").read_text(), f"  ProxyJump {NODE}")
        found, _ = await logged_in(name, "inner")
    finally:
        inner.stop()
    assert [check.state for check in found] == ["ok", "ok"]
    assert [check.values["host"] for check in found] == [f"127.0.0.1:{sshd.port}", f"127.0.0.1:{inner.port}"]
    assert "hop 1 of 2" in found[0].told


@by("asyncssh", others=("asyncssh", "openssh"))
@pytest.mark.parametrize("shell", ["sh", "tcsh", "fish"])
async def test_the_account_is_looked_at_through_any_shell_and_what_it_prints_is_told(
    name, shell, tmp_path, monkeypatch
):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on this machine (Debian: apt-get install {shell})")
    talk_first = "printf 'Welcome \\033]52;c;AAAA\\007'; echo"
    forced = f'ForceCommand {talk_first}; exec {program} -c "$SSH_ORIGINAL_COMMAND"'
    server = sshd_module.start(tmp_path / "sshd", options=(forced,))
    try:
        for variable, value in server.environ().items():
            monkeypatch.setenv(variable, value)
        script = facts_script.script(("sh",), None)
        async with way(name) as transport, talk.talk(transport, (), script) as talking:
            facts, noise = facts_script.read(await talking.rest()), talking.noise
    finally:
        server.stop()
    assert facts.whole
    assert (facts.get("home"), facts.get("home-writes")) == (str(server.home), "yes")
    said = account.chatter(noise)
    assert (said.state, said.values["bytes"]) == ("warn", len("Welcome \x1b]52;c;AAAA\x07\n"))
    assert "Welcome ␛]52;c;AAAA␇␊" in said.told


@pytest.fixture
def narrow(sshd: Sshd) -> Iterator[Sshd]:
    """The way to the server through a hop that swallows what is large, as a tunnel without path MTU discovery."""
    hop = Narrow(sshd.port)
    config = (sshd.ssh / "config").read_text()
    (sshd.ssh / "config").write_text(config.replace(f"Port {sshd.port}", f"Port {hop.port}"))
    known = (sshd.ssh / "known_hosts").read_text()
    (sshd.ssh / "known_hosts").write_text(known.replace(f"]:{sshd.port}", f"]:{hop.port}"))
    yield sshd
    hop.close()


class Narrow:
    """Forwards one connection; the first read of more than LARGEST bytes ends the forwarding in that direction."""

    LARGEST = 8192

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        for each in (self._listening, *self._open):
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._open += [near, far]
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=(a, b), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if len(data) > self.LARGEST:
                    return
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


async def test_a_line_that_only_small_packets_pass_is_told_before_the_agent_hangs_on_it(narrow, monkeypatch):
    monkeypatch.setattr(talk, "ANSWER_S", 2.0)
    async with way("asyncssh") as transport:
        found = [check async for check in link.checks(transport, ())]
    assert [(check.id, check.state) for check in found] == [("link.round-trip", "ok"), ("link.large-up", "bad")]
    assert "small messages passed" in found[1].told
    assert "MTU" in found[1].hint
