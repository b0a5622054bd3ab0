"""SIMULATED: requests. Each cycle comes at its deadline, with as many tokens as the table's histogram says."""

import os
import random
import threading
import time

from sglang.standin import log, tokens
from sglang.standin.speeds import Cycles, Speed, load_table

_ALL_CYCLES = 8
_THEN_EVERY = 16
"""Ranks run the first cycles of a request for real, then one in so many: the rest is only timed."""


def choose_speed(server_args, captured):
    """The row of the table that this server plays: what is captured decides, not what was meant."""
    table = load_table()
    if not server_args.speculative:
        wiring = "none"
    elif captured is None:
        wiring = "eagle_flag"
    else:
        wiring = "right" if captured == table["trained_layer_outputs"] else "wrong"
    steps, graphs = server_args.speculative_num_steps or 0, not server_args.disable_cuda_graph
    return Speed(table, wiring, steps, graphs, os.environ)


class Chunk:
    __slots__ = ("accepted", "ids")

    def __init__(self, ids, accepted):
        self.ids, self.accepted = ids, accepted


class Batch:
    """The requests that run now, their decode log line, and the counters that /server_info shows."""

    def __init__(self, server_args, engine):
        self.args, self.engine = server_args, engine
        self.speed = choose_speed(server_args, engine.captured)
        self.vocab_size = server_args._target.text().vocab_size
        self.running = 0
        self.tokens_held = 0
        self.last_gen_throughput = 0.0
        self._jitter = random.Random(os.getpid())
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(server_args.max_running_requests or 2048)
        self._seen = []
        self._busy_file = _busy_file()
        self._reset_window()
        self._verified = self._verified_tokens = 0

    def generate(self, ids, max_new_tokens):
        """Yield chunks at their times: the first token, then one chunk for each cycle."""
        with self._slots:
            cached = self._enter(ids)
            held = len(ids)
            try:
                walk = tokens.answer(ids, self.vocab_size)
                cycles = Cycles(self.speed, tokens.seed_of(ids), self._jitter)
                deadline = time.monotonic() + self.speed.prefill_s(len(ids) - cached)
                self.engine.prefill(len(ids) - cached)
                _sleep_until(deadline)
                yield Chunk([next(walk)], None)
                produced, number = 1, 0
                while produced < max_new_tokens:
                    self._forward(number)
                    seconds, accepted = cycles.next()
                    deadline += seconds
                    _sleep_until(deadline)
                    fresh = [next(walk) for _ in range(min(accepted + 1, max_new_tokens - produced))]
                    produced, number, held = produced + len(fresh), number + 1, held + len(fresh)
                    self._count(len(fresh))
                    yield Chunk(fresh, accepted)
            finally:
                self._leave(held)

    def cached_tokens(self, ids):
        """How much of this prompt an earlier one began with; one token is always computed."""
        best = 0
        for seen in self._seen:
            same = 0
            while same < min(len(seen), len(ids) - 1) and seen[same] == ids[same]:
                same += 1
            best = max(best, same)
        return best

    def flush_cache(self):
        with self._lock:
            if self.running:
                return False
            self._seen = []
            self._verified = self._verified_tokens = 0
            return True

    def accept_length(self):
        return round(self._verified_tokens / self._verified, 4) if self._verified else None

    def _enter(self, ids):
        with self._lock:
            cached = self.cached_tokens(ids)
            log.line(
                "Prefill batch, #new-seq: 1, #new-token: %d, #cached-token: %d, token usage: %.2f, #running-req: %d, "
                "#queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): %.2f"
                % (len(ids) - cached, cached, self._usage(), self.running, (len(ids) - cached) / self._idle()),
                self._rank(),
            )
            self._seen = [*self._seen[-63:], list(ids)]
            self.running += 1
            self.tokens_held += len(ids)
            if self.running == 1:
                _touch(self._busy_file)
            return cached

    def _leave(self, held):
        with self._lock:
            self.running -= 1
            self.tokens_held -= held
            if not self.running:
                _remove(self._busy_file)

    def _forward(self, number):
        """Python code runs only where no CUDA graph is replayed."""
        if self.args.disable_cuda_graph and (number < _ALL_CYCLES or number % _THEN_EVERY == 0):
            self.engine.cycle(max(1, self.running))

    def _count(self, fresh):
        with self._lock:
            self.tokens_held += fresh
            self._verified += 1
            self._verified_tokens += fresh
            self._window_cycles += 1
            self._window_tokens += fresh
            self._window_rounds += 1.0 / max(1, self.running)
            if self._window_rounds >= self.args.decode_log_interval - 1e-6:
                self._log_decode()
                self._reset_window()

    def _log_decode(self):
        fields = ["#running-req: %d" % self.running, "#token: %d" % self.tokens_held]
        fields.append("token usage: %.2f" % self._usage())
        if self.args.speculative:
            accept_len = self._window_tokens / self._window_cycles
            fields.append("accept len: %.2f" % accept_len)
            fields.append("accept rate: %.2f" % ((accept_len - 1) / max(1, self.args.speculative_num_draft_tokens - 1)))
        self.last_gen_throughput = self._window_tokens / self._idle()
        fields.append("cuda graph: %s" % (not self.args.disable_cuda_graph))
        fields.append("gen throughput (token/s): %.2f" % self.last_gen_throughput)
        fields.append("#queue-req: 0")
        log.line("Decode batch, " + ", ".join(fields), self._rank())

    def _reset_window(self):
        self._window_start = time.monotonic()
        self._window_cycles = self._window_tokens = 0
        self._window_rounds = 0.0

    def _idle(self):
        """Seconds since the last line, idle time in it: SGLang's first window after a pause is as wrong as this."""
        return max(1e-3, time.monotonic() - self._window_start)

    def _usage(self):
        return self.tokens_held / max(1, self.engine.max_total_num_tokens)

    def _rank(self):
        return None if self.args.tp_size == 1 else 0


def _sleep_until(deadline):
    left = deadline - time.monotonic()
    if left > 0:
        time.sleep(left)


def _busy_file():
    """Tells the stub nvidia-smi that the GPUs work."""
    home = os.environ.get("SPEC_CONSOLE_DEMO")
    return os.path.join(home, "run", "%d.busy" % os.getpid()) if home else None


def _touch(path):
    try:
        if path:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").close()
    except OSError:
        pass


def _remove(path):
    try:
        if path:
            os.unlink(path)
    except OSError:
        pass
