"""draft show|set|revert NODE --profile P: which layers' outputs a draft gets, changed in its config and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, confirm, emit, node_argument, on_node, report, say, shared_options
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.actions.draft_layers import DraftRequest
    from console.actions.node import Node

    Work = Callable[[Node, Options, DraftRequest], Awaitable[int]]


@click.group("draft")
def COMMAND() -> None:
    """Show, set or revert the layer ids in a draft's config."""


class _Ids(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.3 on
    """Whole numbers with commas between."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        try:
            return tuple(int(each) for each in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of whole numbers such as 2,30,58", param, ctx)


def _add(name: str, help_text: str, work: Work, *more: Callable[..., Any]) -> None:
    def verb(node: str, options: Options, **chosen: Any) -> int:
        from console.actions.draft_layers import DraftRequest

        return on_node(node, options, lambda connected: work(connected, options, DraftRequest(**chosen)))

    function: Callable[..., Any] = shared_options(verb)
    for decorate in (
        *more,
        click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change the profile."),
        click.option("--profile", required=True, help="The profile whose draft is meant."),
        node_argument,
    ):
        function = decorate(function)
    COMMAND.add_command(click.command(name, help=help_text)(function))


async def _show(node: Node, options: Options, request: DraftRequest) -> int:
    from console.actions import draft_layers

    state = await draft_layers.read_draft(node, request)
    if options.as_json:
        emit(options, state.agrees is not False, node.name, state.to_json())
    else:
        for line in state.lines():
            click.echo(plain(line))
    return 1 if state.agrees is False else 0


async def _set(node: Node, options: Options, request: DraftRequest) -> int:
    from console.actions import edit_layers

    plan = await edit_layers.plan(node, request)
    if options.dry_run or plan.refusal or not plan.is_empty:
        if not confirm(options, list(plan.lines()), plan.to_json(), node.name, plan.refusal):
            return 0
    return report(options, node.name, await edit_layers.run(node, plan, say))


async def _revert(node: Node, options: Options, request: DraftRequest) -> int:
    from console.actions import edit_layers

    plan = await edit_layers.plan_revert(node, request)
    if options.dry_run or not plan.is_empty:
        if not confirm(options, list(plan.lines()), plan.to_json(), node.name):
            return 0
    return report(options, node.name, await edit_layers.run_revert(node, plan, say))


_add("show", "Say which layers' outputs are captured, and which were trained.", _show)
_add(
    "set",
    "Write other ids into the draft's config, and read it back.",
    _set,
    click.option("--trained", is_flag=True, help="The ids that give the profile's training.capture_layer_outputs."),
    click.option("--ids", type=_Ids(), help="These ids, such as 2,30,58."),
)
_add("revert", "Put the draft's original config back and prove it.", _revert)
