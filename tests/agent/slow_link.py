"""A link of 40 ms each way: `python -m tests.agent.slow_link COMMAND…` runs it and holds back what passes, as SSH may.

No byte waits for the one before it: the delay is latency, not a lower rate.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time

DELAY_S = 0.04


def pump(source: int, sink: int) -> None:
    """Pass everything on, each part DELAY_S after it came, then close `sink`."""
    parts: queue.Queue[tuple[float, bytes]] = queue.Queue()
    threading.Thread(target=_write, args=(parts, sink), daemon=True).start()
    while True:
        part = os.read(source, 65536)
        parts.put((time.monotonic() + DELAY_S, part))
        if not part:
            return


def _write(parts: queue.Queue[tuple[float, bytes]], sink: int) -> None:
    while True:
        due, part = parts.get()
        time.sleep(max(0.0, due - time.monotonic()))
        if not part:
            os.close(sink)
            return
        while part:
            part = part[os.write(sink, part) :]


def main() -> int:
    with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        threading.Thread(target=pump, args=(0, os.dup(child.stdin.fileno())), daemon=True).start()
        child.stdin.close()
        pump(child.stdout.fileno(), os.dup(1))
        time.sleep(2 * DELAY_S)  # the last part is still on its way
        return child.wait()


if __name__ == "__main__":
    sys.exit(main())
