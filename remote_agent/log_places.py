"""Where the log of a run is now: a launch onto the same path renames what is there to `LOG.<its own run id>`.

Told by these names and by the run records, of which either may be missing: a record that was collected, or that of
another account or of another node with the same folder, and a file that somebody removed.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Tuple

from remote_agent import runs
from remote_agent.node import Node
from remote_agent.protocol import AgentError, LogPlace


class LogPlaces:
    """As the records and folders are when it is made."""

    def __init__(self, node: Node) -> None:
        self.launches = _launches(node)
        """(run id, run.json) of every server that has a log, oldest first."""
        self._launched: Dict[str, List[str]] = {}
        """Run ids of servers by the log that they were launched onto."""
        self._names: Dict[str, List[str]] = {}
        for run_id, record in self.launches:
            self._launched.setdefault(_resolved(str(record["log_path"])), []).append(run_id)

    def of(self, run_id: str, log_path: str) -> LogPlace:
        """Where the lines are that were written to a log from a run's start on, until the next launch took the name.

        Run ids sort by time.
        """
        later = [other for other in self._takers(_resolved(log_path)) if other > run_id]
        if not later:
            return LogPlace(log_path)
        taken_by = min(later)
        renamed = f"{log_path}.{taken_by}"
        return LogPlace(renamed if os.path.isfile(renamed) else "", taken_by)

    def _takers(self, log: str) -> Iterator[str]:
        yield from self._launched.get(log, ())
        folder, base = os.path.split(log)
        if folder not in self._names:
            self._names[folder] = _listed(folder)
        for name in self._names[folder]:
            stem, _, run_id = name.rpartition(".")
            if stem == base and runs.is_run_id(run_id):
                yield run_id


def _launches(node: Node) -> List[Tuple[str, Dict[str, Any]]]:
    try:
        found = list(runs.each(node, "server"))
    except AgentError:
        return []
    return [(os.path.basename(path), record) for path, record in found if record.get("log_path")]


def _resolved(log_path: str) -> str:
    """The same for every way to the folder; the log itself may be a link, which is what a launch renames."""
    folder, base = os.path.split(log_path)
    return os.path.join(os.path.realpath(folder), base)


def _listed(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
