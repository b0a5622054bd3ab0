"""patch new ID: the folder of a patch of one's own. No node."""

from __future__ import annotations

import click

from console.cli._shared import Options, report, shared_options


@click.command("new")
@click.argument("patch_id", metavar="ID")
@shared_options
def COMMAND(options: Options, patch_id: str) -> int:
    """Write the folder of a new patch of your own, ready to be changed."""
    from console import paths
    from console.actions import new_patch
    from console.patches import folders

    here = paths.locate()
    return report(options, None, new_patch.run(patch_id, here.patches, folders.read(here.patches)))
