"""SIMULATED: signals reach the main thread, and wake it.

CPython runs handlers in the main thread only, and a signal that the kernel gives to another thread does not wake it.
"""

import os
import select
import signal
import threading

_OURS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


def start_thread(target, *args):
    """Start a daemon thread that takes no signal; threads that it starts take none either."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
    try:
        threading.Thread(target=target, args=args, daemon=True).start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class StopRequest:
    """SIGTERM or SIGINT, from now on."""

    def __init__(self, on_stop):
        self._asked = False
        self._on_stop = on_stop
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def wait(self):
        while not self._asked:
            select.select([self._read], [], [])
            os.read(self._read, 64)

    def _handle(self, signum, frame):
        self._asked = True
        self._on_stop()
