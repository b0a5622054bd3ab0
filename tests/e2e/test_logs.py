"""The verb `logs` as it is run, on this machine: lines chosen on the node, files merged, pipes that close."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.cli import PROGRAM, Console, free_port

HEAD = "[2026-02-20 10:%02d:%02d TP%d]"


@pytest.fixture
def console(tmp_path) -> Console:
    home = tmp_path / "home"
    home.mkdir()
    return Console(home, free_port(), {"HOME": str(home)})


@pytest.fixture
def log(tmp_path):
    """One line a second for half an hour; an error every ten minutes with a line that has no head."""
    lines = []
    for second in range(1800):
        head = HEAD % (second // 60, second % 60, second % 2)
        lines.append(
            f"{head} Decode batch, #running-req: {second}, #token: 5, accept len: 1.5, gen throughput (token/s): 9.0"
        )
        if second % 600 == 599:
            lines += [f"{head} Scheduler hit an exception: boom", "  File 'x.py', line 1"]
    path = tmp_path / "server.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def lines(console: Console, *words: str, code: int = 0) -> list[str]:
    done = subprocess.run(
        [*PROGRAM, "logs", "local", *words], env=console.environ(), capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_lines_are_chosen_by_words_kind_rank_time_and_number(console, log):
    file = ("--file", str(log))
    whole = log.read_text().splitlines()
    assert lines(console, *file) == whole
    assert lines(console, *file, "--lines", "3") == whole[-3:]
    assert lines(console, *file, "--grep", "BOOM") == []
    found = [line for line in whole if "boom" in line]
    assert lines(console, *file, "--grep", "boom") == found
    assert lines(console, *file, "--grep", "boom", "--lines", "1") == found[-1:]
    assert lines(console, *file, "-v", "--grep", "decode batch") == [line for line in whole if "Decode" not in line]
    assert lines(console, *file, "--grep", "!decode batch") == [line for line in whole if "Decode" not in line]
    late = whole[whole.index(found[1]) :]
    assert lines(console, *file, "--since", "2026-02-20T10:19:59")[-len(late) :] == late
    assert lines(console, *file, "--since", "2026-02-20T10:19:59", "--grep", "boom|x\\.py") == [
        line for line in late if "boom" in line or "x.py" in line
    ]
    assert (
        lines(console, *file, "--kind", "decode_batch", "--rank", "1", "--lines", "2")
        == [line for line in whole if "Decode" in line and "TP1" in line][-2:]
    )
    assert f"no line of {log} matches" in console.run("logs", "local", *file, "--grep", "BOOM")[2]
    code, told, _ = console.run("logs", "local", *file, "--grep", "boom")
    assert (code, told["ok"], [line["text"] for line in told["lines"]]) == (0, True, found)
    assert told["lines"][0]["file"] == str(log)


@pytest.mark.slow
def test_a_wrong_pattern_time_or_choice_is_a_usage_error(console, log):
    for words in (["--grep", "(a"], ["--since", "yesterday"], ["-v"], ["--rank", "x"], ["--shapes", "--lines", "3"]):
        assert lines(console, "--file", str(log), *words, code=2) == []
    assert lines(console, "--file", f"{log}x", code=1) == []


def test_several_logs_are_one_by_time_and_docker_json_is_unwrapped(console, tmp_path):
    plain, wrapped = tmp_path / "a.log", tmp_path / "c-json.log"
    plain.write_text(f"{HEAD % (0, 1, 0)} one\nTraceback\n{HEAD % (0, 3, 0)} three\n")
    pieces = [f"{HEAD % (0, 2, 0)} tw", "o\n", f"{HEAD % (0, 4, 0)} fo\x1b[31mur\n"]
    told = [json.dumps({"log": piece, "stream": "stderr"}, separators=(",", ":")) for piece in pieces]
    wrapped.write_text("\n".join(told) + "\n")
    merged = [
        f"a.log | {HEAD % (0, 1, 0)} one",
        "a.log | Traceback",
        f"c-json.log | {HEAD % (0, 2, 0)} two",
        f"a.log | {HEAD % (0, 3, 0)} three",
        f"c-json.log | {HEAD % (0, 4, 0)} four",
    ]
    assert lines(console, "--file", str(plain), "--file", str(wrapped)) == merged


def test_a_pipe_that_closes_ends_it_at_once_and_well(console, log):
    """`| head -1` under pipefail; with --follow also while there is nothing more to write."""
    for follow in ([], ["--follow"]):
        words = [*PROGRAM, "logs", "local", "--file", str(log), *follow]
        process = subprocess.Popen(
            words, env=console.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout
            assert process.stdout.readline() == log.read_text().splitlines(keepends=True)[0]
            process.stdout.close()
            assert process.stderr
            told = process.stderr.read()
            assert (process.wait(30), told) == (0, "")


def test_following_tells_lines_as_they_come_and_what_was_lost(console, log):
    words = [*PROGRAM, "logs", "local", "--file", str(log), "--follow", "--lines", "1", "--json", "--grep", "!TP1"]
    process = subprocess.Popen(words, env=console.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout
            assert process.stderr
            assert json.loads(process.stdout.readline())["text"] == "  File 'x.py', line 1"
            with log.open("a") as file:
                file.write(f"{HEAD % (30, 0, 1)} not this\n{HEAD % (30, 1, 0)} this\n")
            told = json.loads(process.stdout.readline())
            assert (told["schema"], told["text"]) == ("spec-console/logs/1", f"{HEAD % (30, 1, 0)} this")
            log.write_text("cut\n")
            assert json.loads(process.stdout.readline())["kind"] == "log_gap"
            assert json.loads(process.stdout.readline())["text"] == "cut"
            assert "the file was truncated" in process.stderr.readline()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    assert process.returncode == 130


@pytest.mark.slow
def test_a_server_that_is_not_ours_is_read_by_its_port(console, tmp_path):
    out = tmp_path / "theirs.out"
    code = (
        "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[2])));"
        "print('The server is fired up and ready to roll!', flush=True); time.sleep(600)"
    )
    port = free_port()
    with out.open("wb") as file:
        server = subprocess.Popen([sys.executable, "-c", code, "sglang.launch_server", str(port)], stdout=file)
    try:
        _wait_for_port(port)
        assert lines(console, "--port", str(port)) == ["The server is fired up and ready to roll!"]
        (listed,) = [line for line in lines(console, "--list") if str(out) in line]
        assert f"pid {server.pid}" in listed
        lines(console, "--port", str(free_port()), code=2)
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.wait()


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError(f"nothing listens on {port}")
