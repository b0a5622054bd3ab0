"""One verb over several nodes at once: each node's own result in the order they were named, and the worst exit code."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import click

from console.cli._shared import emit, error_json, say
from console.errors import EXIT_OK, ConsoleError, UsageError
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

    from console.actions.node import Node
    from console.cli._shared import Options
    from console.remote.prompts import Ask, Question

nodes_argument = click.argument("nodes", nargs=-1, required=True, metavar="NODE…")


class Outcome(Protocol):
    """What a verb gives of one node."""

    def lines(self) -> Iterable[str]: ...

    def to_json(self) -> dict[str, Any]: ...


@dataclass(slots=True)
class One:
    """One of several nodes: connected, or why it is not; and then what came of it."""

    name: str
    node: Node | None = None
    outcome: Outcome | None = None
    error: ConsoleError | None = None

    @property
    def code(self) -> int:
        if self.error:
            return self.error.exit_code
        return EXIT_OK if getattr(self.outcome, "ok", True) else 1

    def say(self, line: str) -> None:
        say(f"{self.name}: {line}")

    async def attempt(self, work: Callable[[One], Awaitable[None]]) -> None:
        """Do `work`, unless something has failed before; an expected failure is this node's own, and no other's."""
        if self.error:
            return
        try:
            await work(self)
        except ConsoleError as error:
            self.error = error

    def to_json(self) -> dict[str, Any]:
        values = self.outcome.to_json() if self.outcome else {}
        failed = {"error": error_json(self.error)} if self.error else {}
        return {"node": self.name, "ok": self.code == EXIT_OK, **values, **failed}


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, which must differ. Raises UsageError."""
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise UsageError(f"{twice[0]} is named twice", "Name each node once.")
    return tuple(names)


@asynccontextmanager
async def open_nodes(names: Sequence[str], options: Options) -> AsyncIterator[list[One]]:
    """Connect to all of them at once; what cannot be reached says why, and holds up nobody."""
    from console.actions import recover
    from console.cli._ask import terminal_ask
    from console.cli._nodes import open_node

    ask = in_turn(terminal_ask())
    async with AsyncExitStack() as stack:

        async def connect(one: One) -> None:
            one.node = await stack.enter_async_context(open_node(one.name, options, reconnect=True, ask=ask))
            await recover.on_connect(one.node, one.say, change=False)

        ones = [One(name) for name in distinct(names)]
        await each(ones, connect)
        yield ones


async def each(ones: Iterable[One], work: Callable[[One], Awaitable[None]]) -> None:
    """Do `work` on every node that has not failed yet, on all at once."""
    import asyncio  # 27 ms that --help need not pay

    await asyncio.gather(*(one.attempt(work) for one in ones))


def tell(options: Options, ones: Sequence[One]) -> int:
    """Print each node's result; returns the worst exit code."""
    code = max(one.code for one in ones)
    if options.as_json:
        emit(options, code == EXIT_OK, None, {"nodes": [one.to_json() for one in ones]})
    for one in ones:
        if not options.as_json:
            click.echo(plain(f"{one.name}:"))
            for line in one.outcome.lines() if one.outcome else ():
                click.echo(plain(f"  {line}"))
    complain(ones)
    return code


def complain(ones: Iterable[One]) -> None:
    """Say what went wrong, on each node where something did."""
    for one in ones:
        if one.error:
            one.say(f"error: {one.error.message}")
            if one.error.hint:
                one.say(f"hint: {one.error.hint}")


def in_turn(ask: Ask | None) -> Ask | None:
    """One question at a time: several nodes may have one."""
    if ask is None:
        return None
    import asyncio

    turn = asyncio.Lock()

    async def asked(question: Question) -> str | None:
        async with turn:
            return await ask(question)

    return asked
