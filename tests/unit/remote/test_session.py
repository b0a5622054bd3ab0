"""A session over whatever order of breaks a network makes: readings are answered, and no change is ever sent twice."""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from console.errors import NodeLost, Unreachable
from console.remote import backoff, session
from console.remote.bootstrap import AgentSettings
from console.remote.bundle import Bundle
from console.remote.session import LinkLost, Session
from console.remote.transports.failures import NotLetIn
from remote_agent.protocol import MAGIC, PROTOCOL, Hello, encode_line, to_wire
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BUNDLE = Bundle(b"zip", "0" * 64)
LEGAL = {
    "connecting": {"connected"},
    "connected": {"heartbeat-missed", "reconnecting", "disconnected"},
    "heartbeat-missed": {"connected", "reconnecting", "disconnected"},
    "reconnecting": {"reconnecting", "connected", "disconnected"},
    "disconnected": set(),
}


@dataclass(frozen=True, slots=True)
class Life:
    """One connection: refused, or `answers` calls are answered and the next one ends it."""

    answers: int = 0
    end: Literal["eof", "error", "garbage"] = "eof"
    refused: Literal["", "for now", "for good"] = ""


@dataclass(slots=True)
class Network:
    """A transport over a list of lives; the last one is for ever. Remembers which changes came through."""

    lives: list[Life]
    boot_ids: Iterator[str] | None = None
    name: str = "network"
    came: list[str] = field(default_factory=list)
    connects: int = 0

    async def connect(self) -> None:
        self.connects += 1
        refused = self._life.refused
        if refused:
            if len(self.lives) > 1 and refused == "for now":
                self.lives.pop(0)
            raise (NotLetIn if refused == "for good" else Unreachable)(f"refused {refused}")

    async def open(self, _argv: Sequence[str]) -> Wire:
        life = self._life
        if len(self.lives) > 1:
            self.lives.pop(0)
        return Wire(self, life)

    async def close(self) -> None:
        return None

    @property
    def _life(self) -> Life:
        return self.lives[0]


class Wire:
    """One channel with an agent at its end."""

    def __init__(self, network: Network, life: Life) -> None:
        self._network = network
        self._left = life.answers
        self._end = life.end
        self._out: asyncio.Queue[bytes] = asyncio.Queue()
        self._closed = asyncio.Event()
        boot = next(network.boot_ids) if network.boot_ids else "boot"
        hello = Hello(MAGIC, PROTOCOL, BUNDLE.sha256, network.connects, "3.11", boot, "machine", False, "")
        self._out.put_nowait(encode_line({"jsonrpc": "2.0", "method": "agent.hello", "params": to_wire(hello)}))

    async def read(self, _limit: int) -> bytes:
        data = await self._out.get()
        if data == b"error":
            raise ConnectionError("reset by peer")
        return data

    async def read_error(self, _limit: int) -> bytes:
        await self._closed.wait()
        return b""

    async def write(self, data: bytes) -> None:
        call: dict[str, Any] = json.loads(data)
        if "id" not in call:
            return
        self._network.came.append(str(call["params"].get("change", "")))
        if self._left == 0:
            self._break()
            return
        self._left -= 1
        self._out.put_nowait(encode_line({"jsonrpc": "2.0", "id": call["id"], "result": call["params"]}))

    def _break(self) -> None:
        if self._end == "garbage":
            self._out.put_nowait(b'{"jsonrpc": "2.0", "id": 1, "res\n\x00\xff\n')
        self._out.put_nowait(b"error" if self._end == "error" else b"")

    def write_eof(self) -> None:
        return None

    async def wait(self) -> int | None:
        return None

    def close(self) -> None:
        self._closed.set()


GOOD = Life(answers=1000)
lives = some.lists(
    some.builds(
        Life,
        answers=some.integers(0, 3),
        end=some.sampled_from(["eof", "error", "garbage"]),
        refused=some.sampled_from(["", "", "for now"]),
    ),
    max_size=6,
)


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backoff, "BACKOFF_S", (0.0,))
        yield


async def opened(network: Network) -> Session:
    made = Session(network, BUNDLE, AgentSettings(), reconnect=True)  # type: ignore[arg-type]
    await made.open()
    return made


@settings(max_examples=examples(60))
@given(lives, some.lists(some.sampled_from(["read", "change"]), min_size=1, max_size=8))
def test_whatever_breaks_readings_are_answered_and_changes_are_sent_once(between, calls):
    async def walk() -> None:
        network = Network([Life(answers=1), *between, GOOD])
        link = await opened(network)
        states = ["connected"]
        link.watch(lambda now: states.append(now.name))
        try:
            for number, kind in enumerate(calls):
                if kind == "read":
                    assert await link.read("node.ping", {"n": number}) == {"n": number}
                else:
                    await changed(link, network, f"change {number}")
        finally:
            await link.close()
        for before, after in itertools.pairwise(states):
            assert after in LEGAL[before], states

    asyncio.run(walk())


async def changed(link: Session, network: Network, name: str) -> None:
    """Answered, and then it came through once; or not answered, and then it is not known: it came once, or never."""
    await link.up()
    try:
        answer = await link.call("files.apply", {"change": name})
    except LinkLost:
        assert network.came.count(name) <= 1
    else:
        assert answer == {"change": name}
        assert network.came.count(name) == 1


@settings(max_examples=30)
@given(some.lists(some.sampled_from(["a", "b"]), min_size=2, max_size=5))
def test_a_boot_id_that_changed_is_told_and_one_that_did_not_is_not(boots):
    async def walk() -> None:
        network = Network([*(Life(answers=1) for _ in boots[:-1]), GOOD], boot_ids=iter(boots))
        link = await opened(network)
        told = []
        link.watch(lambda now: told.append(link.meanwhile) if now.name == "connected" else None)
        try:
            for _ in range(2 * len(boots)):
                await link.read("node.ping", {})
        finally:
            await link.close()
        restarted = [before != after for before, after in itertools.pairwise(boots)]
        assert ["restarted" in each for each in told] == restarted[: len(told)]
        assert len(told) == len(restarted)

    asyncio.run(walk())


async def test_a_refusal_for_good_ends_it_with_its_reason_and_fails_what_waits():
    network = Network([Life(answers=0), Life(refused="for good")])
    link = await opened(network)
    with pytest.raises(LinkLost):
        await link.read("node.ping", {})
    with pytest.raises(Unreachable, match="refused for good"):
        await link.connected()
    assert (link.link.name, network.connects) == ("disconnected", 2)
    await link.close()


async def test_a_reading_that_breaks_every_link_is_given_up(monkeypatch):
    monkeypatch.setattr(session, "READ_TRIES", 4)
    network = Network([Life(answers=0)])
    link = await opened(network)
    with pytest.raises(NodeLost):
        await link.read("node.ping", {"change": "the same"})
    assert network.came.count("the same") == 4
    await link.close()
