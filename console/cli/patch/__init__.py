"""patch plan|apply|verify|revert NODE [ID…], import NODE FILE, test ID, new ID: the installed SGLang, changed and taken
back. One sub-verb a file, as verbs are; the four that plan the patches of a node's tree share `tree`.
"""

from __future__ import annotations

import click

from console.cli.patch import import_, new, test, tree


@click.group("patch")
def COMMAND() -> None:
    """Patch the installed SGLang: verified, and taken back whole.

    What is changed comes off to the byte. Patches of your own are written and tried here too."""


for _verb in (*tree.VERBS, import_.COMMAND, test.COMMAND, new.COMMAND):
    COMMAND.add_command(_verb)
