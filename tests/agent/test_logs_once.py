"""Each byte of a log comes once, whatever happens to the file and to the link: a model against the real agent."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from console.remote import backoff, bundle
from console.remote.agent import Agent
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session
from console.remote.transports.local import LocalTransport
from tests.agent.test_logs import Reader
from tests.examples import examples
from tests.pythons import PYTHONS
from tests.waiting import until

KEPT = 9
"""Rotated files that are kept: more than one example has rotations."""


class Log(RuleBasedStateMachine):
    """A log, its writer, and one follower.

    `written` is a list of files' contents in the order of writing, each a list of chunks; `may_lack[i]` tells that the
    end of the file i was destroyed while nobody could read it.
    """

    runner: asyncio.Runner
    agent: Agent
    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(dir=self.folder))
        self.path = self.home / "server.log"
        self.written: list[list[bytes]] = [[]]
        self.may_lack = [False]
        self.number = 0
        self.known = -1
        """The file whose end had come when the follower left."""
        self.must_tell = False
        self.left_unread = False
        """The follower left a file of which it had read nothing: copied and cut, it is not known again."""
        self.position = ""
        self.resets: list[object] = []
        self.got = b""
        self.reader: Reader | None = None
        self.path.touch()
        self.reconnect()
        self._run(until(lambda: self.reader.parts))

    # What the writer and the rotation do.

    @rule(lines=st.integers(1, 3), is_half=st.booleans(), size=st.sampled_from([20, 300, 70_000]))
    def append(self, lines: int, is_half: bool, size: int) -> None:
        for _ in range(lines):
            self.number += 1
            chunk = b"%016d " % self.number + b"x" * size + (b"%d" % self.number) + (b"" if is_half else b"\n")
            with self.path.open("ab", buffering=0) as file:
                file.write(chunk)
            self.written[-1].append(chunk)
        self._tick()

    @rule(is_created=st.booleans())
    def rotate(self, is_created: bool) -> None:
        if not self.path.exists():
            return
        self._shift()
        self.path.rename(self._rotated(1))
        if is_created:
            self.path.touch()
        self._next(may_lack=False)

    @rule()
    def copy_and_truncate(self) -> None:
        if not self.path.exists():
            return
        if self.reader and not self._began():
            self.everything_came()  # a file that is 50 ms old and of which nothing was read is not known again
        self._shift()
        shutil.copyfile(self.path, self._rotated(1))
        os.truncate(self.path, 0)
        self._next(may_lack=self.reader is None and self.left_unread)

    @rule(is_recreated=st.booleans())
    def destroy(self, is_recreated: bool) -> None:
        """Cut it, or remove it and make a new one (which often gets the same inode)."""
        if not self.path.exists():
            return
        if self.reader:
            self.everything_came()
        if is_recreated:
            self.path.unlink()
            self.path.touch()
        else:
            os.truncate(self.path, 0)
        self.must_tell |= self.reader is None and self.known == len(self.written) - 1
        self._next(may_lack=self.reader is None)

    # What happens to the follower.

    @precondition(lambda self: self.reader)
    @rule()
    def break_the_link(self) -> None:
        self.agent.session.break_link()

    @precondition(lambda self: self.reader)
    @rule()
    def disconnect(self) -> None:
        assert self.reader
        reader, self.reader = self.reader, None
        self._run(reader.stop())
        self._collect(reader)
        is_known = self._missing(self.got) is not None and b"%016d " % self.number in self.got
        self.known = len(self.written) - 1 if is_known and self.written[-1] else -1
        self.left_unread = not (self.written[-1] and self.written[-1][0] in self.got)

    @precondition(lambda self: not self.reader)
    @rule()
    def reconnect(self) -> None:
        async def start() -> Reader:
            return Reader(self.agent, self.path, resume=self.position)

        self.reader = self._run(start())

    @precondition(lambda self: self.reader)
    @rule()
    def everything_came(self) -> None:
        reader = self.reader
        assert reader

        async def wait() -> None:
            try:
                await until(lambda: reader.task.done() or self._missing(self.got + reader.read) is not None, 20)
            except TimeoutError:
                raise AssertionError(self._told(reader)) from None

        self._run(wait())
        assert not reader.task.done(), reader.task.exception()

    @invariant()
    def nothing_came_twice(self) -> None:
        got = self.got + (self.reader.read if self.reader else b"")
        at = 0
        for number in range(1, self.number + 1):
            found = got.find(b"%016d " % number)
            assert found < 0 or found >= at, f"chunk {number} came out of order"
            assert found < 0 or got.find(b"%016d " % number, found + 1) < 0, f"chunk {number} came twice"
            at = max(at, found)

    def teardown(self) -> None:
        if not self.reader:
            self.reconnect()
        self.everything_came()
        self.nothing_came_twice()
        assert self.reader
        self._run(self.reader.stop())
        self._collect(self.reader)
        missing = self._missing(self.got)
        assert missing is not None
        told = [reset for reset in self.resets if "truncated" in reset.reset or "replaced" in reset.reset]
        assert told or not self.must_tell
        assert sum(reset.lost for reset in self.resets) <= missing
        shutil.rmtree(self.home)

    def _began(self) -> bool:
        """Has some of the newest file come?"""
        return not self.written[-1] or self.written[-1][0] in self.reader.read + self.got

    def _missing(self, got: bytes) -> int | None:
        """How many bytes of destroyed files did not come; None when others are missing (still)."""
        at, missing = 0, 0
        for chunks, may_lack in zip(self.written, self.may_lack, strict=True):
            came = 0
            for chunk in chunks:
                if not got.startswith(chunk, at):
                    break
                came += 1
                at += len(chunk)
            if came < len(chunks) and not may_lack:
                return None
            missing += sum(map(len, chunks[came:]))
        return missing if at == len(got) else None

    def _told(self, reader: Reader) -> str:
        content = self.got + reader.read
        came = [number for number in range(1, self.number + 1) if b"%016d " % number in content]
        wanted = [[int(chunk[:16]) for chunk in chunks] for chunks in self.written]
        return f"{came} of {wanted} {self.may_lack}; resets {[part.reset for part in reader.parts if part.reset]}"

    def _collect(self, reader: Reader) -> None:
        self.got += reader.read
        self.resets += reader.resets
        self.position = next((part.position for part in reversed(reader.parts) if part.position), self.position)

    def _next(self, *, may_lack: bool) -> None:
        self.may_lack[-1] = may_lack
        self.written.append([])
        self.may_lack.append(False)
        self._tick()

    def _rotated(self, number: int) -> Path:
        return self.home / f"server.log.{number}"

    def _shift(self) -> None:
        for number in range(KEPT, 0, -1):
            if self._rotated(number).exists():
                self._rotated(number).rename(self._rotated(number + 1))

    def _tick(self) -> None:
        """Wait until the file system's clock goes on: rotations are milliseconds apart at least."""
        clock = self.home.parent / "clock"
        clock.write_bytes(b"")
        before = clock.stat().st_mtime_ns
        while clock.stat().st_mtime_ns == before:
            clock.write_bytes(b"")

    def _run(self, work):
        return self.runner.run(work)


def test_each_byte_comes_once(tmp_path, monkeypatch):
    monkeypatch.setattr(backoff, "BACKOFF_S", (0.1,))  # the waits of a link that breaks again and again grow
    settings_of_agent = AgentSettings(
        python=PYTHONS[0],
        cache_dir=str(tmp_path / "cache"),
        args=("--state-dir", str(tmp_path / "state"), "--lock-dir", str(tmp_path), "--gpu-source", "none"),
    )
    Log.folder = tmp_path
    with asyncio.Runner() as runner:

        async def opened() -> Session:
            session = Session(LocalTransport(), bundle.build(), settings_of_agent, reconnect=True)
            await session.open()
            return session

        session = runner.run(opened())
        Log.runner, Log.agent = runner, Agent(session, "tester@here")
        try:
            from hypothesis.stateful import run_state_machine_as_test

            run_state_machine_as_test(Log, settings=SETTINGS)
        finally:
            runner.run(session.close())


SETTINGS = settings(
    max_examples=examples(20),
    stateful_step_count=16,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
