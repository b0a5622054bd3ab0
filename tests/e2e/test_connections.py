"""Which transport a node gets and why, masters that are reused, and the nodes verbs; over a real sshd."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from console import yaml_file
from console.errors import Unreachable
from console.remote.transports import openssh
from console.remote.transports.auto import AutoTransport
from tests.cli import Console, free_port
from tests.e2e.ways import NODE, by, forget, outcome, way
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.sshd


async def chosen() -> tuple[str, tuple[str, ...]]:
    transport = AutoTransport(NODE)
    try:
        await transport.connect()
        assert (await outcome(transport, ["echo", "in"]))[1] == b"in\n"
        return transport.name, transport.why
    finally:
        await transport.close()


async def test_asyncssh_where_nothing_speaks_against_it(sshd):
    assert await chosen() == ("asyncssh", ())


async def test_a_master_of_the_user_is_used_and_left_as_it_was(sshd, monkeypatch):
    socket = f"{sshd.runtime}/master-%C"
    sshd.configure(f"Host {NODE}", f"  ControlPath {socket}")
    assert (await chosen())[0] == "asyncssh", "nothing answers there yet"
    await until(lambda: sshd.connections() == [])
    subprocess.run(["ssh", "-M", "-N", "-f", NODE], check=True, stderr=subprocess.DEVNULL)
    name, (why,) = await chosen()
    assert (name, why) == ("openssh", why)
    assert f"a master connection is open at its ControlPath {sshd.runtime}/master-" in why
    assert len(sshd.connections()) == 1, "no second connection was made"
    subprocess.run(["ssh", "-O", "exit", NODE], check=True, stderr=subprocess.DEVNULL)
    assert (await chosen())[0] == "asyncssh"


async def test_a_master_needs_no_key_any_more(sshd):
    """As after a second factor: what let us in once is not there again."""
    async with way("openssh"):
        pass
    (sshd.folder / "authorized_keys").write_text("")
    async with way("openssh") as transport:
        assert (await outcome(transport, ["echo", "in"]))[1] == b"in\n"
    assert len(sshd.connections()) == 1
    await forget(sshd)
    with pytest.raises(Unreachable, match="refused us"):
        async with way("openssh"):
            pass


async def test_a_master_whose_network_is_gone_is_let_go(sshd, monkeypatch):
    monkeypatch.setattr(openssh, "WORKS_S", 1.0)
    async with way("openssh"):
        pass
    (hung,) = sshd.connections()
    os.kill(hung, signal.SIGSTOP)  # as a network that swallows what is sent
    try:
        async with way("openssh") as transport:
            assert (await outcome(transport, ["echo", "in"]))[1] == b"in\n"
    finally:
        os.kill(hung, signal.SIGCONT)


async def test_the_socket_of_our_master_is_nobody_elses(sshd):
    async with way("openssh"):
        folder = sshd.runtime / "spec-console"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (only,) = folder.iterdir()
        assert only.is_socket(), "the log and the askpass of connecting are gone"


async def test_a_folder_that_others_can_enter_is_not_used(sshd):
    folder = sshd.runtime / "spec-console"
    folder.mkdir()
    folder.chmod(0o755)
    async with way("openssh") as transport:
        assert (await outcome(transport, ["true"]))[0] == 0
    assert list(folder.iterdir()) == []


async def test_keys_from_a_command_are_for_openssh(sshd):
    known = sshd.ssh / "known_hosts"
    kept = known.rename(sshd.folder / "kept")
    known.write_text("")
    sshd.configure(f"Host {NODE}", f"  KnownHostsCommand /bin/cat {kept}")
    name, why = await chosen()
    assert (name, why) == ("openssh", ("KnownHostsCommand is set",))


async def test_a_configuration_that_asyncssh_rejects_is_for_openssh(sshd):
    sshd.configure(f"Host {NODE}", f"  Port {sshd.port} # since the move")
    name, (why,) = await chosen()
    assert name == "openssh"
    assert "asyncssh cannot read the configuration" in why


async def test_a_proxy_command_is_followed(sshd):
    config = (sshd.ssh / "config").read_text().replace(NODE, "door")
    sshd.configure(config, f"Host {NODE}", "  ProxyCommand ssh -W %h:%p door")
    assert (await chosen())[0] == "asyncssh"
    assert (sshd.folder / "sshd.log").read_text().count("Accepted publickey") == 2, "one for each of two logins"


def nodes(console: Console, **entries: dict[str, object]) -> None:
    (console.home / "config").mkdir(parents=True, exist_ok=True)
    (console.home / "config" / "nodes.yaml").write_text(yaml_file.dump(entries))


@pytest.fixture
def console(sshd, tmp_path) -> Console:
    return Console(tmp_path / "console", free_port())


@by("auto", others=("auto", "openssh", "paramiko"))
def test_a_verb_goes_the_way_that_the_node_asks_for(console, sshd, name):
    sshd.configure(f"Host {NODE}", "  KnownHostsCommand /bin/true")
    nodes(console, gpu={"host": NODE, "transport": name, "python": "python3"})
    code, told, narration = console.run("agent", "ls", "gpu")
    assert (code, told["ok"]) == (0, True), narration
    assert ("over openssh: KnownHostsCommand is set" in narration) == (name == "auto")


@by("openssh")
def test_a_host_key_that_is_not_known_is_code_3(console, sshd, name):
    (sshd.ssh / "known_hosts").write_text("")
    nodes(console, gpu={"host": NODE, "transport": name})
    code, told, _ = console.run("agent", "ls", "gpu")
    assert code == 3
    assert "is not known: ssh-ed25519 SHA256:" in told["error"]["message"]
    assert "--accept-new-host-key" in told["error"]["hint"]


def test_nodes_are_listed_and_checked_without_being_connected(console, sshd, tmp_path: Path):
    sshd.configure("Host behind", "  HostName 10.9.8.7", f"  ProxyJump {NODE}", "Host odd", "  PKCS11Provider /x.so")
    nodes(
        console,
        near={"host": NODE, "user": "someone", "profile": "kimi-k2.5-eagle3-debug", "log_dirs": ["/srv/logs"]},
        behind={},
        odd={"transport": "asyncssh", "profile": "kimi-k2.5-eagle3-debgu"},
        here={"transport": "local"},
    )
    code, told, _ = console.run("nodes", "list")
    assert code == 0
    assert list(told["nodes"]) == ["near", "behind", "odd", "here"]
    assert told["nodes"]["near"]["log_dirs"] == ["/srv/logs"]

    code, told, _ = console.run("nodes", "check")
    assert (code, told["ok"]) == (1, False)
    found = {each["name"]: each for each in told["nodes"]}
    assert (found["near"]["place"], found["near"]["transport"]) == (f"someone@127.0.0.1:{sshd.port}", "asyncssh")
    assert found["behind"]["place"].endswith(f"@10.9.8.7:22 through {NODE}")
    assert found["here"]["transport"] == "local"
    assert [found[name]["problems"] for name in ("near", "behind", "here")] == [[], [], []]
    profile, provider = found["odd"]["problems"]
    assert "nearest: kimi-k2.5-eagle3-debug" in profile
    assert "PKCS11Provider is set: that needs openssh" in provider
    assert "Accepted" not in (sshd.folder / "sshd.log").read_text()
    assert console.run("nodes", "check", "near", NODE)[0] == 0, "an ssh name needs no entry"
    assert console.run("nodes", "check", "-oProxyCommand=x")[0] == 2


def test_every_error_of_the_inventory_is_told(console):
    (console.home / "config").mkdir(parents=True)
    (console.home / "config" / "nodes.yaml").write_text("gpu:\n  transprot: openssh\n  user: a b\n")
    for verb in ("list", "check"):
        code, told, _ = console.run("nodes", verb)
        assert code == 2
        assert "nearest: transport" in json.dumps(told["error"])


def test_a_verb_takes_the_profile_of_its_node_where_none_is_named(console, sshd):
    nodes(
        console, gpu={"host": NODE, "python": "python3"}, own={"host": NODE, "python": "python3", "profile": "no-such"}
    )
    code, told, _ = console.run("launch", "gpu", "--dry-run")
    assert (code, told["error"]["message"]) == (2, "no profile is named")
    for verb in ("launch", "runbook"):
        code, told, _ = console.run(verb, "own", "--dry-run")
        assert (code, told["error"]["message"]) == (2, "no profile is called 'no-such'")


def test_the_doctor_tells_what_counts_on_the_way_and_what_the_connection_is_like(console, sshd):
    sshd.configure(f"Host {NODE}", "  LocalForward 1 localhost:2", "  IPQoS none", "  StrictHostKeyChecking no")
    nodes(console, gpu={"host": NODE, "python": "python3"})
    code, told, narration = console.run("doctor", "gpu")
    assert code == 0, narration
    states = {each["name"]: each["state"] for each in told["configuration"]["options"]}
    assert (states["port"], states["identityfile"]) == ("honoured", "honoured")
    assert (states["localforward"], states["ipqos"]) == ("left out", "ignored")
    assert states["stricthostkeychecking"] == "by our own rule"
    assert told["configuration"]["place"].endswith(f"@127.0.0.1:{sshd.port}")
    found = told["connection"]
    assert (found["transport"], found["uploaded"], found["readonly"]) == ("asyncssh", True, False)
    assert 0 < found["round_trip_s"] < found["hello_s"]
    checks = {each["id"]: each for each in told["checks"]}
    assert [checks[name]["state"] for name in ("login", "link.large-up", "clock", "home", "agent")] == ["ok"] * 5
    assert checks["home"]["values"]["path"] == str(sshd.home)
    (sshd.folder / "authorized_keys").write_text("")
    code, told, narration = console.run("doctor", "gpu")
    assert (code, told["ok"]) == (3, False)
    assert "refused us" in told["error"]["message"]
    assert told["configuration"]["transport"] == "asyncssh", "the way is told all the same"
    assert [(each["id"], each["state"]) for each in told["checks"]] == [("login", "bad")]
