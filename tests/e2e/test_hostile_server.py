"""A server of another make that fails in every way it can: each ends in a state, or an error, that has a name."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from console.errors import AgentStartFailed, ConsoleError, NodeLost, Unreachable
from console.remote import backoff, bootstrap, heartbeat, session
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


NO_CHANNEL = ((3, "no channel for a command"),)
BROKE = ((4, "the connection broke before the agent said hello"),)
UNREACHED = ((3, f"{NODE} cannot be reached"),)
EITHER = (*NO_CHANNEL, *BROKE)
"""What comes first, the yes or the end, is a race of the server with itself."""
WHERE_IT_ENDS = {
    "cut at the start": (Script(cut_at_start=True), dict.fromkeys(SSH, UNREACHED)),
    # An ssh of OpenSSH tells none of these from a command that ended.
    "no session": (Script(sessions=False), {"asyncssh": NO_CHANNEL, "openssh": BROKE, "paramiko": NO_CHANNEL}),
    "exec refused": (Script(exec="refuse"), {"asyncssh": NO_CHANNEL, "openssh": BROKE, "paramiko": NO_CHANNEL}),
    "closed at exec": (Script(exec="close"), {"asyncssh": EITHER, "openssh": BROKE, "paramiko": EITHER}),
    "hung up at exec": (Script(exec="hang up"), {"asyncssh": EITHER, "openssh": BROKE, "paramiko": EITHER}),
    "half a hello": (Script(hello="half"), dict.fromkeys(SSH, BROKE)),
}
"""What the server does → the exit code and the words of each transport."""


@by("asyncssh", "openssh")
@pytest.mark.parametrize("case", WHERE_IT_ENDS)
async def test_a_server_that_breaks_off_on_the_way_to_the_agent(name, case, serve):
    script, ends = WHERE_IT_ENDS[case]
    serve(script)
    with pytest.raises(ConsoleError) as caught:
        async with asyncio.timeout(60), ways.agent(name):
            pass
    error = caught.value
    assert any(error.exit_code == code and words in error.message for code, words in ends[name]), error.message


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
async def test_a_hello_that_never_comes(name, serve, monkeypatch):
    monkeypatch.setattr(bootstrap, "HELLO_TIMEOUT_S", 1.0)
    serve(Script(hello="never"))
    with named(AgentStartFailed, "no hello within 1 s"):
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
    monkeypatch.setattr(heartbeat, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(heartbeat, "LOST_AFTER_S", 1.0)
    serve(Script(after="never"))
    states: list[str] = []
    async with ways.agent(name) as agent:
        agent.session.watch(lambda link: states.append(link.name))
        with named(NodeLost, "the connection to the node was lost", "nothing heard for"):
            await agent.paths(["/"])
        await until(lambda: agent.session.link.name == "disconnected")
    assert states[0] == "heartbeat-missed"


@one
async def test_a_node_that_breaks_off_at_every_answer_is_not_asked_without_end(name, serve, monkeypatch):
    monkeypatch.setattr(backoff, "BACKOFF_S", (0.01,))
    monkeypatch.setattr(session, "READ_TRIES", 3)
    serve(Script(after="half"))
    async with ways.agent(name, reconnect=True) as agent:
        with named(NodeLost, "the connection to the node was lost"):
            await agent.paths(["/"])


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
