"""profiles list|show|validate: launch profiles, without a node."""

from __future__ import annotations

import click

from console.cli._shared import Options, emit, shared_options
from console.units import plain


@click.group("profiles")
def COMMAND() -> None:
    """List, show and validate launch profiles."""


@COMMAND.command("list")
@shared_options
def _list(options: Options) -> int:
    """List the profiles that are found, and where."""
    from console import paths
    from console.launch.library import Library

    found = Library(paths.locate().profiles).names()
    if options.as_json:
        emit(options, True, None, {"profiles": {name: str(path) for name, path in sorted(found.items())}})
    else:
        for name, path in sorted(found.items()):
            click.echo(plain(f"{name}  {path}"))
    return 0


@COMMAND.command("show")
@click.argument("profile")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE")
@click.option("--shell", is_flag=True, help="The launch line as one would type it.")
@shared_options
def _show(options: Options, profile: str, sets: tuple[str, ...], shell: bool) -> int:
    """Show a profile as it resolves; node variables stay as they are written."""
    from console import paths, yaml_file
    from console.launch.command import render, shell_line
    from console.launch.library import Library
    from console.launch.loader import Inputs, resolve
    from console.launch.record import profile_record

    resolved = resolve(profile, Library(paths.locate().profiles), Inputs(sets=sets))
    line = shell_line(render(resolved), wrap=True)
    if options.as_json:
        values = {"profile": profile_record(resolved.profile), "sha256": resolved.sha256, "shell": line}
        emit(options, True, None, {**values, "sources": list(resolved.sources)})
    else:
        click.echo(plain(line if shell else yaml_file.dump(profile_record(resolved.profile)), lines=True))
    return 0


@COMMAND.command("validate")
@click.argument("profile")
@shared_options
def _validate(options: Options, profile: str) -> int:
    """Check a profile; every error with file, line and column."""
    from console import paths
    from console.launch.library import Library
    from console.launch.loader import resolve

    resolved = resolve(profile, Library(paths.locate().profiles))
    if options.as_json:
        emit(options, True, None, {"profile": resolved.profile.name, "sources": list(resolved.sources)})
    else:
        click.echo(plain(f"{resolved.profile.name} is valid ({', '.join(resolved.sources)})"))
    return 0
