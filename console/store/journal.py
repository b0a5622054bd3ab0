"""Owns what is remembered: probe runs with their provenance, and the actions that were taken on nodes."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.probe.context import RunContext
from console.probe.differences import differs, is_apart
from console.probe.stored import StoredRun
from console.store.database import explained, transaction
from console.store.labels import LabelStore, RunLabels
from console.store.records import dump
from console.store.scrub import scrubbed
from console.store.search import WORDS_LIMIT, conditions
from console.store.sweeps import SweepStore

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from console.probe.fingerprint import Fingerprint

_COLUMNS = "id, at, node, profile, profile_hash, kind, launch_id, fingerprint, result"
_NEWEST_FIRST = "ORDER BY at DESC, seq DESC"
_KEPT, _DELETED = "deleted_at IS NULL", "deleted_at IS NOT NULL"
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


class Journal(SweepStore, LabelStore):
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

        Raises UsageError where that names no run, or several; a deleted one is none.
        """
        if reference.startswith("@"):
            return self._nth(reference)
        found = self._select(f"WHERE id = :id AND {_KEPT}", {"id": reference})
        found = found or self._select(f"WHERE substr(id, 1, length(:id)) = :id AND {_KEPT} LIMIT 9", {"id": reference})
        if not reference or not found:
            self._say_if_deleted(reference)
            raise UsageError(f"There is no run {reference!r}.", "`spec-console runs` lists them; @1 is the newest.")
        if len(found) > 1:
            ids = ", ".join(run.run_id for run in found)
            raise UsageError(f"{reference!r} is the beginning of several runs.", f"One of: {ids}.")
        return found[0]

    def has_run(self, run_id: str) -> bool:
        """Say whether a run of just this id is kept, deleted or not."""
        with explained(self.path):
            return self._connection.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone() is not None

    def list_runs(
        self,
        node: str | None = None,
        kind: str | None = None,
        limit: int = 100,
        *,
        search: str = "",
        tags: Sequence[str] = (),
        deleted: bool = False,
    ) -> tuple[StoredRun, ...]:
        """Return the newest runs first; `search`: those that have all its words (see `search`), `deleted`: only those
        that are."""
        found, values = conditions(search, tags)
        given = (("node = :node", node), ("kind = :kind", kind))
        found += [condition for condition, value in given if value is not None]
        where = " AND ".join([_DELETED if deleted else _KEPT, *found])
        return self._select(
            f"WHERE {where} {_NEWEST_FIRST} LIMIT :n", {**values, "node": node, "kind": kind, "n": limit}
        )

    def run_numbers(self) -> dict[str, int]:
        """Return the N of every run that is not deleted, by run id: `get_run` takes it as @N."""
        with explained(self.path):
            rows = self._connection.execute(f"SELECT id FROM runs WHERE {_KEPT} {_NEWEST_FIRST}").fetchall()
        return {run_id: number for number, (run_id,) in enumerate(rows, 1)}

    def count_runs(self, *, deleted: bool = False) -> int:
        """Return how many runs are kept, or how many of them are deleted."""
        query = f"SELECT count(*) FROM runs WHERE {_DELETED if deleted else _KEPT}"
        with explained(self.path):
            return int(self._connection.execute(query).fetchone()[0])

    def find_baseline(
        self, node: str, expected: Fingerprint, varies: Sequence[str] = (), profile: str | None = None
    ) -> StoredRun | None:
        """Return the newest valid run on `node` that a verdict against `expected` may rest on, None without one.

        That is: same workload, and nothing material differs but what `varies` declares; a pinned one before all others.
        `profile` narrows to the runs of one profile.
        """
        where = f"WHERE node = :node AND kind = 'probe' AND {_KEPT} AND (:profile IS NULL OR profile = :profile)"
        query = f"SELECT {_COLUMNS} FROM runs {where} ORDER BY pinned_at DESC, at DESC, seq DESC"
        with explained(self.path):
            rows = self._connection.execute(query, {"node": node, "profile": profile})
            for run in self._runs(rows):
                apart = any(map(is_apart, differs(run.fingerprint, expected, varies)))
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

    def add_verdict(
        self, at: float, baseline: StoredRun, candidate: StoredRun, varies: Sequence[str], outcome: Mapping[str, Any]
    ) -> None:
        """Keep what a comparison said; the same said again is kept once."""
        request = {"baseline": baseline.run_id, "candidate": candidate.run_id, "varies": list(varies)}
        values = (candidate.node, "compare", dump(request), dump(scrubbed(dict(outcome))))
        query = "SELECT 1 FROM actions WHERE node = ? AND verb = ? AND request = ? AND outcome = ?"
        insert = "INSERT INTO actions (node, verb, request, outcome, at) VALUES (?, ?, ?, ?, ?)"
        with explained(self.path):
            if self._connection.execute(query, values).fetchone() is not None:
                return  # without waiting for another console's write
            with transaction(self._connection):
                self._connection.execute(insert, (*values, at))

    def list_actions(
        self, node: str | None = None, limit: int = 100, *, verb: str | None = None, search: str = ""
    ) -> tuple[ActionRecord, ...]:
        """Return the newest actions first; `search`: those that have all its words."""
        text = "node || ' ' || verb || ' ' || request || ' ' || outcome"
        words = {f"word{number}": word for number, word in enumerate(search.lower().split()[:WORDS_LIMIT])}
        found = [f"instr(lower({text}), :{name}) > 0" for name in words]
        where = " AND ".join(["(:node IS NULL OR node = :node)", "(:verb IS NULL OR verb = :verb)", *found])
        query = f"SELECT id, at, node, verb, request, outcome FROM actions WHERE {where} ORDER BY at DESC, id DESC"
        with explained(self.path):
            values: dict[str, Any] = {**words, "node": node, "verb": verb, "n": limit}
            rows = self._connection.execute(f"{query} LIMIT :n", values).fetchall()
        return tuple(
            ActionRecord(number, at, where, verb, self._load(number, request), self._load(number, outcome))
            for number, at, where, verb, request, outcome in rows
        )

    def count_actions(self) -> dict[str, int]:
        """Return how many actions of each verb are kept, by verb."""
        with explained(self.path):
            rows = self._connection.execute("SELECT verb, count(*) FROM actions GROUP BY verb ORDER BY verb")
            return dict(rows.fetchall())

    def context(self, run: StoredRun) -> RunContext:
        """Return what is known of a run beyond its measurement."""
        labels = self.labels(run.node).get(run.run_id, RunLabels())
        launch = next((each for each in self._before(run, "launch") if _server_id(each) == run.launch_id), None)
        told = {"request": dict(launch.request), "outcome": dict(launch.outcome)} if launch and run.launch_id else {}
        return RunContext(labels.tags, labels.note, labels.pinned, told, self._diff(run))

    def _diff(self, run: StoredRun) -> str:
        """What was put in last, before the run, of just the patches that it had."""
        wanted = sorted(each.patch_id for each in run.fingerprint.patches)
        found = (each.request for each in self._before(run, "patch apply") if each.request.get("diff"))
        diffs = (str(each["diff"]) for each in found if each.get("patches") == wanted)
        return next(diffs, "") if wanted else ""

    def _before(self, run: StoredRun, verb: str) -> Iterator[ActionRecord]:
        return (each for each in self.list_actions(run.node, 1000, verb=verb) if each.at <= run.at)

    def _nth(self, reference: str) -> StoredRun:
        digits = reference[1:]
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 9 or int(digits) < 1:
            raise UsageError(f"{reference!r} names no run.", "@1 is the newest run, @2 the one before it.")
        found = self._select(f"WHERE {_KEPT} {_NEWEST_FIRST} LIMIT 1 OFFSET :before", {"before": int(digits) - 1})
        if not found:
            raise UsageError(f"There are fewer than {int(digits)} runs.", "`spec-console runs` lists them.")
        return found[0]

    def _say_if_deleted(self, reference: str) -> None:
        if self._select(f"WHERE id = :id AND {_DELETED}", {"id": reference}):
            raise UsageError(
                f"Run {reference} was deleted.", f"`spec-console runs undelete {reference}` brings it back."
            )

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


def _server_id(launch: ActionRecord) -> str:
    server = launch.outcome.get("server")
    return str(server.get("id", "")) if isinstance(server, dict) else str(launch.request.get("server", ""))
