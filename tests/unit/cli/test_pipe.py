"""Long output into a pipe whose reader is slow: all of it comes, also when the console is stopped and goes on."""

from __future__ import annotations

import array
import fcntl
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

LINES = 20_000
PROGRAM = f"""
from console.cli._pipe import write_out
for start in range(0, {LINES}, 1000):
    write_out("".join("%09d\\n" % number for number in range(start, start + 1000)))
"""
NEARLY_FULL = 50_000
"""Of the 65,536 bytes of a pipe."""


def waiting(pipe: int) -> int:
    """Bytes that nobody has read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_stop_in_the_middle_of_a_write_loses_nothing():
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE) as process:
        assert process.stdout
        while waiting(process.stdout.fileno()) < NEARLY_FULL or state(process.pid) != "S":
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        while state(process.pid) != "T":
            time.sleep(0.01)
        process.send_signal(signal.SIGCONT)
        came = process.stdout.read()
    assert came == b"".join(b"%09d\n" % number for number in range(LINES))


def test_a_reader_that_leaves_ends_nothing_that_was_begun(tmp_path):
    done = tmp_path / "done"
    program = f"""
import pathlib, click
from console.cli import _pipe
from console.cli._shared import say
_pipe.go_on_unheard()
for number in range(20_000):
    say("line")
    click.echo("line")
pathlib.Path({str(done)!r}).touch()
"""
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        assert process.wait(30) == 0
    assert done.exists()
