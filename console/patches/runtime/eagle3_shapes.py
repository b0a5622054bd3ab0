# spec-console runtime: eagle3-shapes
"""Shape records of EAGLE-3 tensors, from inside an SGLang server that has EAGLE3_DEBUG=1.

Put here by spec-console and called by the lines marked `# spec-console eagle3-shapes`; taken away by its revert.
A record is one line, written with one os.write to the server's standard output:

    [EAGLE3_DEBUG] site=draft.fc_in rank=0 model=LlamaForCausalLMEagle3 mode=EXTEND seq=12 shape=(6,21504) ...

Only shapes, types and devices are read, never a value: nothing here waits for the GPU, and nothing is illegal while a
CUDA graph is captured. No failure reaches the server.

Environment: EAGLE3_DEBUG_FIRST (200) records of each site, model and mode are written, then every EAGLE3_DEBUG_EVERY
(100; 0: none); EAGLE3_DEBUG_RANKS ("0,3"; default all) says which ranks write.
"""

import itertools
import os
import re
import select
import sys

_PREFIX = "[EAGLE3_DEBUG]"
_MAX_LINE = 4096  # PIPE_BUF on Linux: up to here a write to a pipe is never mixed with another process's
_TRIES = 5
_WAIT_S = 0.02

_calls = itertools.count(1)
_seen = {}
_failed = set()
_rank_cache = []


def _number(name, default):
    try:
        return max(0, int(os.environ.get(name, "")))
    except ValueError:
        return default


def _ranks():
    listed = re.findall(r"\d+", os.environ.get("EAGLE3_DEBUG_RANKS", ""))
    return frozenset(map(int, listed))


_FIRST = _number("EAGLE3_DEBUG_FIRST", 200)
_EVERY = _number("EAGLE3_DEBUG_EVERY", 100)
_RANKS = _ranks()


def record(site, owner, value, forward_batch=None):
    """Write the shape of `value` (a tensor, or a list of tensors; None: nothing is written).

    `owner` is the module at the site, for its config's architecture; `forward_batch` has the `forward_mode`.
    """
    if value is None:
        return
    try:
        seq = next(_calls)  # counts calls, so a gap says how many records the limit left out
        rank = _rank()
        if _RANKS and rank not in _RANKS:
            return
        model, mode = _model(owner), _mode(forward_batch)
        if _is_due((site, model, mode)):
            head = f"{_PREFIX} site={site} rank={rank} model={model} mode={mode} seq={seq}"
            _write(f"{head} {_describe(value)}\n")
    except Exception as error:
        _report(site, error)


def _is_due(key):
    count = _seen[key] = _seen.get(key, 0) + 1
    return count <= _FIRST or (_EVERY > 0 and (count - _FIRST) % _EVERY == 0)


def _describe(value):
    if hasattr(value, "shape"):
        tensors, shapes = [value], "shape=" + _shape(value)
    else:
        tensors = list(value)
        shapes = "shapes=" + (";".join(map(_shape, tensors)) or "[]")
    return f"{shapes} dtype={_all('dtype', tensors)} device={_all('device', tensors)}"


def _shape(tensor):
    return f"({','.join(str(int(size)) for size in tensor.shape)})"


def _all(name, tensors):
    """Return the one value that all have, or all the different ones, as 'torch.bfloat16' → 'bfloat16'."""
    found = dict.fromkeys(_token(str(getattr(tensor, name)).replace("torch.", "")) for tensor in tensors)
    return ";".join(found) or "?"


def _model(owner):
    architectures = getattr(getattr(owner, "config", None), "architectures", None)
    return _token(architectures[0] if architectures else type(owner).__name__)


def _mode(forward_batch):
    name = getattr(getattr(forward_batch, "forward_mode", None), "name", None)
    return "?" if name is None else _token(name)


def _token(text):
    return re.sub(r"[^A-Za-z0-9_.:+-]", "_", str(text))[:96]


def _rank():
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


def _report(site, error):
    """Write once for each site that recording failed, and with what."""
    if site in _failed:
        return
    _failed.add(site)
    try:
        _write(f"{_PREFIX} site={_token(site)} rank={_rank()} error={type(error).__name__}\n")
    except Exception:
        return


def _untraced(function):
    """Return `function` such that torch.compile calls it and does not trace it."""
    try:
        return sys.modules["torch._dynamo"].disable(function)
    except Exception:
        return function


record = _untraced(record)
