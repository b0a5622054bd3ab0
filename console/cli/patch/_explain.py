"""What --explain adds: each anchor with its file and line, and the unified diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from console.patches.plan import FilePlan

explain_option = click.option("--explain", is_flag=True, help="Show each anchor with file and line, and the diff.")


def places(files: Iterable[FilePlan]) -> Iterator[str]:
    """One line for each place: file:line in the unpatched file, the function, the site, the anchor."""
    for file in files:
        for each in file.found:
            yield f"{file.path}:{each.line} {each.owner}  {each.site} {each.where} {each.anchor}"


def explained(files: Sequence[FilePlan]) -> Iterator[str]:
    """The places, then the diff."""
    yield from places(files)
    for file in files:
        yield from file.diff.splitlines()


def anchors(files: Iterable[FilePlan]) -> dict[str, Any]:
    """The same as JSON data."""
    kept = list(files)
    return {
        "anchors": [
            {
                "path": file.path,
                "line": each.line,
                "owner": each.owner,
                "site": each.site,
                "where": each.where,
                "anchor": each.anchor,
            }
            for file in kept
            for each in file.found
        ],
        "diff": "".join(file.diff for file in kept),
    }
