"""rules list|show ID: what the doctor looks for, why, and where that was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.cli._shared import Options, emit, shared_options
from console.units import plain

if TYPE_CHECKING:
    from console.lint.rule import Rule


@click.group("rules")
def COMMAND() -> None:
    """List and explain the rules behind findings."""


@COMMAND.command("list")
@shared_options
def _list(options: Options) -> int:
    """List the rules by id."""
    from console import lint

    rules = lint.all_rules()
    if options.as_json:
        emit(options, True, None, {"rules": [_json(each) for each in rules]})
    else:
        width = max(len(each.id) for each in rules)
        for each in rules:
            click.echo(plain(f"{each.id:{width}}  {each.title}"))
    return 0


@COMMAND.command("show")
@click.argument("rule_id", metavar="ID")
@shared_options
def _show(options: Options, rule_id: str) -> int:
    """Say why a rule exists and where the fact was read."""
    from console import lint

    lint.require_rules([rule_id])
    (rule,) = [each for each in lint.all_rules() if each.id == rule_id]
    if options.as_json:
        emit(options, True, None, {"rule": _json(rule)})
    else:
        for line in (f"{rule.id}: {rule.title}", f"why: {rule.why}", f"source: {rule.source}"):
            click.echo(plain(line))
    return 0


def _json(rule: Rule) -> dict[str, str]:
    return {"id": rule.id, "title": rule.title, "why": rule.why, "source": rule.source}
