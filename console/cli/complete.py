"""complete WORD…: what a shell may put next, one a line. Called at every Tab: fast, and silent whatever is wrong."""

from __future__ import annotations

import click


@click.command("complete", hidden=True, add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.option("--notes", is_flag=True)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def COMMAND(words: tuple[str, ...], notes: bool) -> None:
    """Print candidates for the last of WORDS, with --notes a tab and what each means behind it."""
    from console import paths
    from console.cli._candidates import candidates
    from console.units import plain

    try:
        found = candidates(words, paths.locate())
    except Exception:  # noqa: BLE001 - under a cursor there is no place for an error; the verb itself will tell it
        return
    for each in found:
        click.echo(f"{each.word}\t{plain(each.note)}" if notes and each.note else each.word)
