"""SIMULATED: log lines in SGLang's form. One line is one write, so that lines of several processes never mix."""

import os
import time

BANNER = (
    "[spec-console] SIMULATED server: stand-in sglang 0.5.12.post1+simulated, no GPU, no model; "
    "every number below comes from a table"
)


def line(message, rank=None, bare=False):
    """Write one line to stderr; `bare` leaves the time and rank out."""
    head = "" if bare else "[%s%s] " % (time.strftime("%Y-%m-%d %H:%M:%S"), "" if rank is None else " TP%d" % rank)
    write(head + message + "\n")


def write(text):
    data = text.encode("utf-8", "backslashreplace")
    while data:
        try:
            data = data[os.write(2, data):]
        except OSError:
            return


def bar(name, done, total, elapsed):
    """One state of a progress bar, as tqdm writes it: a carriage return first, no newline."""
    filled = 10 * done // total
    rate = done / elapsed if elapsed else 0.0
    left = "?" if not done else "00:%02d" % ((total - done) / rate)
    speed = "?it/s" if not done else "%.2fit/s" % rate
    blocks = "█" * filled + " " * (10 - filled)
    counted = "%d/%d [00:%02d<%s, %s]" % (done, total, elapsed, left, speed)
    percent = 100 * done // total
    if name.endswith("shards"):
        write("\r%s: %3d%% Completed | %s" % (name, percent, counted))
    else:
        write("\r%s: %3d%%|%s| %s" % (name, percent, blocks, counted))
