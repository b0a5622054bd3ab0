"""doctor NODE: the way there, option by option of its ssh configuration, then what is measured of the node."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, emit, error_json, node_argument, say, shared_options, tell_error
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.checkup.check import Check
    from console.actions.connection import Configured, Connected
    from console.errors import ConsoleError
    from console.paths import Paths


@click.command("doctor")
@node_argument
@click.option("--bundle", type=click.Path(path_type=Path), help="Write a redacted report for somebody else.")
@click.option("--keep-names", is_flag=True, help="Leave hosts, users and addresses in the bundle as they are.")
@shared_options
def COMMAND(node: str, bundle: Path | None, keep_names: bool, options: Options) -> int:
    """Say how NODE is reached, what of the ssh configuration counts, and what is measured of the node."""
    from console import paths
    from console.actions import connection
    from console.actions.checkup.bundle import require_free
    from console.actions.checkup.check import worst
    from console.cli._nodes import configured
    from console.errors import ConsoleError
    from console.launch.library import Library

    if bundle:
        require_free(bundle)
    here = paths.locate()
    way = asyncio.run(connection.configured(node, configured(node, here), Library(here.profiles).names()))
    told = _Told(options, way)
    try:
        told.connected = asyncio.run(_examined(node, options, here, told))
    except ConsoleError as error:  # what is known up to there is worth having just then
        told.error = error
    told.ok = told.error is None and not way.checked.problems and worst(told.checks) != "bad"
    if bundle:
        _write(bundle, node, told, keep_names)
    return told.end(node)


class _Told:
    """What was told so far, on the screen and for the end."""

    def __init__(self, options: Options, way: Configured) -> None:
        self.checks: list[Check] = []
        self.connected: Connected | None = None
        self.error: ConsoleError | None = None
        self.ok = False
        self.way = way
        self._options = options
        self._show(way.lines())

    def tell(self, check: Check) -> None:
        self.checks.append(check)
        self._show(check.lines())

    def lines(self) -> list[str]:
        return [*self.way.lines(), *(line for check in self.checks for line in check.lines())]

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "configuration": self.way.to_json(),
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
        if not self._options.as_json:
            for line in lines:
                click.echo(plain(line))
            sys.stdout.flush()


async def _examined(name: str, options: Options, here: Paths, told: _Told) -> Connected | None:
    from console.actions.checkup.examine import examine
    from console.cli._ask import terminal_ask
    from console.cli._nodes import make_node

    node = make_node(name, options, here, reconnect=False, ask=terminal_ask())
    try:
        return await examine(node, told.tell)
    finally:
        await node.agent.session.close()
        node.journal.close()


def _write(path: Path, node: str, told: _Told, keep_names: bool) -> None:
    from console.actions.checkup import bundle
    from console.actions.checkup.names import known_names

    report = {"schema": "spec-console/doctor/1", "ok": told.ok, "node": node, **told.to_json()}
    bundle.write(path, report, told.lines(), {} if keep_names else known_names(node, told.way, told.checks))
    say(f"{path} holds {' and '.join(bundle.CONTENTS)}; secrets are masked")
    kept = "names of hosts, users and addresses are in it" if keep_names else "hosts, users and addresses are replaced"
    say(f"{kept}: read it before you give it away")
