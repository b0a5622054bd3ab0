"""The transport, the bootstrap and the session against Debian's own OpenSSH server."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from console import yaml_file
from console.demo.setup import prepare
from console.errors import AgentStartFailed, Refused, Unreachable
from console.remote import bundle
from console.remote.agent import Agent
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session
from console.remote.transports.asyncssh_ import AsyncsshTransport
from tests.cli import SMALL_LOAD, Console, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.sshd
NODE = "gpu-node-1"


@asynccontextmanager
async def _connect(host: str = NODE, *, accept: bool = False, **settings: object) -> AsyncIterator[Agent]:
    transport = AsyncsshTransport(host, accept_new_host_key=accept)
    session = Session(transport, bundle.build(), AgentSettings(**settings), reconnect=True)  # type: ignore[arg-type]
    try:
        await session.open()
        yield Agent(session, "tester@here")
    finally:
        await session.close()


async def test_the_second_connect_uploads_nothing(sshd):
    async with _connect() as agent:
        assert agent.session.uploaded
        assert (await agent.facts()).home == str(sshd.home)
    async with _connect() as agent:
        assert not agent.session.uploaded
    cache = sshd.home / ".cache" / "spec-console"
    assert [path.suffix for path in cache.iterdir()] == [".pyz"]


async def test_an_unknown_host_key_is_shown_and_refused_unless_accepted(sshd):
    (sshd.home / ".ssh" / "known_hosts").write_text("")
    with pytest.raises(Unreachable, match=r"is not known: ssh-ed25519 SHA256:") as caught:
        async with _connect():
            pass
    assert "--accept-new-host-key" in caught.value.hint
    async with _connect(accept=True):
        pass
    async with _connect():
        pass


async def test_a_changed_host_key_is_refused_and_its_line_named(sshd):
    known = sshd.home / ".ssh" / "known_hosts"
    other = (sshd.home / ".ssh" / "id_ed25519.pub").read_text().split()
    known.write_text(f"# a comment\n[127.0.0.1]:{sshd.port} {other[0]} {other[1]}\n")
    with pytest.raises(Unreachable, match=rf"CHANGED: it shows ssh-ed25519 SHA256:.*{known}:2 says otherwise"):
        async with _connect(accept=True):
            pass


async def test_refused_auth_says_so(sshd):
    (sshd.folder / "authorized_keys").write_text("")
    with pytest.raises(Unreachable, match=f"{NODE} refused us") as caught:
        async with _connect():
            pass
    assert f"ssh {NODE}" in caught.value.hint


async def test_nobody_there_says_so(sshd):
    sshd.stop()
    with pytest.raises(Unreachable, match="cannot be reached"):
        async with _connect():
            pass


async def test_a_chatty_rc_file_does_no_harm(sshd):
    shell = sshd.home / ".bashrc"
    shell.write_text('echo "welcome to the cluster"; echo "{ not json"\n')
    (sshd.home / ".profile").write_text("echo motd\n")
    async with _connect() as agent:
        assert (await agent.facts()).hostname


async def test_a_node_without_python_is_named(sshd):
    tools = sshd.folder / "bin"
    tools.mkdir()
    for tool in ("sh", "mkdir", "cat", "wc", "mv", "rm"):
        (tools / tool).symlink_to(shutil.which(tool) or "")
    with pytest.raises(AgentStartFailed, match="no Python on the node"):
        async with _connect(exec_prefix=("env", f"PATH={tools}")):
            pass


async def test_an_exec_prefix_that_does_not_run_is_named(sshd):
    with pytest.raises(AgentStartFailed, match="exec prefix does not run"):
        async with _connect(exec_prefix=("no-such-container-tool", "exec")):
            pass


async def test_without_a_writable_home_the_agent_is_read_only_with_the_reason(sshd, tmp_path):
    (tmp_path / "file").write_text("")
    async with _connect(cache_dir=str(tmp_path / "file" / "cache")) as agent:
        assert agent.hello.readonly
        assert "nothing can be written on the node" in agent.hello.readonly_reason
        assert (await agent.facts()).cpu_count > 0
        with pytest.raises(Refused, match="read-only"):
            await agent.terminate([], 1.0, lambda _p: None)


async def test_a_cut_connection_in_mid_log_loses_and_doubles_nothing(sshd, tmp_path):
    log = tmp_path / "x.log"
    content = b"".join(b"[EAGLE3_DEBUG] line %d\n" % i for i in range(400_000))
    log.write_bytes(content)
    states: list[str] = []
    async with _connect() as agent:
        agent.session.watch(lambda link: states.append(link.name))
        got, cuts = b"", 0
        async for part in agent.follow(str(log)):
            assert part.offset == len(got)
            got += part.data
            if cuts < 3 and len(got) > 300_000 * (cuts + 1) and states.count("reconnecting") == cuts:
                # What was read before the last cut may still be coming in: cut when there is a connection again.
                cuts += sshd.cut() > 0
            if len(got) == len(content):
                break
        assert got == content
        assert cuts == 3
    assert states.count("reconnecting") >= 3
    assert not agent.session.uploaded, "nor is anything uploaded again"


def test_the_command_line_gives_exit_code_3_and_says_what_to_do(sshd, tmp_path):
    console = Console(tmp_path / "console", free_port(), {"HOME": str(sshd.home)})
    known = sshd.home / ".ssh" / "known_hosts"
    trusted = known.read_text()
    known.write_text("")
    code, told, _ = console.run("status", NODE)
    assert (code, told["ok"]) == (3, False)
    assert "SHA256:" in told["error"]["message"]
    assert "--accept-new-host-key" in told["error"]["hint"]
    code, told, _ = console.run("status", NODE, "--accept-new-host-key")
    assert code == 0
    assert told["facts"]["home"] == str(sshd.home)
    known.write_text(trusted)
    (sshd.folder / "authorized_keys").write_text("")
    code, told, _ = console.run("status", NODE)
    assert code == 3
    assert "refused us" in told["error"]["message"]


@pytest.mark.slow
def test_the_demo_loop_runs_over_ssh_too(sshd, tmp_path):
    """The embedded node's stand-ins behind a real sshd: free, patch, launch, probe, shapes, stop, revert.

    On every change a real SGLang walks it in tests/sglang_cpu.
    """
    demo = prepare(tmp_path / "demo")
    console = Console(tmp_path / "console", free_port(), {"HOME": str(sshd.home)})
    (console.home / "config").mkdir(parents=True)
    node = {
        "python": [demo.python],
        "variables": demo.variables,
        "env": {**demo.env, "SPEC_CONSOLE_DEMO_LOAD_S": "0.2"},
        "gpu_source": "smi",
        "nvidia_smi": str(demo.nvidia_smi),
        "simulated": True,
        "sets": [f"port={console.port}", *SMALL_LOAD],
    }
    (console.home / "config" / "nodes.yaml").write_text(yaml_file.dump({NODE: node}))
    code, told, narration = console.run("runbook", NODE, "kimi-k2.5-eagle3-debug", "--yes")
    assert code == 0, narration
    assert {step["state"] for step in told["steps"]} == {"done"}
    assert console.run("stop", NODE, "--yes")[0] == 0
    assert console.run("patch", "revert", NODE, "--yes")[0] == 0
    _, status, _ = console.run("status", NODE)
    assert status["patches"] == []
    assert [run for run in status["servers"] if run["children"]] == []
