"""SIMULATED: how fast the stand-in pretends to be, from `table.json`, and how many tokens each cycle yields."""

import json
import os
import random

_TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "table.json")
_DECK = 16


def load_table():
    with open(_TABLE, encoding="utf-8") as file:
        return json.load(file)


class Speed:
    """One point of the table: tokens per cycle, and what a cycle lasts, in seconds. `env` is the server's."""

    def __init__(self, table, wiring, steps, graphs, env):
        row = _row([row for row in table["rows"] if row["wiring"] == wiring], steps)
        factor = 1.0 - (1.0 - _nccl_factor(table["nccl"], env)) * row.get("nccl_share", 1.0)
        eager = 0.0 if graphs else table["eager"]["target_ms"] + steps * table["eager"]["draft_step_ms"]
        self.steps = steps
        self.accept_len = min(row["accept_len"], steps + 1.0)
        self.cycle_s = (row["verify_ms"] * factor + row["rest_ms"] + eager) / 1000.0
        self.spread = table["spread"]
        self.prefill = table["prefill"]

    def prefill_s(self, new_tokens):
        return (self.prefill["base_ms"] + self.prefill["per_token_ms"] * new_tokens) / 1000.0


def _nccl_factor(table, env):
    for name, factors in table.items():
        if env.get(name):
            return factors.get(env[name], 1.0)
    return 1.0


def _row(rows, steps):
    """The row of this number of steps; between and beyond the table's rows along a straight line."""
    rows = sorted(rows, key=lambda row: row["steps"])
    for row in rows:
        if row["steps"] == steps:
            return row
    if len(rows) == 1:
        return rows[0]
    upper = next((at for at, row in enumerate(rows) if row["steps"] > steps), len(rows) - 1) or 1
    low, high = rows[upper - 1], rows[upper]
    share = (steps - low["steps"]) / (high["steps"] - low["steps"])
    between = dict(low, steps=steps)
    for key in ("accept_len", "verify_ms", "rest_ms"):
        between[key] = low[key] + share * (high[key] - low[key])
    return between


class Cycles:
    """The cycles of one request: (seconds, accepted drafts) each. The same seed gives the same acceptance again.

    Acceptance comes from small shuffled decks, each with the wanted histogram, so that requests of a hundred cycles
    differ by a few percent and no more. `jitter` is the clock's noise.
    """

    def __init__(self, speed, seed, jitter):
        self._random, self._jitter, self._speed = random.Random(seed), jitter, speed
        wanted = (speed.accept_len - 1.0) * self._random.gauss(1.0, speed.spread["request_accept"])
        self._ladder = _ladder(min(max(wanted, 0.0), float(speed.steps)), speed.steps)
        self._length = speed.cycle_s * jitter.gauss(1.0, speed.spread["request_cycle"])
        self._deck = []

    def next(self):
        if not self._deck:
            offset = self._random.random()
            self._deck = [self._drafts((card + offset) / _DECK) for card in range(_DECK)]
            self._random.shuffle(self._deck)
        return self._length * max(0.5, self._jitter.gauss(1.0, self._speed.spread["cycle"])), self._deck.pop()

    def _drafts(self, quantile):
        return sum(1 for chance in self._ladder if quantile < chance)


def _ladder(mean, steps):
    """Chances to accept at least 1, 2, … drafts, each step as likely as the one before, that sum to `mean`."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if sum(middle**step for step in range(1, steps + 1)) < mean:
            low = middle
        else:
            high = middle
    return [high**step for step in range(1, steps + 1)]
