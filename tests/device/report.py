"""Owns the report of a device run: parts, what each expected and got, its figures; and every verb that was run.

Written after each part, so that a run that is cut off leaves what it saw.
"""

from __future__ import annotations

import json
import threading
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class PartFailed(Exception):
    """A part cannot go on; what it expected before is kept."""


class OutOfTime(PartFailed):
    """The deadline of the run is near."""


@dataclass
class Part:
    """One part of the run."""

    name: str
    state: str = "running"
    """running, done, failed (with `why`) or skipped (with `why`)."""
    why: str = ""
    took_s: float = 0.0
    expectations: list[dict[str, Any]] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def expect(self, name: str, got: Any, expected: Any, ok: bool | None = None) -> bool:
        """Record what was expected and what was got; equal is fine unless `ok` says otherwise."""
        is_ok = got == expected if ok is None else bool(ok)
        self.expectations.append({"name": name, "expected": expected, "got": got, "ok": is_ok})
        print(f"[{self.name}] {'ok  ' if is_ok else 'FAIL'} {name}: {_short(got)}", flush=True)
        if not is_ok:
            print(f"[{self.name}]      expected {_short(expected)}", flush=True)
        return is_ok

    def figure(self, name: str, value: Any) -> None:
        self.figures[name] = value
        print(f"[{self.name}]      {name} = {_short(value)}", flush=True)

    @property
    def ok(self) -> bool:
        return self.state == "done" and all(each["ok"] for each in self.expectations)


class Report:
    """The report of one run, in `out`: report.json and verbs.ndjson."""

    def __init__(self, out: Path, head: dict[str, Any]) -> None:
        self.out = out
        self.head = head
        self.parts: list[Part] = []
        self._started = time.monotonic()
        self._lock = threading.Lock()

    @contextmanager
    def part(self, name: str) -> Iterator[Part]:
        """Run a part: whatever it raises ends it and is recorded, and the next one goes on."""
        part, started = Part(name), time.monotonic()
        with self._lock:
            self.parts.append(part)
        try:
            yield part
            part.state = "done"
        except PartFailed as error:
            part.state, part.why = "failed", str(error)
        except Exception:  # noqa: BLE001 - a fault of a part must not cost the others their GPUs
            part.state, part.why = "failed", traceback.format_exc()
        finally:
            part.took_s = round(time.monotonic() - started, 1)
            print(f"[{name}] {part.state} after {part.took_s} s {part.why.strip()[-800:]}".rstrip(), flush=True)
            self.write()

    def skip(self, name: str, why: str) -> None:
        with self._lock:
            self.parts.append(Part(name, "skipped", why))
        print(f"[{name}] skipped: {why}", flush=True)
        self.write()

    def verb(self, **told: Any) -> None:
        """Keep a verb: its words, its exit code, what it printed."""
        line = json.dumps(told)
        with self._lock, (self.out / "verbs.ndjson").open("a") as file:
            file.write(line + "\n")

    def write(self) -> None:
        with self._lock:
            parts = [{**vars(part), "ok": part.ok} for part in self.parts]
            ran = [part for part in self.parts if part.state != "skipped"]
            took_s = round(time.monotonic() - self._started, 1)
            told = {**self.head, "took_s": took_s, "ok": all(each.ok for each in ran), "parts": parts}
            (self.out / "report.json").write_text(json.dumps(told, indent=1, default=str) + "\n")

    def summary(self) -> str:
        lines = [
            f"{part.name:24} {part.state:8} {sum(e['ok'] for e in part.expectations)}/{len(part.expectations)} "
            f"{part.took_s:6.1f} s  {part.why.strip().splitlines()[-1][:120] if part.why else ''}".rstrip()
            for part in self.parts
        ]
        missed = [
            f"  {p.name}: {e['name']}: {_short(e['got'])}" for p in self.parts for e in p.expectations if not e["ok"]
        ]
        return "\n".join([*lines, *(["not as expected:", *missed] if missed else [])])


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 300 else f"{text[:297]}..."
