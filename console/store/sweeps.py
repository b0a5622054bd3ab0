"""Owns the sweeps in the journal: each point as it stands, written before and after it is measured."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from typing import TYPE_CHECKING

from console.errors import Refused, UsageError
from console.probe.sweep import StoredSweep, SweepPoint
from console.store.database import explained, transaction
from console.store.records import Records, dump
from console.store.scrub import scrubbed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.probe.sweep import SweepState

_COLUMNS = "id, at, node, profile, request, state"
_NEWEST_FIRST = "ORDER BY at DESC, seq DESC"


class SweepStore(Records):
    """The sweeps of the journal. Raises as every part of it."""

    def add_sweep(self, sweep: StoredSweep) -> None:
        """Keep a sweep that is about to begin, with all its points."""
        values = (sweep.sweep_id, sweep.at, sweep.node, sweep.profile, dump(scrubbed(dict(sweep.request))), sweep.state)
        with explained(self.path), transaction(self._connection):
            self._connection.execute(f"INSERT INTO sweeps ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", values)
            for point in sweep.points:
                self._put_point(sweep.sweep_id, point)

    def set_sweep(self, sweep_id: str, state: SweepState) -> None:
        with explained(self.path), transaction(self._connection):
            self._connection.execute("UPDATE sweeps SET state = ? WHERE id = ?", (state, sweep_id))

    def put_point(self, sweep_id: str, point: SweepPoint) -> None:
        """Keep a point as it is now."""
        with explained(self.path), transaction(self._connection):
            self._put_point(sweep_id, point)

    def get_sweep(self, reference: str, node: str | None = None) -> StoredSweep:
        """Return a sweep by id, by the beginning of its id, or by @N, the N-th newest from @1 (on `node`, if given).

        Raises UsageError where that names no sweep, or several.
        """
        known = self.list_sweeps(node)
        if reference.startswith("@") and reference[1:].isascii() and reference[1:].isdigit() and len(reference) < 10:
            found = known[int(reference[1:]) - 1 : int(reference[1:])] if int(reference[1:]) else ()
        else:
            found = tuple(each for each in known if reference and each.sweep_id.startswith(reference))
        if len(found) != 1:
            listed = ", ".join(each.sweep_id for each in known[:5]) or "there is none"
            told = "is the beginning of several sweeps" if found else "names no sweep"
            raise UsageError(f"{reference[:60]!r} {told}", f"Newest first: {listed}.")
        return found[0]

    def list_sweeps(self, node: str | None = None, limit: int = 1000) -> tuple[StoredSweep, ...]:
        """Return the newest sweeps first."""
        query = f"SELECT {_COLUMNS} FROM sweeps WHERE (:node IS NULL OR node = :node) {_NEWEST_FIRST} LIMIT :n"
        with explained(self.path):
            rows = self._connection.execute(query, {"node": node, "n": limit}).fetchall()
        return tuple(
            StoredSweep(each, at, where, profile, self._load(each, request), state, self._points(each))
            for each, at, where, profile, request, state in rows
        )

    @contextlib.contextmanager
    def hold_sweeps(self, node: str) -> Iterator[None]:
        """Be the only process of this journal that sweeps `node`; however it ends, the hold ends with it.

        Raises Refused where another one does.
        """
        name = f"sweep-{hashlib.sha256(node.encode()).hexdigest()[:12]}.lock"
        with explained(self.path):
            held = os.open(self.path.parent / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Refused(f"another console of yours is sweeping {node}", "Wait for its end, or stop it.") from None
            yield
        finally:
            os.close(held)

    def _put_point(self, sweep_id: str, point: SweepPoint) -> None:
        insert = "INSERT OR REPLACE INTO sweep_points (sweep_id, number, point) VALUES (?, ?, ?)"
        self._connection.execute(insert, (sweep_id, point.number, dump(point.to_json())))

    def _points(self, sweep_id: str) -> tuple[SweepPoint, ...]:
        query = "SELECT point FROM sweep_points WHERE sweep_id = ? ORDER BY number"
        with explained(self.path):
            rows = self._connection.execute(query, (sweep_id,)).fetchall()
        return tuple(self._point(sweep_id, text) for (text,) in rows)

    def _point(self, sweep_id: str, text: str) -> SweepPoint:
        try:
            return SweepPoint.from_json(self._load(sweep_id, text))
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise self._damaged(sweep_id, error) from None
