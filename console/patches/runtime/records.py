# spec-console runtime: what the runtime files share
"""Writing records from inside a server: which are due, whose rank it is, one write each, and no failure to the server.

Put into each runtime file in place of its import: a node gets one file a patch. Environment of a channel NAME:
NAME_FIRST records of each kind are written, then every NAME_EVERY (0: none); NAME_RANKS ("0,3") and NAME_SITES
("target.aux") say who writes, default all.
"""

import itertools
import os
import re
import select
import sys

_MAX_LINE = 4096  # PIPE_BUF on Linux: up to here a write to a pipe is never mixed with another process's
_TRIES = 5
_WAIT_S = 0.02

_rank_cache = []


class Channel:
    """The records of one patch. `seq` counts calls, so a gap says how many records the limits left out."""

    def __init__(self, name, first, every):
        self.prefix = f"[{name}]"
        self._first = number(name + "_FIRST", first)
        self._every = number(name + "_EVERY", every)
        self._ranks = frozenset(map(int, re.findall(r"\d+", os.environ.get(name + "_RANKS", ""))))
        self._sites = frozenset(re.findall(r"[\w.]+", os.environ.get(name + "_SITES", "")))
        self._calls = itertools.count(1)
        self._seen = {}
        self._failed = set()

    def next_seq(self):
        return next(self._calls)

    def is_chosen(self, site):
        return (not self._sites or site in self._sites) and (not self._ranks or rank() in self._ranks)

    def is_due(self, key):
        count = self._seen[key] = self._seen.get(key, 0) + 1
        return self.is_due_at(count)

    def is_due_at(self, count):
        return count <= self._first or (self._every > 0 and (count - self._first) % self._every == 0)

    def write(self, text):
        _write(f"{self.prefix} {text}\n")

    def report(self, site, error):
        """Write once for each site that recording failed, and with what."""
        if site in self._failed:
            return
        self._failed.add(site)
        try:
            self.write(f"site={token(site)} rank={rank()} error={type(error).__name__}")
        except Exception:
            return


def number(name, default):
    try:
        return max(0, int(os.environ.get(name, "")))
    except ValueError:
        return default


def model_of(owner):
    """Return the architecture of the module's config, else its class."""
    architectures = getattr(getattr(owner, "config", None), "architectures", None)
    return token(architectures[0] if architectures else type(owner).__name__)


def mode_of(forward_batch):
    name = getattr(getattr(forward_batch, "forward_mode", None), "name", None)
    return "?" if name is None else token(name)


def token(text):
    return re.sub(r"[^A-Za-z0-9_.:+-]", "_", str(text))[:96]


def rank():
    """Return the rank in torch.distributed's world (tensor × pipeline parallel), else the one in the process title."""
    if _rank_cache:
        return _rank_cache[0]
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        _rank_cache.append(int(distributed.get_rank()))
        return _rank_cache[0]
    return _title_rank()


def _title_rank():
    try:
        with open("/proc/self/cmdline", "rb") as file:  # SGLang's title: sglang::scheduler_TP0
            found = re.match(rb"sglang::scheduler\w*_TP(\d+)", file.read(4096))
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def _write(line):
    data = line.encode("ascii", "replace")
    if len(data) > _MAX_LINE:
        raise ValueError("record too long")
    for _ in range(_TRIES):
        try:
            data = data[os.write(1, data) :]
        except BlockingIOError:  # a pipe set non-blocking whose reader is slow: wait a little, then let it go
            select.select([], [1], [], _WAIT_S)
        if not data:
            return


def untraced(function):
    """Return `function` such that torch.compile calls it and does not trace it."""
    try:
        return sys.modules["torch._dynamo"].disable(function)
    except Exception:
        return function
