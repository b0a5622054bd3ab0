"""doctor NODE: the way there, option by option of its ssh configuration, then what is measured of the node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli import _several as several
from console.cli._shared import Options, emit, error_json, say, shared_options, tell_error
from console.errors import UsageError
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.checkup.check import Check
    from console.actions.connection import Configured, Connected
    from console.errors import ConsoleError
    from console.remote.prompts import Ask


@click.command("doctor")
@several.nodes_argument
@click.option("--bundle", type=click.Path(path_type=Path), help="Write a redacted report for somebody else.")
@click.option("--keep-names", is_flag=True, help="Leave hosts, users and addresses in the bundle as they are.")
@shared_options
def COMMAND(nodes: tuple[str, ...], bundle: Path | None, keep_names: bool, options: Options) -> int:
    """Say how nodes are reached, and what is wrong there.

    What of the ssh configuration counts on the way to NODE, and what is measured of the node."""
    import asyncio

    from console import new_file
    from console.cli._ask import terminal_ask
    from console.errors import ConsoleError

    if len(nodes) > 1:
        if bundle:
            raise UsageError("--bundle is about one node", "Name one NODE, or leave --bundle out.")
        return asyncio.run(_several(nodes, options))
    if bundle:
        new_file.require_free(bundle)
    told = _Told(options, is_live=True)
    try:
        asyncio.run(_examined(nodes[0], options, told, terminal_ask()))
    except ConsoleError as error:
        if told.way is None:
            raise
        told.error = error  # what is known up to there is worth having just then
    if bundle and options.dry_run:
        say(f"would write {bundle}")
    elif bundle:
        _write(bundle, nodes[0], told, keep_names)
    return told.end(nodes[0])


async def _several(names: tuple[str, ...], options: Options) -> int:
    from console.cli._ask import terminal_ask

    ask = several.in_turn(terminal_ask())

    async def look(one: several.One) -> None:
        one.outcome = told = _Told(options)
        await _examined(one.name, options, told, ask)

    ones = [several.One(name) for name in several.distinct(names)]
    await several.each(ones, look)
    return several.tell(options, ones)


class _Told:
    """What was told so far, on the screen and for the end."""

    def __init__(self, options: Options, *, is_live: bool = False) -> None:
        self.checks: list[Check] = []
        self.connected: Connected | None = None
        self.error: ConsoleError | None = None
        self.way: Configured | None = None
        self._is_shown = is_live and not options.as_json
        self._options = options

    @property
    def ok(self) -> bool:
        from console.actions.checkup.check import worst

        known = self.way is not None and not self.way.checked.problems
        return known and self.error is None and worst(self.checks) != "bad"

    def go(self, way: Configured) -> None:
        self.way = way
        self._show(way.lines())

    def tell(self, check: Check) -> None:
        self.checks.append(check)
        self._show(check.lines())

    def lines(self) -> list[str]:
        way = self.way.lines() if self.way else []
        return [*way, *(line for check in self.checks for line in check.lines())]

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "configuration": self.way.to_json() if self.way else None,
            "checks": [check.to_json() for check in self.checks],
            "connection": self.connected.to_json() if self.connected else None,
        }
        return {**told, "error": error_json(self.error)} if self.error else told

    def end(self, node: str) -> int:
        if self._options.as_json:
            emit(self._options, self.ok, node, self.to_json())
        if self.error:
            tell_error(self.error)
            return self.error.exit_code
        return 0 if self.ok else 1

    def _show(self, lines: Sequence[str]) -> None:
        if self._is_shown:
            for line in lines:
                click.echo(plain(line))
            sys.stdout.flush()


async def _examined(name: str, options: Options, told: _Told, ask: Ask | None) -> None:
    """Look at the way to a node, then at the node; raises what ended it, and `told` has what came before."""
    from console import paths
    from console.actions import connection
    from console.actions.checkup.examine import examine
    from console.cli._nodes import configured, make_node
    from console.config import did_you_mean
    from console.errors import Unreachable
    from console.launch.library import Library

    here = paths.locate()
    told.go(await connection.configured(name, configured(name, here), Library(here.profiles).names()))
    node = make_node(name, options, here, reconnect=False, ask=ask)
    try:
        told.connected = await examine(node, told.tell)
    except Unreachable as error:
        did_you_mean(error, name, here.nodes_file)
        raise
    finally:
        await node.agent.session.close()
        node.journal.close()


def _write(path: Path, node: str, told: _Told, keep_names: bool) -> None:
    assert told.way
    from console.actions.checkup import bundle
    from console.actions.checkup.names import known_names

    report = {"schema": "spec-console/doctor/1", "ok": told.ok, "node": node, **told.to_json()}
    bundle.write(path, report, told.lines(), {} if keep_names else known_names(node, told.way, told.checks))
    say(f"{path} holds {' and '.join(bundle.CONTENTS)}; secrets are masked")
    kept = "names of hosts, users and addresses are in it" if keep_names else "hosts, users and addresses are replaced"
    say(f"{kept}: read it before you give it away")
