"""config locate|show|validate|schema: the user's files, what they come to, and what is wrong with them; no node."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, emit, say, shared_options
from console.units import plain

if TYPE_CHECKING:
    from console.actions.config_files import Fault, Value


@click.group("config")
def COMMAND() -> None:
    """Say which files count, what they set, and what is wrong."""


@COMMAND.command("locate")
@shared_options
def _locate(options: Options) -> int:
    """List the files and folders looked for, and which are there."""
    from console import paths
    from console.actions.config_files import places, variables

    found, set_ = list(places(paths.locate())), variables(os.environ)
    if options.as_json:
        told = {"places": [each.to_json() for each in found], "environment": [each.to_json() for each in set_]}
        emit(options, True, None, told)
        return 0
    for each in found:
        click.echo(plain(f"{each.what:8}  {each.state:7}  {each.path}  ({each.note})"))
    for variable in set_:
        click.echo(plain(f"environment: {variable.key}={variable.value}"))
    return 0


@COMMAND.command("show")
@click.argument("node", required=False)
@click.option("--profile", metavar="NAME|FILE", help="Show a profile, with the settings and variables of NODE.")
@shared_options
def _show(options: Options, node: str | None, profile: str | None) -> int:
    """Show what counts in the end, and who set it.

    A node's settings, all nodes' without NODE, or a profile's."""
    from console import paths
    from console.actions.config_files import node_values, profile_values
    from console.config import load_nodes

    here = paths.locate()
    told: dict[str, tuple[Value, ...]]
    if profile is not None:
        resolved, values = profile_values(profile, here, node)
        told = {resolved.profile.name: values}
    else:
        told = {name: node_values(name, here) for name in ([node] if node else load_nodes(here.nodes_file))}
    if options.as_json:
        kind = "profiles" if profile else "nodes"
        emit(options, True, node, {kind: {name: [v.to_json() for v in values] for name, values in told.items()}})
        return 0
    for name, values in told.items():
        click.echo(plain(f"{name}:"))
        for each in values:
            click.echo(plain(f"  {each.key}: {json.dumps(each.value, ensure_ascii=False)}  ({each.source})"))
    if not told:
        click.echo(plain(f"no nodes in {here.nodes_file}; a name that ssh knows needs no entry"))
    return 0


@COMMAND.command("validate")
@shared_options
def _validate(options: Options) -> int:
    """Check nodes.yaml, keys.yaml, profiles and patches. Each error has its file, line and column."""
    from console import paths
    from console.actions.config_files import faults, profile_files
    from console.errors import UsageError

    here = paths.locate()
    found = [*faults(here), *_of_keys()]
    files = [str(path) for path in (here.nodes_file, here.keys_file, *profile_files(here)) if path.exists()]
    if options.as_json:
        emit(options, not found, None, {"files": files, "errors": [each.to_json() for each in found]})
    else:
        for each in found:
            say(each.line())
        click.echo(plain(f"{len(files)} files, {len(found)} errors"))
    return UsageError.exit_code if found else 0


@COMMAND.command("schema")
@click.argument("form", type=click.Choice(["profile", "nodes"]))
@shared_options
def _schema(options: Options, form: str) -> int:
    """Print the JSON Schema of a profile or of nodes.yaml. It is made of the forms that validate."""
    from console.launch.schema import json_schema, nodes_schema

    schema = json_schema() if form == "profile" else nodes_schema()
    if options.as_json:
        emit(options, True, None, {"json_schema": schema})
    else:
        click.echo(json.dumps(schema, indent=2, ensure_ascii=True))
    return 0


def _of_keys() -> list[Fault]:
    """What is wrong with the keymap, as `keys check` says."""
    from console import paths
    from console.actions.config_files import Fault
    from console.errors import UsageError
    from console.tui import keymap
    from console.tui.keys import KeyTable

    path = paths.locate().keys_file
    try:
        _, problems = keymap.load(path, KeyTable())
    except UsageError as error:
        return [Fault("keys", str(path), error.message)]
    return [Fault("keys", each.where, each.message, each.nearest) for each in problems if each.severity == "error"]
