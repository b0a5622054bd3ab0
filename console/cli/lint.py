"""lint [PROFILE | --command FILE|-]: what is wrong with a launch, from its files, without a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, emit, shared_options
from console.units import plain

if TYPE_CHECKING:
    from console.actions.doctor import Offline
    from console.actions.examination import Examination

MAX_COMMAND_BYTES = 1 << 20


@click.command("lint")
@click.argument("profile", required=False)
@click.option("--command", "command_file", metavar="FILE|-", help="A launch line of a shell instead of a profile.")
@click.option("--sglang-version", "version", metavar="V", help="The release that will serve, such as 0.5.13.")
@click.option("--draft", metavar="PATH", help="The draft's folder (or config.json) on this machine.")
@click.option("--target", metavar="PATH", help="The target's folder (or config.json) on this machine.")
@click.option("--node", "variables_of", metavar="NODE", help="Fill in this node's variables; it is not connected to.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change the profile.")
@shared_options
def COMMAND(
    options: Options,
    profile: str | None,
    command_file: str | None,
    variables_of: str | None,
    sets: tuple[str, ...],
    **given: str | None,
) -> int:
    """Say what is wrong with a launch, without a node. Also which layers its draft gets.

    Without a profile and a command, a --draft and a --target are judged. 1 when a finding is an error.
    """
    from console.actions.doctor import Offline, examine_pair
    from console.errors import UsageError

    if profile and command_file:
        raise UsageError("a profile or --command, not both")
    if not (profile or command_file or given["draft"]):
        raise UsageError("nothing to look at", "Name a profile, --command FILE, or --draft PATH and --target PATH.")
    where = Offline(given["version"], given["target"], given["draft"])
    if profile:
        found = _profile(profile, sets, variables_of, where)
    elif command_file:
        found = _line(command_file, where)
    else:
        found = examine_pair(where)
    if options.as_json:
        emit(options, found.ok, None, found.to_json())
    else:
        for line in found.lines():
            click.echo(plain(line))
    return 0 if found.ok else 1


def _profile(name: str, sets: tuple[str, ...], variables_of: str | None, where: Offline) -> Examination:
    from console import paths
    from console.actions.doctor import examine_profile
    from console.cli._nodes_offline import of_node
    from console.launch.library import Library
    from console.launch.loader import Inputs, resolve
    from console.patches import folders

    here = paths.locate()
    library, known = Library(here.profiles), folders.read(here.patches).options()
    variables, env, own = of_node(variables_of)
    resolved = resolve(name, library, Inputs(variables, sets=(*own, *sets), patch_options=known))
    baseline = resolved.profile.baseline
    other = resolve(baseline.profile, library, Inputs(variables, sets=own, patch_options=known)) if baseline else None
    found = examine_profile(resolved, where, other, env)
    return found.on(variables_of) if variables_of else found


def _line(file: str, where: Offline) -> Examination:
    from console.actions.doctor import examine_line
    from console.errors import UsageError

    try:
        with click.open_file(file, "rb") as stream:
            data = stream.read(MAX_COMMAND_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    if len(data) > MAX_COMMAND_BYTES:
        raise UsageError(f"{file} has more than {MAX_COMMAND_BYTES} bytes: no launch line")
    return examine_line(text, where, file)
