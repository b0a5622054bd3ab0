"""patch plan|apply|verify|revert NODE [ID…], import NODE FILE, test ID, new ID: the installed SGLang, changed and taken
back. One sub-verb a file, as verbs are; the four that plan the patches of a node's tree share `tree`.
"""

from __future__ import annotations

import click

from console.cli.patch import import_, new, test, tree


@click.group("patch")
def COMMAND() -> None:
    """Change the installed SGLang in ways that are verified and taken back to the byte; write and try patches."""


for _verb in (*tree.VERBS, import_.COMMAND, test.COMMAND, new.COMMAND):
    COMMAND.add_command(_verb)
