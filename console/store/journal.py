"""Owns what is remembered: probe runs with their provenance, and the actions that were taken on nodes."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.probe.differences import differs
from console.probe.stored import StoredRun
from console.store.database import explained, transaction
from console.store.records import dump
from console.store.scrub import scrubbed
from console.store.sweeps import SweepStore

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from console.probe.fingerprint import Fingerprint

_COLUMNS = "id, at, node, profile, profile_hash, kind, launch_id, fingerprint, result"
_NEWEST_FIRST = "ORDER BY at DESC, seq DESC"
SPOOL_LIMIT = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """One action on a node: what was asked, and what came of it."""

    action_id: int
    at: float
    node: str
    verb: str
    request: Mapping[str, Any]
    outcome: Mapping[str, Any]


class Journal(SweepStore):
    """The open journal. One writes at a time; a second console waits a few seconds, then gets Refused.

    Every method raises ConsoleError with a hint where the file is damaged, held, or of a newer console.
    """

    def add_run(self, run: StoredRun, spool: bytes | None = None) -> bool:
        """Keep a run, with the raw spool it came from if given. False: a run of this id is kept already."""
        values = (
            run.run_id,
            run.at,
            run.node,
            run.profile,
            run.profile_hash,
            run.kind,
            run.launch_id,
            dump(scrubbed(run.fingerprint.to_json())),
            dump(run.result.to_json()),
            None if spool is None else zlib.compress(spool),
        )
        insert = f"INSERT OR IGNORE INTO runs ({_COLUMNS}, spool) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        with explained(self.path), transaction(self._connection):
            return self._connection.execute(insert, values).rowcount == 1

    def get_run(self, reference: str) -> StoredRun:
        """Return a run by id, by a beginning of its id that no other run shares, or by @N, the N-th newest from @1.

        Raises UsageError where that names no run, or several.
        """
        if reference.startswith("@"):
            return self._nth(reference)
        found = self._select("WHERE id = :id", {"id": reference})
        found = found or self._select("WHERE substr(id, 1, length(:id)) = :id LIMIT 9", {"id": reference})
        if not reference or not found:
            raise UsageError(f"There is no run {reference!r}.", "`spec-console runs` lists them; @1 is the newest.")
        if len(found) > 1:
            ids = ", ".join(run.run_id for run in found)
            raise UsageError(f"{reference!r} is the beginning of several runs.", f"One of: {ids}.")
        return found[0]

    def has_run(self, run_id: str) -> bool:
        """Say whether a run of just this id is kept."""
        with explained(self.path):
            return self._connection.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone() is not None

    def list_runs(self, node: str | None = None, kind: str | None = None, limit: int = 100) -> tuple[StoredRun, ...]:
        """Return the newest runs first."""
        where = "WHERE (:node IS NULL OR node = :node) AND (:kind IS NULL OR kind = :kind)"
        return self._select(f"{where} {_NEWEST_FIRST} LIMIT :n", {"node": node, "kind": kind, "n": limit})

    def find_baseline(
        self, node: str, expected: Fingerprint, varies: Sequence[str] = (), profile: str | None = None
    ) -> StoredRun | None:
        """Return the newest valid run on `node` that a verdict against `expected` may rest on, None without one.

        That is: same workload, and nothing material differs but what `varies` declares. `profile` narrows to the runs
        of one profile.
        """
        where = "WHERE node = :node AND kind = 'probe' AND (:profile IS NULL OR profile = :profile)"
        query = f"SELECT {_COLUMNS} FROM runs {where} {_NEWEST_FIRST}"
        with explained(self.path):
            rows = self._connection.execute(query, {"node": node, "profile": profile})
            for run in self._runs(rows):
                found = differs(run.fingerprint, expected, varies)
                apart = any(each.withholds or each.key.startswith("workload.") for each in found)
                if run.result.valid and not apart:
                    return run
        return None

    def spool(self, run_id: str) -> bytes | None:
        """Return the raw spool of a run, None where it was not kept."""
        with explained(self.path):
            row = self._connection.execute("SELECT spool FROM runs WHERE id = ?", (run_id,)).fetchone()
        if row is None or row[0] is None:
            return None
        try:
            return zlib.decompressobj().decompress(row[0], SPOOL_LIMIT)
        except zlib.error as error:
            raise self._damaged(run_id, error) from None

    def add_action(
        self, at: float, node: str, verb: str, request: Mapping[str, Any], outcome: Mapping[str, Any]
    ) -> int:
        """Keep what was asked and what came of it, secrets masked; return the record's number."""
        values = (at, node, verb, dump(scrubbed(dict(request))), dump(scrubbed(dict(outcome))))
        insert = "INSERT INTO actions (at, node, verb, request, outcome) VALUES (?, ?, ?, ?, ?)"
        with explained(self.path), transaction(self._connection):
            return int(self._connection.execute(insert, values).lastrowid or 0)

    def list_actions(self, node: str | None = None, limit: int = 100) -> tuple[ActionRecord, ...]:
        """Return the newest actions first."""
        query = "SELECT id, at, node, verb, request, outcome FROM actions"
        order = "WHERE (:node IS NULL OR node = :node) ORDER BY at DESC, id DESC LIMIT :n"
        with explained(self.path):
            rows = self._connection.execute(f"{query} {order}", {"node": node, "n": limit}).fetchall()
        return tuple(
            ActionRecord(number, at, where, verb, self._load(number, request), self._load(number, outcome))
            for number, at, where, verb, request, outcome in rows
        )

    def _nth(self, reference: str) -> StoredRun:
        digits = reference[1:]
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 9 or int(digits) < 1:
            raise UsageError(f"{reference!r} names no run.", "@1 is the newest run, @2 the one before it.")
        found = self._select(f"{_NEWEST_FIRST} LIMIT 1 OFFSET :before", {"before": int(digits) - 1})
        if not found:
            raise UsageError(f"There are fewer than {int(digits)} runs.", "`spec-console runs` lists them.")
        return found[0]

    def _select(self, clauses: str, values: Mapping[str, Any]) -> tuple[StoredRun, ...]:
        with explained(self.path):
            return tuple(self._runs(self._connection.execute(f"SELECT {_COLUMNS} FROM runs {clauses}", values)))

    def _runs(self, rows: sqlite3.Cursor) -> Iterator[StoredRun]:
        names = ["run_id", *_COLUMNS.split(", ")[1:]]
        for row in rows:
            data = dict(zip(names, row, strict=True))
            data["fingerprint"] = self._load(data["run_id"], data["fingerprint"])
            data["result"] = self._load(data["run_id"], data["result"])
            try:
                yield StoredRun.from_json(data)
            except (TypeError, ValueError, AttributeError, KeyError) as error:
                raise self._damaged(data["run_id"], error) from None
