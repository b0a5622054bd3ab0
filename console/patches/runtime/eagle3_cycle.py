# spec-console runtime: eagle3-cycle
"""Times of each speculative cycle, from inside an SGLang server that has EAGLE3_CYCLE=1.

Put here by spec-console and called by the lines marked `# spec-console eagle3-cycle`; taken away by its revert.
A record is one line a cycle, written with one os.write to the server's standard output:

    [EAGLE3_CYCLE] rank=0 seq=12 worker=EAGLEWorkerV2 bs=1 draft_ms=3.125 verify_ms=9.500 target_ms=9.125
    extend_ms=1.250 cycle_ms=14.000 gap_ms=0.250 clock=cuda

`cycle_ms`: one call of the worker's forward_batch_generation that verified something; `draft_ms`, `verify_ms` and
`extend_ms` are its stages, `target_ms` the target's forward within verify; `gap_ms`: from the end of the cycle before
to the start of this one, where no other call lies between. `-`: that stage did not run.

clock=cuda: events on the worker's current stream, read once the GPU has passed them: nothing waits for it, so a cycle
is written during a later one. At most 64 wait; beyond, cycles go unrecorded, as gaps in `seq` show. clock=host: no
CUDA here, and what is measured is the time of the call. No failure reaches the server. One thread runs the worker.

Environment: EAGLE3_CYCLE_FIRST (100) cycles are recorded, then every EAGLE3_CYCLE_EVERY (50; 0: none);
EAGLE3_CYCLE_RANKS ("0,3") says which ranks record, default all.
"""

import collections
import functools
import sys
import time

from console.patches.runtime.records import Channel, rank, token

_CHANNEL = Channel("EAGLE3_CYCLE", 100, 50)
_RING = 64
_STAGES = ("draft", "verify", "target", "extend")


class _HostClock:
    name = "host"

    def mark(self):
        return time.perf_counter()

    def is_past(self, mark):
        return True

    def is_capturing(self):
        return False

    def ms(self, start, end):
        return (end - start) * 1e3

    def give_back(self, marks):
        return


class _CudaClock:
    name = "cuda"

    def __init__(self, cuda):
        self._cuda = cuda
        self._free = []

    def mark(self):
        event = self._free.pop() if self._free else self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def is_past(self, mark):
        return mark.query()

    def is_capturing(self):
        return self._cuda.is_current_stream_capturing()

    def ms(self, start, end):
        return start.elapsed_time(end)

    def give_back(self, marks):
        self._free.extend(marks)


class _Cycle:
    """One call of the worker; `marks` are taken only while it is timed."""

    def __init__(self, call, clock, worker, batch_size):
        self.call, self.clock, self.worker, self.batch_size = call, clock, worker, batch_size
        self.seq = 0
        self.has_verified = False
        self.eve = self.start = self.end = None
        self.open = {}
        self.spans = {stage: [] for stage in _STAGES}

    def inner_marks(self):
        spans = [mark for stage in _STAGES for span in self.spans[stage] for mark in span]
        return spans + list(self.open.values()) + ([] if self.eve is None else [self.eve])


class _State:
    def __init__(self):
        self.clock = None
        self.current = None
        self.calls = 0
        self.cycles = 0
        self.waiting = collections.deque()
        self.last = None
        self.eve = None  # of a cycle that is not recorded, before one that will be: its call, and the mark of its end


_state = _State()


def cycle(function):
    """Decorate the worker's entry: one call of it may be a cycle."""

    @functools.wraps(function)
    def timed(*args, **kwargs):
        begun = _guarded(_begin, args)
        try:
            result = function(*args, **kwargs)
        except BaseException:
            _guarded(_end, begun, False)
            raise
        _guarded(_end, begun, True)
        return result

    return timed


def draft(function):
    return _staged("draft", function)


def verify(function):
    return _staged("verify", function)


def extend(function):
    return _staged("extend", function)


def target_start(site):
    _guarded(_open, "target")


def target_end(site):
    _guarded(_close, "target")


def _staged(stage, function):
    @functools.wraps(function)
    def timed(*args, **kwargs):
        _guarded(_open, stage)
        try:
            return function(*args, **kwargs)
        finally:
            _guarded(_close, stage)

    return timed


def _guarded(function, *args):
    try:
        return function(*args)
    except Exception as error:
        _CHANNEL.report("cycle", error)
        return None


def _begin(args):
    if _state.current is not None or not _CHANNEL.is_chosen("cycle"):
        return None
    if _state.clock is None:
        _state.clock = _clock()
    if _state.clock.is_capturing():
        return None
    _read()
    _state.calls += 1
    begun = _Cycle(_state.calls, _state.clock, token(type(args[0]).__name__) if args else "?", _batch_size(args))
    if _is_next_due():
        begun.start, begun.eve = begun.clock.mark(), _eve_of(begun)
    _state.current = begun
    return begun


def _is_next_due():
    return _CHANNEL.is_due_at(_state.cycles + 1) and len(_state.waiting) < _RING


def _eve_of(begun):
    """Take the mark at which the call right before ended; one of an earlier call is given back."""
    eve, _state.eve = _state.eve, None
    if eve is None or eve[0] == begun.call - 1:
        return eve and eve[1]
    begun.clock.give_back([eve[1]])
    return None


def _end(begun, is_whole):
    if begun is None:
        return
    _state.current = None
    _state.cycles += begun.has_verified
    if begun.start is None:
        if begun.has_verified and is_whole and _is_next_due():
            _state.eve = (begun.call, begun.clock.mark())
        return
    if not begun.has_verified or not is_whole:
        begun.clock.give_back([begun.start, *begun.inner_marks()])
        return
    begun.seq = _state.cycles
    begun.end = begun.clock.mark()
    _state.waiting.append(begun)
    _read()


def _open(stage):
    current = _state.current
    if current is None:
        return
    current.has_verified = current.has_verified or stage == "verify"
    if current.start is not None and stage not in current.open:
        current.open[stage] = current.clock.mark()


def _close(stage):
    current = _state.current
    if current is not None and stage in current.open:
        current.spans[stage].append((current.open.pop(stage), current.clock.mark()))


def _read():
    """Write the cycles that the GPU has passed, in their order."""
    while _state.waiting and _state.waiting[0].clock.is_past(_state.waiting[0].end):
        one = _state.waiting.popleft()
        _guarded(_tell, one)
        last, _state.last = _state.last, one
        one.clock.give_back([*one.inner_marks(), one.start])
        if last is not None:
            one.clock.give_back([last.end])


def _tell(one):
    last = _state.last
    before = last.end if last is not None and last.call == one.call - 1 else one.eve
    times = {stage: sum(one.clock.ms(*span) for span in spans) for stage, spans in one.spans.items() if spans}
    times["cycle"] = one.clock.ms(one.start, one.end)
    if before is not None:
        times["gap"] = one.clock.ms(before, one.start)
    listed = " ".join(f"{name}_ms={_ms(times.get(name))}" for name in (*_STAGES, "cycle", "gap"))
    head = f"rank={rank()} seq={one.seq} worker={one.worker} bs={one.batch_size}"
    _CHANNEL.write(f"{head} {listed} clock={one.clock.name}")


def _ms(value):
    return "-" if value is None else f"{value:.3f}"


def _batch_size(args):
    requests = getattr(args[1], "reqs", None) if len(args) > 1 else None
    return len(requests) if isinstance(requests, (list, tuple)) else "-"


def _clock():
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return _CudaClock(cuda) if cuda is not None and cuda.is_available() else _HostClock()
