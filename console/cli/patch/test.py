"""patch test ID --wheel VERSION: any patch tried on released trees. No node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, emit, report, say, shared_options
from console.cli.patch._explain import anchors, explain_option, explained
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.actions.try_patch import TrialOutcome


@click.command("test")
@click.argument("patch_id", metavar="ID")
@click.option("--wheel", "versions", multiple=True, required=True, metavar="VERSION", help="A release, as 0.5.20.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="Only this file of the patch, as srt/models/x.py.")
@click.option("--index-url", metavar="URL", help="The package index; left out: the one that pip is set up with.")
@explain_option
@shared_options
def COMMAND(
    options: Options,
    patch_id: str,
    versions: tuple[str, ...],
    files: tuple[str, ...],
    index_url: str | None,
    explain: bool,
) -> int:
    """Try a patch on released trees, and take it off again."""
    import asyncio

    from console import paths
    from console.actions import try_patch
    from console.patches import folders
    from console.remote import released

    here = paths.locate()
    known = folders.read(here.patches)
    patch = known.get(patch_id)
    for note in known.notes([]):
        say(note)

    async def read(version: str, wanted: Sequence[str]) -> Mapping[str, bytes | None]:
        return await released.read(version, wanted, index_url=index_url, cache=here.wheels)

    outcome = asyncio.run(try_patch.run(patch, versions, files, read, say))
    if not explain:
        return report(options, None, outcome)
    return _explained(options, outcome)


def _explained(options: Options, outcome: TrialOutcome) -> int:
    if options.as_json:
        told = [{"version": each.version, **anchors(one.file for one in each.files)} for each in outcome.releases]
        emit(options, outcome.ok, None, {**outcome.to_json(), "explained": told})
    else:
        for line in outcome.lines():
            click.echo(plain(line))
        for release in outcome.releases:
            click.echo(plain(f"sglang {release.version}"))
            for line in explained([each.file for each in release.files]):
                click.echo(plain(line))
    return 0 if outcome.ok else 1
