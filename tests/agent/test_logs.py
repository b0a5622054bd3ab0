"""Following, opening and searching logs: the real agent over pipes, real files."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys

import pytest

from console.errors import Refused, UsageError
from console.logs.search_pattern import SearchPattern, parse
from console.remote.agent import NodeError
from tests.waiting import until


class Reader:
    """Follows a log in the background: what came, and what was said of breaks."""

    def __init__(self, agent, path, **how):
        self.parts = []
        self.read = b""
        self.task = asyncio.create_task(self._run(agent, path, how))

    async def _run(self, agent, path, how):
        async for part in agent.follow(str(path), **how):
            self.parts.append(part)
            self.read += part.data

    @property
    def resets(self):
        return [part for part in self.parts if part.reset]

    @property
    def position(self):
        return self.parts[-1].position

    async def has(self, data):
        await until(lambda: self.read == data)

    async def stop(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "server.log"


async def test_a_renamed_log_is_read_to_its_end_and_then_the_new_one(connect, log):
    log.write_bytes(b"one\n")
    async with connect() as agent:
        reader = Reader(agent, log)
        await reader.has(b"one\n")
        with log.open("ab") as old:
            log.rename(f"{log}.1")
            old.write(b"two, after the renaming\n")
            old.flush()
            await reader.has(b"one\ntwo, after the renaming\n")
            log.touch()  # as logrotate's `create` does; a writer with `> log` goes on in the old one
            old.write(b"three\n")
            old.flush()
            await reader.has(b"one\ntwo, after the renaming\nthree\n")
        log.write_bytes(b"four\n")
        await reader.has(b"one\ntwo, after the renaming\nthree\nfour\n")
        (reset,) = reader.resets
        assert (reset.lost, reset.offset) == (0, 0)
        assert f"{log.name}" in reset.reset
        assert "34 bytes" in reset.reset
        await reader.stop()


async def test_a_log_that_is_not_there_yet_is_awaited(connect, log):
    async with connect() as agent:
        reader = Reader(agent, log)
        await until(lambda: reader.resets)
        assert reader.resets[0].reset == f"there is no file {log} yet"
        log.write_bytes(b"one\n")
        await reader.has(b"one\n")
        await reader.stop()
        with pytest.raises(NodeError, match="no file"):
            await Reader(agent, f"{log}x", until_eof=True).task


async def test_a_log_that_is_cut_tells_what_was_lost(connect, log):
    log.write_bytes(b"one\n" * 25)
    async with connect() as agent:
        reader = Reader(agent, log)
        await reader.has(b"one\n" * 25)
        log.write_bytes(b"2\n")
        await reader.has(b"one\n" * 25 + b"2\n")
        (reset,) = reader.resets
        assert reset.lost == 0
        assert reset.reset.startswith("the file was truncated: 100 bytes, of which 100 were read; now ")
        await reader.stop()


async def test_a_log_that_is_cut_and_grows_over_the_old_place_is_noticed(connect, log):
    log.write_bytes(b"old line\n" * 10)
    async with connect() as agent:
        reader = Reader(agent, log)
        await reader.has(b"old line\n" * 10)
        position = reader.position
        await reader.stop()
        log.write_bytes(b"new line\n" * 20)  # the same inode, longer than before
        reader = Reader(agent, log, resume=position)
        await reader.has(b"new line\n" * 20)
        assert len(reader.resets) == 1
        await reader.stop()


async def test_a_log_that_was_copied_and_cut_is_read_on_in_the_copy(connect, log):
    log.write_bytes(b"%064d\n" % 1)
    async with connect() as agent:
        reader = Reader(agent, log)
        await reader.has(log.read_bytes())
        position, before = reader.position, reader.read
        await reader.stop()
        with log.open("ab") as file:
            file.write(b"two\n")
        (log.parent / "server.log.1").write_bytes(log.read_bytes())
        log.write_bytes(b"three\n")
        reader = Reader(agent, log, resume=position)
        await reader.has(b"two\nthree\n")
        assert before + reader.read == b"%064d\ntwo\nthree\n" % 1
        assert [reset.lost for reset in reader.resets] == [0]
        await reader.stop()


async def test_two_rotations_while_nobody_looked(connect, log):
    log.write_bytes(b"one\n")
    async with connect() as agent:
        reader = Reader(agent, log)
        await reader.has(b"one\n")
        position = reader.position
        await reader.stop()
        with log.open("ab") as file:
            file.write(b"two\n")
        log.rename(f"{log}.2")
        (log.parent / "server.log.3").write_bytes(b"older than all\n")
        (log.parent / "server.log.1.gz").write_bytes(b"packed\n")
        (log.parent / "server.log.1").write_bytes(b"three\n")
        log.write_bytes(b"four\n")
        reader = Reader(agent, log, resume=position)
        await reader.has(b"two\nthree\nfour\n")
        assert [os.path.basename(reset.name) for reset in reader.resets] == ["server.log.1", "server.log"]
        await reader.stop()


async def test_an_old_log_that_is_gone_is_told_with_the_size_that_was_not_read(connect, log):
    log.write_bytes(b"x" * 200_000)
    async with connect() as agent:
        async for part in agent.follow(str(log)):
            position, size = part.position, part.size
            break
        log.unlink()
        log.write_bytes(b"new\n")
        reader = Reader(agent, log, resume=position)
        await reader.has(b"new\n")
        (reset,) = reader.resets
        assert size == 200_000
        assert reset.lost == 200_000 - 65536
        await reader.stop()


async def test_a_hole_is_skipped(connect, log):
    """Copied and cut under a writer without O_APPEND: it writes on at its old offset."""
    writer = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.write(writer, b"a" * (1 << 20))
    async with connect() as agent:
        reader = Reader(agent, log)
        await reader.has(b"a" * (1 << 20))
        os.truncate(log, 0)
        os.write(writer, b"on\n")
        os.close(writer)
        await until(lambda: reader.read.endswith(b"on\n"))
        assert len(reader.read) < (1 << 20) + 8192
        assert any("hole" in reset.reset or reset.offset for reset in reader.resets)
        await reader.stop()


async def test_the_last_lines_are_found_from_the_end(connect, log):
    lines = [b"line %d\n" % number for number in range(100_000)]
    log.write_bytes(b"".join(lines) + b"half")
    async with connect() as agent:
        for wanted, shown in ((1, b"half"), (2, lines[-1] + b"half"), (50_000, b"".join(lines[-49_999:]) + b"half")):
            tail = await agent.tail(str(log), wanted)
            assert await agent.read_range(str(log), tail.offset, tail.size) == shown
        assert await agent.tail_offset(str(log), 1_000_000) == 0
        limited = await agent.tail(str(log), 1_000_000, limit=1000)
        assert limited.size - 1000 <= limited.offset < limited.size
        assert (await agent.read_range(str(log), limited.offset - 1, 6)) == b"\nline "
        reader = Reader(agent, log, resume=limited.position)
        await reader.has(log.read_bytes()[limited.offset :])
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", limited.local_time)
        await reader.stop()


async def searched(agent, path, pattern, **how):
    found = [batch async for batch in agent.search(str(path), pattern, **how)]
    return [hit for batch in found for hit in batch.hits], found[-1]


def grep(content, pattern):
    """The meaning of a search, line by line: (offset, line)."""
    flags = re.IGNORECASE if pattern.ignore_case else 0
    text = pattern.text if pattern.regex else re.escape(pattern.text)
    has = re.compile(text.encode(), flags).search
    lines = [(line.start(), line.group()) for line in re.finditer(rb"[^\r\n]+", content)]
    return [(at, line) for at, line in lines if bool(has(line)) != pattern.inverse]


def _content():
    lines = []
    for number in range(5_000):
        lines.append(
            b"[2026-02-20 10:02:11 TP%d] Decode batch, #running-req: %d, accept len: 1.5\n" % (number % 8, number)
        )
        if number % 1000 == 7:
            lines.append(b"Loading:  1%\rLoading: 50%\rLoading: ERROR \xff\xfe\x00 bad\r\n")
        if number == 9:
            lines.append(b"x" * 1_500_000 + b" Error deep in a long line\n")
        if number % 900 == 4:
            lines.append(b"\n")
    return b"".join(lines) + b"the last, half a line: Error"


PATTERNS = [
    parse("error"),
    parse("Error"),
    parse("#running-req: 4999,"),
    parse("req: 1[0-9]+77"),
    parse("!decode"),
    parse("!accept len: 1\\.5$"),
    parse("half a line: Error$"),
    parse("^Loading.*bad$"),
    parse("^[^D]*$"),
    parse("deep|tp7.*req: 1007|(?:BAD|half) a"),
    parse("(TP3|TP4)\\] Decode.*: 10[01]3,"),
    parse("(?i)ERROR"),
    parse("(?i:LOADING): .*E.*bad"),
    parse("batch,\\s+#running-req: 77|1\\.5\\s+\\["),  # the second would match over a line's end
    parse("[5h][,\\s]+[#\\[]"),
    parse("(?<=TP3\\] )Decode.*req: 1003,"),
    parse("[^x]Error\\Z"),
    SearchPattern("1.5", regex=False),
    SearchPattern("[2026", regex=False, inverse=True),
]


async def test_a_search_finds_what_grep_finds_in_both_directions(connect, log):
    content = _content()
    log.write_bytes(content)
    async with connect() as agent:
        for number, pattern in enumerate(PATTERNS):
            expected = grep(content, pattern)
            await _search_as_grep(agent, log, pattern, content, expected)
            if number % 4 == 0:  # each search is a process of its own
                await _search_from_the_middle(agent, log, pattern, expected)


async def _search_as_grep(agent, log, pattern, content, expected):
    assert len(expected) > 0, pattern
    hits, last = await searched(agent, log, pattern, limit=100_000)
    assert [(hit.offset, hit.length, hit.data) for hit in hits] == [
        (at, len(line), line[:4096]) for at, line in expected
    ], pattern
    assert (last.end, last.searched, last.total, last.matches) == ("done", len(content), len(content), len(expected))


async def _search_from_the_middle(agent, log, pattern, expected):
    middle = expected[len(expected) // 2][0]
    hits, _ = await searched(agent, log, pattern, backward=True, limit=100_000, start=middle)
    assert [hit.offset for hit in hits] == [at for at, _line in reversed(expected) if at < middle], pattern
    hits, last = await searched(agent, log, pattern, start=middle, limit=1)
    assert [hit.offset for hit in hits] == [middle], pattern
    assert last.end == "limit"
    hits, _ = await searched(agent, log, pattern, backward=True, limit=1)
    assert [hit.offset for hit in hits] == [expected[-1][0]], pattern


async def test_a_pattern_that_backtracks_is_ended_and_the_agent_goes_on(connect, log):
    log.write_bytes(b"a" * 40 + b"!\n")
    async with connect() as agent:
        search = asyncio.create_task(searched(agent, log, parse("(a+)+$")))
        async with asyncio.timeout(4):
            await agent.facts()
        with pytest.raises(Refused, match="more than 5 s"):
            await search
        with pytest.raises(UsageError, match="not a pattern"):
            await searched(agent, log, SearchPattern("(a", regex=True))


async def test_leaving_a_search_ends_its_process(connect, log):
    with log.open("wb") as file:
        file.truncate(200 << 30)  # a hole: long to read, no room taken
    async with connect() as agent:
        found = agent.search(str(log), parse("nothing"))
        batch = await anext(found)
        assert batch.hits == ()
        assert 0 < batch.searched < batch.total
        assert scanners(agent)
        await found.aclose()
        await until(lambda: not scanners(agent))


def scanners(agent):
    children = subprocess.run(
        ["ps", "-o", "pid=,stat=", "--ppid", str(agent.hello.pid)], capture_output=True, text=True, check=False
    )
    return [line for line in children.stdout.splitlines() if "Z" not in line]


async def test_logs_of_others_are_found_by_their_descriptors(connect, log, tmp_path):
    code = "import sys, time; print('up', flush=True); time.sleep(600)"
    argv = [sys.executable, "-c", code, "sglang.launch_server", "--port", "1"]
    gone = tmp_path / "gone.log"
    with log.open("wb") as file, gone.open("wb") as other:
        process = subprocess.Popen(argv, stdout=file, stderr=other)
        piped = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=file)
    gone.unlink()
    try:
        async with connect() as agent:
            sources = {(each.pid, each.path): each for each in await agent.log_sources() if each.kind == "process"}
            assert sources[process.pid, str(log)].problem == ""
            deleted = sources[process.pid, f"/proc/{process.pid}/fd/2"]
            assert deleted.problem == ""
            assert "a pipe" in sources[piped.pid, f"/proc/{piped.pid}/fd/1"].problem
            assert (piped.pid, str(log)) not in sources  # the same file
            reader = Reader(agent, deleted.path)
            with open(deleted.path, "wb", buffering=0) as stderr:
                stderr.write(b"Traceback\n")
            await reader.has(b"Traceback\n")
            await reader.stop()
    finally:
        for each in (process, piped):
            each.kill()
            each.communicate()


async def test_logs_of_containers_are_found_with_their_names(connect, tmp_path):
    folder = tmp_path / "containers" / ("c" * 64)
    folder.mkdir(parents=True)
    (folder / f"{folder.name}-json.log").write_text("")
    (folder / "config.v2.json").write_text(json.dumps({"Name": "/sglang"}))
    async with connect() as agent:
        answer = await agent.session.call("logs.sources", {"docker": str(folder.parent)})
        (source,) = [each for each in answer["sources"] if each["kind"] == "docker"]
        assert (source["label"], source["size"], source["problem"]) == ("sglang", 0, "")
