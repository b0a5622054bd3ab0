"""`python -m tests.wheels.table`: release × patch × file, as docs/patches.md keeps it. `--write` puts it there.

+ the file takes the patch, · it has nothing to instrument or is not in the release, ! a conflict.
"""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath

from console.patches import library
from console.patches.plan import plan, wanted_paths
from tests.wheels import expected, released

DOCS = Path(__file__).parents[2] / "docs" / "patches.md"
BEGIN, END = "<!-- table: python -m tests.wheels.table --write -->\n", "<!-- end of table -->\n"
_SIGNS = {"appliable": "+", "not-applicable": "·", "conflict": "!"}


def table(versions: tuple[str, ...] = expected.RELEASES) -> str:
    """Return the tables of all patches in Markdown; raise released.Unavailable for a release that cannot be had."""
    return "\n".join(_of(patch, versions) for patch in library.patches().values())


def _of(patch: library.Patch, versions: tuple[str, ...]) -> str:
    paths = wanted_paths(patch, all_models=True)
    columns = []
    for version in versions:
        files = plan(patch, released.read(version, paths)).files
        columns.append({one.path: _SIGNS[one.state] for one in files})
    lines = [f"### {patch.id}", "", f"| file | {' | '.join(versions)} |", f"|---|{'---|' * len(versions)}"]
    for path in paths[1:]:
        cells = " | ".join(column[path] for column in columns)
        lines.append(f"| {PurePosixPath(path).stem} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, or write it into the documentation."""
    text = table()
    if "--write" not in sys.argv[1:]:
        print(text)
        return
    before, _, rest = DOCS.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
