"""What the agent promises, asked of the real zip over real pipes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from console.errors import Refused
from console.remote.agent import NodeError, NodeRefused, NodeUsage
from remote_agent.protocol import FileChange, Identity, LaunchRequest
from tests.waiting import until


async def test_it_says_who_it_is_and_what_the_node_is(connect, python):
    async with connect() as agent:
        assert agent.session.uploaded
        assert agent.hello.readonly is False
        facts = await agent.facts()
        assert facts.uid == os.getuid()
        assert facts.gpu_source == "none"
        assert facts.gpu_source_reason
    async with connect() as agent:
        assert not agent.session.uploaded, "the second connect finds the zip by its hash"


async def test_its_state_is_private(connect, tmp_path):
    async with connect():
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


async def test_it_ends_at_eof(connect):
    async with connect() as agent:
        pid = agent.hello.pid
    await until(lambda: not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes())


async def test_an_unknown_method_and_a_wrong_parameter_are_named(connect):
    async with connect() as agent:
        with pytest.raises(NodeUsage, match=r"no method 'node\.nothing'"):
            await agent._ask("node.nothing")
        with pytest.raises(NodeUsage, match="'paths' is missing"):
            await agent._ask("node.paths")
        with pytest.raises(NodeUsage, match="not a TCP port"):
            await agent.port(70000)


async def test_readonly_refuses_every_change_with_the_reason(connect, tmp_path):
    async with connect("--readonly", "the user asked for it") as agent:
        with pytest.raises(NodeRefused, match="read-only: the user asked for it"):
            await agent.terminate([], 1.0, lambda _progress: None)
        with pytest.raises(NodeRefused, match="read-only"):
            await agent.launch(LaunchRequest(["true"], {}, str(tmp_path / "log"), 1, "x"))
        assert (await agent.servers()) == []


def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


async def test_terminate_checks_identity_before_it_signals(connect):
    process = _sleeper()
    try:
        async with connect() as agent:
            (info,) = [p for p in await agent.processes(["time.sleep(600)"]) if p.identity.pid == process.pid]
            stale = Identity(process.pid, info.identity.start_ticks + 1, info.identity.boot_id)
            (result,) = (await agent.terminate([stale], 1.0, lambda _p: None)).results
            assert result.outcome == "mismatch"
            assert process.poll() is None
            (result,) = (await agent.terminate([info.identity], 5.0, lambda _p: None)).results
            assert result.outcome == "terminated"
            assert process.wait(5) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()


def _deaf() -> subprocess.Popen[bytes]:
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    code = f"{ignore}; print('ready', flush=True); time.sleep(600)"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)


async def test_what_the_agent_was_started_by_is_never_ended(connect):
    async with connect() as agent:
        for pid in (1, agent.hello.pid, os.getpid(), os.getppid()):
            stale = Identity(pid, 1, "another boot")  # no signal reaches anybody should this fail
            with pytest.raises(NodeRefused, match="never ended"):
                await agent.terminate([stale], 0.1, lambda _progress: None)


async def test_terminate_kills_what_ignores_term_after_the_grace(connect):
    process = _deaf()
    assert process.stdout
    try:
        process.stdout.readline()
        async with connect() as agent:
            (info,) = [p for p in await agent.processes(["SIG_IGN"]) if p.identity.pid == process.pid]
            seen = []
            (result,) = (await agent.terminate([info.identity], 0.4, seen.append)).results
            assert result.outcome == "killed"
            assert seen, "the countdown is shown"
            assert process.wait(5) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def test_a_port_names_its_holder(connect):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        async with connect() as agent:
            facts = await agent.port(listener.getsockname()[1])
            assert not facts.free
            assert os.getpid() in [each.identity.pid for each in facts.holders]
    async with connect() as agent:
        assert (await agent.port(facts.port)).free


SERVER = """
import os, signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("up", os.environ["TOKEN"], flush=True)
signal.signal(signal.SIGTERM, lambda *a: (child.terminate(), print("bye", flush=True), sys.exit(3)))
time.sleep(600)
"""


def _launch(tmp_path: Path) -> LaunchRequest:
    return LaunchRequest(
        argv=[sys.executable, "-c", SERVER],
        env={"TOKEN": "s3cret-value"},
        log_path=str(tmp_path / "server.log"),
        port=1,
        operator="tester@here",
        secret_env=["TOKEN"],
        record={"profile": "p"},
    )


async def test_a_server_outlives_the_connection_and_is_adopted_again(connect, tmp_path):
    (tmp_path / "server.log").write_text("old words\n")
    async with connect() as agent:
        run = await agent.launch(_launch(tmp_path))
        assert run.state == "running"
        assert run.renamed_log
        assert Path(run.renamed_log).read_text() == "old words\n"
        await until(lambda: "up" in (tmp_path / "server.log").read_text())
    async with connect() as agent:
        (again,) = await agent.servers()
        assert (again.state, again.child, again.run_id) == ("running", run.child, run.run_id)
        assert again.record["profile"] == "p"
        assert len(again.children) == 2, "the launcher and its child"
        results = (await agent.stop_server(run.run_id, 10.0, lambda _p: None)).results
        assert {result.outcome for result in results} <= {"terminated", "gone"}
        (ended,) = await agent.servers()
        assert (ended.state, ended.exit_code, ended.children) == ("exited", 3, [])


async def test_no_secret_is_in_any_record(connect, tmp_path):
    async with connect() as agent:
        run = await agent.launch(_launch(tmp_path))
        await agent.stop_server(run.run_id, 10.0, lambda _p: None)
    for path in (tmp_path / "state").rglob("*"):
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert b"s3cret-value" not in path.read_bytes(), path


async def test_a_command_that_cannot_start_is_an_error_not_a_server(connect, tmp_path):
    async with connect() as agent:
        with pytest.raises(NodeError, match="cannot be started: No such file"):
            await agent.launch(LaunchRequest(["/no/such/python"], {}, str(tmp_path / "log"), 1, "x"))
        with pytest.raises(NodeError, match=r"log .* cannot be opened"):
            await agent.launch(LaunchRequest(["true"], {}, str(tmp_path / "none" / "log"), 1, "x"))


def _tree(tmp_path: Path) -> Path:
    root = tmp_path / "site" / "sglang"
    (root / "srt" / "models").mkdir(parents=True)
    (root / "srt" / "models" / "a.py").write_bytes(b"a = 1\r\n")
    (root / "srt" / "b.py").write_bytes(b"b = 1")
    return root


async def _apply(agent, root: Path, *files: tuple[str, bytes | None, bytes]) -> None:
    import hashlib

    changes = []
    for path, before, after in files:
        sha = hashlib.sha256(after).hexdigest()
        await agent.put(sha, after)
        changes.append(FileChange(path, hashlib.sha256(before).hexdigest() if before is not None else None, sha, 0o644))
    await agent.apply_files(str(root), ["p"], changes)


async def test_files_are_swapped_and_restored_to_the_byte(connect, tmp_path):
    root = _tree(tmp_path)
    before = {path: path.read_bytes() for path in root.rglob("*.py")}
    async with connect() as agent:
        await _apply(
            agent,
            root,
            ("srt/models/a.py", b"a = 1\r\n", b"a = 2\r\n"),
            ("srt/b.py", b"b = 1", b"x" * 700_000),
            ("srt/new.py", None, b"n = 1\n"),
        )
        assert (root / "srt/models/a.py").read_bytes() == b"a = 2\r\n"
        (entry,) = await agent.ledger(str(root))
        assert (entry.state, entry.operator, len(entry.files)) == ("applied", "tester@here", 3)
        outcomes = await agent.restore_files(str(root))
        assert sorted(each.outcome for each in outcomes) == ["removed", "restored", "restored"]
        assert await agent.ledger(str(root)) == []
    assert {path: path.read_bytes() for path in root.rglob("*.py")} == before
    assert [path.name for path in root.parent.iterdir()] == ["sglang"], "no lock is left"


async def test_nothing_is_swapped_when_one_file_is_not_the_planned_one(connect, tmp_path):
    root = _tree(tmp_path)
    async with connect() as agent:
        with pytest.raises(NodeRefused, match=r"srt/b.py is not the file that was planned"):
            await _apply(agent, root, ("srt/models/a.py", b"a = 1\r\n", b"a"), ("srt/b.py", b"other", b"b"))
        assert await agent.ledger(str(root)) == []
    assert (root / "srt/models/a.py").read_bytes() == b"a = 1\r\n"


async def test_a_file_that_drifted_is_left_and_said(connect, tmp_path):
    root = _tree(tmp_path)
    async with connect() as agent:
        await _apply(agent, root, ("srt/b.py", b"b = 1", b"b = 2"))
        (root / "srt/b.py").write_bytes(b"b = 2\nedited = True")
        (outcome,) = await agent.restore_files(str(root))
        assert outcome.outcome == "drifted"
        assert len(await agent.ledger(str(root))) == 1, "the original stays kept"
    assert (root / "srt/b.py").read_bytes() == b"b = 2\nedited = True"


@pytest.mark.parametrize("path", ["../x.py", "/etc/passwd", "srt/../../x.py", "srt//b.py", "srt/link.py"])
async def test_no_path_leads_out_of_the_tree(connect, tmp_path, path):
    root = _tree(tmp_path)
    (root / "srt" / "link.py").symlink_to(tmp_path / "elsewhere")
    async with connect() as agent:
        with pytest.raises(Refused):
            await _apply(agent, root, (path, None, b"x"))
    assert not (tmp_path / "elsewhere").exists()


async def test_a_held_lock_names_its_holder(connect, tmp_path):
    import fcntl

    async with connect() as agent:
        name = f"spec-console-{agent.hello.machine_id[:16]}.lock"
        with (tmp_path / name).open("w+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps({"operator": "eva@desk", "doing": "servers.launch", "pid": 7, "host": "h"}))
            file.flush()
            assert (await agent.facts()).lock_holder == "eva@desk, servers.launch (agent pid 7 on h)"
            with pytest.raises(NodeRefused, match=r"eva@desk, servers.launch \(agent pid 7 on h\)"):
                await agent.terminate([], 1.0, lambda _p: None)
        (tmp_path / name).unlink()
        assert not (await agent.facts()).lock_holder


async def test_following_reads_on_after_truncation_and_replacement(connect, tmp_path):
    log = tmp_path / "x.log"
    log.write_bytes(b"one\n")
    async with connect() as agent:
        parts = agent.follow(str(log))
        first = await anext(parts)
        assert (first.offset, first.data) == (0, b"one\n")
        with log.open("ab") as file:
            file.write(b"two\n")
        second = await anext(parts)
        assert (second.offset, second.data) == (4, b"two\n")
        log.rename(tmp_path / "x.log.1")
        log.write_bytes(b"three\n")
        reset = await anext(parts)
        assert reset.reset.startswith("the file was replaced")
        assert (await anext(parts)).data == b"three\n"
        log.write_bytes(b"4\n")
        assert (await anext(parts)).reset.startswith("the file was truncated")
        assert (await anext(parts)).data == b"4\n"
        await parts.aclose()


async def test_a_follower_that_does_not_read_stops_the_agent_not_the_other_calls(connect, tmp_path):
    log = tmp_path / "big.log"
    log.write_bytes(os.urandom(1 << 20) * 12)
    async with connect() as agent:
        parts = agent.follow(str(log))
        await anext(parts)
        async with asyncio.timeout(10):
            for _ in range(5):
                await agent.facts()
        total = 65536
        async for part in parts:
            total += len(part.data)
            if total == log.stat().st_size:
                break
        await parts.aclose()


async def test_a_follow_goes_on_over_a_broken_link_without_loss_or_double(connect, tmp_path):
    log = tmp_path / "x.log"
    content = b"".join(b"line %d\n" % i for i in range(60_000))
    log.write_bytes(content)
    async with connect(reconnect=True) as agent:
        got, breaks = b"", 0
        async for part in agent.follow(str(log)):
            assert part.offset == len(got)
            got += part.data
            if breaks < 3 and len(got) > 200_000 * (breaks + 1):
                breaks += 1
                agent.session.break_link()
            if len(got) == len(content):
                break
        assert got == content
        assert breaks == 3


@pytest.mark.parametrize("chunks", [1, 3, 40])
async def test_reading_to_the_end_gives_every_byte_before_the_call_ends(connect, tmp_path, chunks):
    log = tmp_path / "x.log"
    log.write_bytes(os.urandom(65536 * chunks - 7))
    async with connect() as agent:
        got = b"".join([part.data async for part in agent.follow(str(log), until_eof=True)])
        assert got == log.read_bytes()


async def test_a_key_in_somebodys_command_line_does_not_leave_the_node(connect):
    code = "import time; time.sleep(600)"
    words = [
        "--api-key",
        "s3cret-one",
        "--admin-api-key=s3cret-two",
        "--tokenizer-path",
        "/m",
        "--hf-token",
        "s3cret-3",
    ]
    process = subprocess.Popen([sys.executable, "-c", code, *words])
    try:
        async with connect() as agent:
            (info,) = await agent.inspect([process.pid])
            assert "s3cret" not in repr(info)
            assert info.argv[-7:] == [
                "--api-key",
                "***",
                "--admin-api-key=***",
                "--tokenizer-path",
                "/m",
                "--hf-token",
                "***",
            ]
    finally:
        process.kill()
        process.wait()
