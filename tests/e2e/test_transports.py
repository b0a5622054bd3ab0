"""One contract over the four transports; those of SSH against Debian's own OpenSSH server."""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from console.errors import Unreachable
from tests.e2e import sshd as sshd_module
from tests.e2e import ways
from tests.e2e.ways import ALL, NODE, SSH, outcome, way
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.sshd import Sshd

pytestmark = pytest.mark.sshd


@pytest.fixture(scope="module", autouse=True)
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """One server for all tests here: they only run commands on it."""
    if sshd_module.SSHD is None:
        pytest.skip("no sshd on this machine (Debian: apt-get install openssh-server)")
    server = sshd_module.start(tmp_path_factory.mktemp("transports") / "sshd")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environ().items():
            patch.setenv(name, value)
        for name in ("SSH_AUTH_SOCK", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        yield server
    server.stop()


each = pytest.mark.parametrize("name", ALL)


@each
async def test_a_command_has_its_output_its_errors_and_its_status(name):
    async with way(name) as transport:
        found = await outcome(transport, ["sh", "-c", "echo out; echo err >&2; exit 7"])
    assert found == (7, b"out\n", b"err\n")


@each
async def test_every_byte_passes_unchanged_to_the_command_and_back(name):
    data = bytes(range(256)) * 64 + b"\r\n~.\n~~\x04\x03"
    async with way(name) as transport:
        assert await outcome(transport, ["cat"], data) == (0, data, b"")


@each
async def test_ten_megabytes_pass_in_both_directions_at_once(name):
    data = os.urandom(1 << 20) * 10
    async with way(name) as transport:
        status, output, _ = await outcome(transport, ["cat"], data)
    assert status == 0
    assert hashlib.sha256(output).digest() == hashlib.sha256(data).digest()


@each
async def test_a_flood_of_errors_does_not_hold_up_the_output(name):
    script = "head -c 4000000 /dev/zero >&2; echo done"
    async with way(name) as transport:
        status, output, errors = await outcome(transport, ["sh", "-c", script])
    assert (status, output, len(errors)) == (0, b"done\n", 4_000_000)


@each
async def test_words_arrive_as_they_are(name):
    words = ["a b", "$(id)", "'", '"', "\\", "*", "!", ";", "-n", "", "ü", "\n"]
    async with way(name) as transport:
        status, output, _ = await outcome(transport, ["printf", "%s\\0", *words])
    assert (status, output.decode().split("\0")[:-1]) == (0, words)


@each
async def test_a_command_that_a_signal_ends_has_no_status(name):
    async with way(name) as transport:
        status, output, _ = await outcome(transport, ["sh", "-c", "echo x; kill -9 $$"])
    assert (status, output) == (None, b"x\n")


@each
async def test_a_command_that_is_not_there_is_127(name):
    async with way(name) as transport:
        if name == "local":
            with pytest.raises(Unreachable, match="cannot be started"):
                await transport.open(["no-such-command"])
        else:
            assert (await outcome(transport, ["no-such-command"]))[0] == 127


@each
async def test_letting_go_ends_the_input_of_the_command(name, tmp_path):
    ended = tmp_path / "ended"
    async with way(name) as transport:
        channel = await transport.open(["sh", "-c", 'echo ready; cat; echo > "$0"', str(ended)])
        assert await channel.read(100) == b"ready\n"
        channel.close()
        await until(ended.exists)


@each
async def test_several_commands_run_at_once_and_the_end_of_one_is_not_that_of_another(name):
    async with way(name) as transport:
        stays = await transport.open(["cat"])
        found = await asyncio.gather(*(outcome(transport, ["echo", str(i)]) for i in range(4)))
        assert [output for _, output, _ in found] == [b"0\n", b"1\n", b"2\n", b"3\n"]
        await stays.write(b"still here\n")
        assert await stays.read(100) == b"still here\n"
        stays.write_eof()
        assert await stays.read(100) == b""
        assert await stays.wait() == 0


@each
async def test_nothing_can_be_opened_before_or_after(name):
    transport = ways.make(name)
    if name != "local":
        with pytest.raises(Unreachable, match="not connected"):
            await transport.open(["true"])
    await transport.connect()
    await transport.close()
    await transport.connect()
    assert (await outcome(transport, ["true"]))[0] == 0, "it can be connected again"
    await transport.close()
    await transport.close()


@each
async def test_the_agent_is_uploaded_once_and_answers(name, tmp_path):
    for uploaded in (True, False):
        async with ways.agent(name, cache_dir=str(tmp_path / "cache")) as agent:
            assert agent.session.uploaded is uploaded
            (root,) = await agent.paths(["/"])
            assert root.kind == "dir"


@pytest.mark.parametrize("name", SSH)
async def test_another_user_is_asked_for_by_name(name, site):
    with pytest.raises(Unreachable, match=f"{NODE} refused us"):
        async with way(name, user="no-such-user"):
            pass
    log = (site.folder / "sshd.log").read_text()
    assert "no-such-user" in log
