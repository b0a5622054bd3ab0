"""Print every case, what must be found, and what is found: `python -m tests.cases.table`; 1 when they differ."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING

from tests.cases.log_cases import LOG_CASES

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = tuple[str, str, str, str]
LAUNCHES = "tests.cases.launch_cases"


def rows() -> Iterator[Row]:
    """(kind, case, expected, got)."""
    for case in LOG_CASES:
        yield "log", case.id, _told(case.expects), _told((f.rule, f.severity) for f in case.explain().findings)
    if importlib.util.find_spec(LAUNCHES):
        launches = importlib.import_module(LAUNCHES)
        for case in launches.LAUNCH_CASES:
            yield "launch", case.id, _told(case.expects), _told((f.rule, f.severity) for f in launches.found(case))


def _told(findings: object) -> str:
    return ", ".join(f"{severity} {rule}" for rule, severity in findings) or "nothing"  # type: ignore[attr-defined]


def main() -> int:
    made = list(rows())
    head = ("KIND", "CASE", "EXPECTED", "GOT")
    widths = [max(len(row[column]) for row in (head, *made)) for column in range(4)]
    for row in (head, *made):
        mark = "" if row is head or row[2] == row[3] else "  <<"
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + mark)
    wrong = sum(expected != got for _, _, expected, got in made)
    print(f"{len(made)} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
