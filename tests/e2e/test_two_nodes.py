"""Two nodes in network namespaces of their own, one cut off by its link: greyed with its age, the other unhurt."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest

from console import paths, yaml_file
from console.cli._nodes import make_node
from console.cli._shared import Options
from console.remote import backoff, heartbeat
from console.remote.transports import asyncssh_
from console.tui.app import ConsoleApp
from tests.e2e import sshd as sshd_module
from tests.tui.driver import Driver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from console.tui.open_nodes import OpenNode
    from tests.e2e.sshd import Sshd

pytestmark = pytest.mark.sshd
NAMES = ("gpu-node-1", "gpu-node-2")
OPTIONS = Options("connect", as_json=False, yes=False, dry_run=False, readonly=False, accept_new_host_key=False)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace behind a link: this machine has `.1` of it, the namespace `.2`."""

    number: int

    @property
    def name(self) -> str:
        return f"sc{os.getpid()}n{self.number}"

    @property
    def link(self) -> str:
        return f"scv{os.getpid() % 100000}n{self.number}"

    @property
    def address(self) -> str:
        return f"10.231.{self.number}.2"

    def make(self) -> None:
        ip("netns", "add", self.name)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("address", "add", f"10.231.{self.number}.1/30", "dev", self.link)
        ip("link", "set", self.link, "up")
        for words in (("address", "add", f"{self.address}/30", "dev", "eth0"), ("link", "set", "eth0", "up")):
            ip("-n", self.name, *words)
        ip("-n", self.name, "link", "set", "lo", "up")

    def remove(self) -> None:
        for words in (("link", "delete", self.link), ("netns", "delete", self.name)):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip(*words)


def why_not() -> str:
    """Why there can be no namespaces here; empty when there can."""
    if sshd_module.SSHD is None:
        return "no sshd on this machine (Debian: apt-get install openssh-server)"
    place = Place(9)
    try:
        place.make()
    except FileNotFoundError:
        return "no `ip` on this machine (Debian: apt-get install iproute2)"
    except subprocess.CalledProcessError as error:
        return f"no network namespaces here: {error.stderr.decode().strip()}"
    finally:
        with contextlib.suppress(FileNotFoundError):
            place.remove()
    return ""


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Place]]:
    """Two of them, known to the user's ssh_config by NAMES."""
    if why := why_not():
        pytest.skip(why)
    places, servers = [Place(1), Place(2)], []
    try:
        for name, place in zip(NAMES, places, strict=True):
            place.make()
            under = ("ip", "netns", "exec", place.name)
            servers.append(sshd_module.start(tmp_path / name, name=name, address=place.address, prefix=under))
        know(servers)
        for key, value in servers[0].environ().items():
            monkeypatch.setenv(key, value)
        for key in ("SSH_AUTH_SOCK", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            monkeypatch.delenv(key, raising=False)
        configure(tmp_path, monkeypatch)
        yield places
    finally:
        for server in servers:
            server.stop()
        for place in places:
            place.remove()


def know(servers: list[Sshd]) -> None:
    first, second = servers
    first.configure((second.ssh / "config").read_text())


def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "console"
    (home / "config").mkdir(parents=True)
    entries = {
        name: {"python": [sys.executable], "gpu_source": "none", "lock_dir": str(tmp_path / name)} for name in NAMES
    }
    (home / "config" / "nodes.yaml").write_text(yaml_file.dump(entries))
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(home))
    monkeypatch.setattr(heartbeat, "HEARTBEAT_S", 0.3)
    monkeypatch.setattr(heartbeat, "LOST_AFTER_S", 1.5)
    monkeypatch.setattr(backoff, "BACKOFF_S", (0.1, 0.3))
    monkeypatch.setattr(
        asyncssh_, "CONNECT_TIMEOUT_S", 2.0
    )  # without its link a packet goes out by another, and is lost


async def test_one_of_two_nodes_is_cut_off_and_comes_back(nodes):
    first, second = (partial(make_node, name, OPTIONS, paths.locate(), reconnect=True) for name in NAMES)
    app = ConsoleApp(NAMES[0], first, others=[(NAMES[1], second)])
    async with app.run_test(size=(160, 50), notifications=True) as pilot:
        driver = Driver(app, pilot)
        a, b = app.nodes.all
        await driver.until(lambda: bool(a.state.node.facts and b.state.node.facts))
        await driver.until_shown(f"[{NAMES[0]} no GPUs]  {NAMES[1]} no GPUs")
        ip("link", "set", nodes[0].link, "down")
        await driver.until(lambda: a.state.link.name == "reconnecting" and a.state.link.age_s >= 2)
        await driver.until_shown("as of")
        assert app.screen.has_class("-stale")
        assert "(not live, " in driver.screen()
        assert a.state.node.facts, "the last known state is kept"
        await goes_on(driver, b)
        await driver.press("right_square_bracket")
        await driver.until_shown(f"[{NAMES[1]} no GPUs]")
        assert not app.screen.has_class("-stale")
        assert f"{NAMES[0]} no GPUs reconnecting" in driver.screen()
        ip("link", "set", nodes[0].link, "up")
        await driver.until(lambda: a.state.link.name == "connected")
        await goes_on(driver, a)
        assert b.state.link.name == "connected"
        assert a.state.node.hello.boot_id == b.state.node.hello.boot_id, "two namespaces of one machine"


async def goes_on(driver: Driver, node: OpenNode) -> None:
    sample = node.state.gpus.sample
    await driver.until(lambda: node.state.gpus.sample is not sample)
    assert node.state.link.name == "connected"
