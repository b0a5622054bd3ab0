"""patch plan|apply|verify|revert NODE [ID…]: the installed SGLang, changed and taken back to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, confirm, emit, node_argument, on_node, report, say, shared_options
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.actions.node import Node
    from console.actions.patch_state import PatchRequest


@click.group("patch")
def COMMAND() -> None:
    """Plan, apply, verify or revert source patches of the installed SGLang."""


def _sub_verb(work: Callable[[Node, Options, PatchRequest], Awaitable[int]]) -> Callable[..., int]:
    def verb(node: str, options: Options, ids: tuple[str, ...], **chosen: Any) -> int:
        from console.actions.patch_state import PatchRequest

        request = PatchRequest(ids=ids, **chosen)
        return on_node(node, options, lambda connected: work(connected, options, request))

    return verb


def _add(name: str, help_text: str, work: Callable[[Node, Options, PatchRequest], Awaitable[int]]) -> None:
    function: Callable[..., Any] = shared_options(_sub_verb(work))
    for decorate in (
        click.option("--python", help="The serving Python, where no profile names it."),
        click.option("--delivery", type=click.Choice(["in-place", "overlay"]), default="in-place", show_default=True),
        click.option("--all-models", is_flag=True, help="Every model file that the patch knows."),
        click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change the profile."),
        click.option("--profile", help="Choose files by the architectures of this profile's checkpoints."),
        click.argument("ids", nargs=-1, metavar="[ID]..."),
        node_argument,
    ):
        function = decorate(function)
    COMMAND.add_command(click.command(name, help=help_text)(function))


async def _plan(node: Node, options: Options, request: PatchRequest) -> int:
    from console.actions import apply_patch

    plan = await apply_patch.plan(node, request)
    if options.as_json:
        emit(options, not plan.blockers, node.name, {**plan.to_json(), "diff": plan.diff()})
    else:
        for line in (*plan.lines(), *plan.diff().splitlines()):
            click.echo(plain(line))
    return 1 if plan.blockers else 0


async def _apply(node: Node, options: Options, request: PatchRequest) -> int:
    from console.actions import apply_overlay, apply_patch
    from console.errors import UsageError
    from console.patches.library import patches

    if not request.ids and request.profile is None:
        raise UsageError("which patches?", f"Name them, or a profile: {', '.join(patches())}.")
    plan = await apply_patch.plan(node, request)
    if (plan.changes and not plan.blockers) or options.dry_run:
        if not confirm(options, (*plan.lines(), *plan.diff().splitlines()), plan.to_json(), node.name):
            return 0
    if request.delivery == "overlay":
        return report(options, node.name, await apply_overlay.run(node, plan, say))
    return report(options, node.name, await apply_patch.run(node, plan, say))


async def _verify(node: Node, options: Options, request: PatchRequest) -> int:
    from console.actions import apply_overlay, apply_patch

    if request.delivery == "overlay":
        return report(options, node.name, await apply_overlay.verify(node, request))
    return report(options, node.name, await apply_patch.verify(node, request))


async def _revert(node: Node, options: Options, request: PatchRequest) -> int:
    from console.actions import revert_patch

    plan = await revert_patch.plan(node, request)
    if options.dry_run or not plan.is_empty:
        if not confirm(options, plan.lines(), plan.to_json(), node.name):
            return 0
    return report(options, node.name, await revert_patch.run(node, plan, say))


_add("plan", "Show what would be changed, with the diff.", _plan)
_add("apply", "Change the files, read them back, compile them.", _apply)
_add("verify", "Read the files again: applied, untouched since, compiling?", _verify)
_add("revert", "Put every original back and prove it.", _revert)
