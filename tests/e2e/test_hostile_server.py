"""A server of another make that fails in every way it can: each ends in a state, or an error, that has a name."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from console.errors import AgentStartFailed, ConsoleError, NodeLost, Unreachable
from console.remote import bootstrap, session
from tests.e2e import ways
from tests.e2e.scripted_server import Script, ScriptedServer
from tests.e2e.ways import NODE, SSH, by, outcome, way
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from console.remote.prompts import Question

pytestmark = pytest.mark.sshd  # for OpenSSH's client, and because a server of the tests is used
one = by("asyncssh")
each = pytest.mark.parametrize("name", SSH)


@pytest.fixture
def serve(tmp_path, monkeypatch) -> Iterator[Callable[[Script], ScriptedServer]]:
    made: list[ScriptedServer] = []

    def start(script: Script) -> ScriptedServer:
        made.append(ScriptedServer(tmp_path / "server", script))
        for name, value in made[-1].environ().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        return made[-1]

    yield start
    for server in made:
        server.stop()


@contextmanager
def named(kind: type[ConsoleError], *words: str) -> Iterator[None]:
    with pytest.raises(kind) as caught:
        yield
    for word in words:
        assert word in caught.value.message


@each
async def test_a_server_that_refuses_all_but_commands_is_enough(name, serve):
    server = serve(Script())
    async with ways.agent(name) as agent:
        assert agent.session.uploaded
        assert (await agent.paths(["/"]))[0].kind == "dir"
    assert server.refused == [], "neither sftp nor a forward was asked for"


@each
async def test_a_server_that_hangs_up_at_once(name, serve):
    serve(Script(cut_at_start=True))
    with named(Unreachable, f"{NODE} cannot be reached"):
        async with way(name):
            pass


@one
async def test_a_server_without_sessions(name, serve):
    serve(Script(sessions=False))
    with pytest.raises((Unreachable, AgentStartFailed)) as caught:
        async with ways.agent(name):
            pass
    assert "no channel for a command" in caught.value.message or "broke before" in caught.value.message


@one
async def test_garbage_before_the_hello_is_passed_over(name, serve):
    serve(Script(before=b'\x00\xff{"jsonrpc": \x1b]52;c;AAAA\x07\n' * 20))
    async with ways.agent(name) as agent:
        assert (await agent.paths(["/"]))[0].kind == "dir"


@one
async def test_garbage_without_end_is_given_up(name, serve):
    serve(Script(before=b"a login banner\n" * 6000, hello="never"))
    with named(AgentStartFailed, "printed 64 kB and no hello"):
        async with ways.agent(name):
            pass


@one
async def test_a_hello_that_breaks_off(name, serve):
    serve(Script(hello="half"))
    with named(AgentStartFailed, "the connection broke before the agent said hello"):
        async with ways.agent(name):
            pass


@one
async def test_a_hello_that_never_comes(name, serve, monkeypatch):
    monkeypatch.setattr(bootstrap, "HELLO_TIMEOUT_S", 3.0)
    serve(Script(hello="never"))
    with named(AgentStartFailed, "no hello within 3 s"):
        async with ways.agent(name):
            pass


@one
async def test_an_answer_that_breaks_off_in_the_middle(name, serve):
    serve(Script(after="half"))
    async with ways.agent(name) as agent:
        with named(NodeLost, "the connection to the node was lost"):
            await agent.paths(["/"])
        await until(lambda: agent.session.link.name == "disconnected")
        assert agent.session.link.reason


@one
async def test_an_answer_that_never_comes_is_found_by_the_heartbeat(name, serve, monkeypatch):
    monkeypatch.setattr(session, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(session, "LOST_AFTER_S", 1.0)
    serve(Script(after="never"))
    states: list[str] = []
    async with ways.agent(name) as agent:
        agent.session.watch(lambda link: states.append(link.name))
        with named(NodeLost, "the connection to the node was lost", "nothing heard for"):
            await agent.paths(["/"])
        await until(lambda: agent.session.link.name == "disconnected")
    assert states[0] == "heartbeat-missed"


def answering(*answers: str | None) -> tuple[list[str], Callable[[Question], object]]:
    """Somebody who gives these answers in turn; and what was asked."""
    asked: list[str] = []
    left = list(answers)

    async def ask(question: Question) -> str | None:
        asked.append(question.text)
        return left.pop(0) if left else None

    return asked, ask


@each
async def test_a_password_is_asked_for(name, serve):
    serve(Script(password="open sesame"))
    asked, ask = answering("open sesame")
    async with way(name, ask=ask) as transport:
        assert (await outcome(transport, ["echo", "in"]))[1] == b"in\n"
    assert len(asked) == 1
    assert "password" in asked[0].lower()


@one
async def test_a_password_and_a_code_are_asked_for(name, serve):
    serve(Script(codes=("secret", "123 456")))
    asked, ask = answering("secret", "123 456")
    async with way(name, ask=ask) as transport:
        assert (await outcome(transport, ["echo", "in"]))[1] == b"in\n"
    assert ["Password" in asked[0], "Code" in asked[1], len(asked)] == [True, True, 2]


@one
async def test_nobody_is_asked_where_nobody_is(name, serve):
    serve(Script(password="open sesame"))
    with named(Unreachable, f"{NODE} refused us"):
        async with way(name):
            pass


@one
async def test_a_wrong_answer_or_none_is_refused(name, serve):
    serve(Script(password="open sesame"))
    _, ask = answering("wrong")
    with named(Unreachable, f"{NODE} refused us"):
        async with asyncio.timeout(60), way(name, ask=ask):
            pass
