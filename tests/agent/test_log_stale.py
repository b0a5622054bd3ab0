"""A file system that lets go of a log (NFS: ESTALE) or fails to read it (EIO): followed on, and what is lost is told.

The follower is the agent's own, over an `os` whose calls on chosen descriptors fail.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from remote_agent.follow import TRIES, Follower
from remote_agent.protocol import AgentError, LogBatch, LogReset, from_base64
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class FailingOs:
    """`os`, but that reads through `bad` descriptors fail with `code`, and all reads while `is_down`."""

    def __init__(self) -> None:
        self.opened: set[int] = set()
        self.bad: set[int] = set()
        self.is_down = False
        self.code = errno.ESTALE
        self.failed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, *arguments: Any) -> int:
        fd = os.open(*arguments)
        self.opened.add(fd)
        return fd

    def close(self, fd: int) -> None:
        self.opened.discard(fd)
        self.bad.discard(fd)
        os.close(fd)

    def pread(self, fd: int, length: int, offset: int) -> bytes:
        self._check(fd)
        return os.pread(fd, length, offset)

    def fstat(self, fd: int) -> os.stat_result:
        self._check(fd)
        return os.fstat(fd)

    def _check(self, fd: int) -> None:
        if self.is_down or fd in self.bad:
            self.failed += 1
            raise OSError(self.code, os.strerror(self.code))


class Call:
    """A request whose stream is kept."""

    def __init__(self, **params: Any) -> None:
        self.params = params
        self.stop = threading.Event()
        self.read = b""
        self.resets: list[LogReset] = []

    @property
    def is_stopped(self) -> bool:
        return self.stop.is_set()

    def get(self, name: str, _kind: object, default: Any = None) -> Any:
        return self.params.get(name, default)

    def send(self, _notification: str, message: LogBatch | LogReset) -> bool:
        if isinstance(message, LogReset):
            self.resets.append(message)
        else:
            self.read += from_base64(message.data)
        return True


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FailingOs:
    made = FailingOs()
    for module in ("follow", "rotation"):
        monkeypatch.setattr(f"remote_agent.{module}.os", made)
    return made


@pytest.fixture
def follow(disk: FailingOs) -> Iterator[Callable[[Path], Call]]:
    running: list[tuple[Call, threading.Thread]] = []

    def begin(path: Path) -> Call:
        call = Call()
        thread = threading.Thread(target=Follower(str(path), call).run, daemon=True)  # type: ignore[arg-type]
        thread.start()
        running.append((call, thread))
        return call

    yield begin
    for call, thread in running:
        call.stop.set()
        thread.join(10)
        assert not thread.is_alive()
    assert not disk.opened, "every descriptor was closed"


async def test_a_stale_handle_is_opened_again_and_no_byte_is_lost_or_doubled(disk, follow, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n")
    call = follow(log)
    await until(lambda: call.read == b"one\n")
    disk.bad = set(disk.opened)
    with log.open("ab") as file:
        file.write(b"two\n")
    await until(lambda: call.read == b"one\ntwo\n")
    (reset,) = call.resets
    assert (reset.lost, reset.offset) == (0, 4)
    assert reset.reason == f"the file cannot be read, tried again: {os.strerror(errno.ESTALE)}"
    assert not disk.bad, "the stale one is closed"


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE], ids=errno.errorcode.get)
async def test_reads_that_fail_for_a_while_are_waited_for_and_told_once(disk, follow, tmp_path, code: int) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n")
    call = follow(log)
    await until(lambda: call.read == b"one\n")
    disk.code, disk.is_down = code, True
    with log.open("ab") as file:
        file.write(b"two\n")
    await until(lambda: disk.failed > 3 * TRIES)
    assert (call.read, len(call.resets)) == (b"one\n", 1)
    disk.is_down = False
    await until(lambda: call.read == b"one\ntwo\n")
    assert [reset.lost for reset in call.resets] == [0]


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE], ids=errno.errorcode.get)
async def test_a_stale_log_whose_name_leads_to_another_file_is_left_and_the_rest_told(
    disk, follow, tmp_path, code: int
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n")
    call = follow(log)
    await until(lambda: call.read == b"one\n")
    disk.code, disk.bad = code, set(disk.opened)
    with log.open("ab") as file:
        file.write(b"never read\n")
    (tmp_path / "new").write_bytes(b"new\n")
    (tmp_path / "new").rename(log)  # by another client of the share: the old file is gone there
    await until(lambda: call.read == b"one\nnew\n")
    first, last = call.resets
    assert first.reason.startswith("the file cannot be read, tried again")
    assert last.reason.startswith("the file was replaced: ")
    assert last.offset == 0


def test_a_reading_that_is_to_end_does_not_wait_for_ever(disk, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n")
    call = Call(until_eof=True)
    follower = Follower(str(log), call)  # type: ignore[arg-type]
    real, disk.code = disk.pread, errno.EIO

    def pread(fd: int, length: int, offset: int) -> bytes:
        disk.bad = set(disk.opened) if offset or length > 4096 else disk.bad
        return real(fd, length, offset)

    disk.pread = pread
    with pytest.raises(AgentError, match="cannot be read"):
        follower.run()
    assert not disk.opened
