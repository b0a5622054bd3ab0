"""SIMULATED: child processes that carry SGLang's titles and do not outlive their parent.

The title is the whole of /proc/PID/cmdline: the interpreter is started under that name and reads its few lines from a
pipe. A child ends when its parent ends: by a signal where prctl can be had, and by the end of its command pipe anyway.
"""

import os
import signal
import subprocess
import sys

try:
    import ctypes

    _prctl = ctypes.CDLL(None).prctl
except (ImportError, OSError, AttributeError):
    _prctl = None

_PR_SET_PDEATHSIG = 1


def spawn(title, script, fds, env):
    """Start `script` in a child called `title` that keeps the descriptors `fds`; return its pid."""
    parent = os.getpid()

    def die_with_parent():
        if _prctl is not None:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    # PYTHONHOME: under a name that is no path, an interpreter would look for its library in the wrong place.
    home = "%s:%s" % (sys.base_prefix, sys.base_exec_prefix)
    child = subprocess.Popen(
        [title],
        executable=os.path.realpath(sys.executable),
        stdin=subprocess.PIPE,
        pass_fds=fds,
        env=dict(env, PYTHONHOME=home, PYTHONSAFEPATH="1", PYTHONIOENCODING="utf-8"),
        preexec_fn=die_with_parent,
    )
    child.stdin.write(script.encode("utf-8"))
    child.stdin.close()
    child.returncode = 0  # The launcher's watch reaps children; this object must not.
    return child.pid


def set_comm(title):
    """Name the process as setproctitle does: the kernel keeps 15 characters."""
    try:
        with open("/proc/self/comm", "w", encoding="utf-8") as file:
            file.write(title[:15])
    except OSError:
        pass
