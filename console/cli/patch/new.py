"""patch new ID: the folder of a patch of one's own. No node."""

from __future__ import annotations

import click

from console.cli._shared import Options, report, shared_options, show_plan


@click.command("new")
@click.argument("patch_id", metavar="ID")
@shared_options
def COMMAND(options: Options, patch_id: str) -> int:
    """Write the folder of a new patch of your own, ready to be changed."""
    from console import paths
    from console.actions import new_patch
    from console.patches import folders

    here = paths.locate()
    known = folders.read(here.patches)
    if options.dry_run:
        planned = new_patch.plan(patch_id, here.patches, known)
        show_plan(options, list(planned.lines()), planned.to_json(), None, planned.refusal)
        return 0
    return report(options, None, new_patch.run(patch_id, here.patches, known))
