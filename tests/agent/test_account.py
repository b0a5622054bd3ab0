"""Whose a process is: the account that it runs as, also where /proc shows it as root's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from remote_agent import processes

NOBODY = 65534
BECOME_NOBODY = f"""
import ctypes, os, sys
os.setgid({NOBODY})
os.setuid({NOBODY})
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: as Linux leaves one that changed its account
print("up", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another")
def test_a_process_that_gave_up_root_is_not_roots():
    with subprocess.Popen(
        [sys.executable, "-c", BECOME_NOBODY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == b"up\n"
        found = processes.info(child.pid)
        assert found
        assert found.uid == NOBODY
        child.communicate()
