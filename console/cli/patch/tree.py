"""patch plan|apply|verify|revert NODE [ID…]: patches of the installed tree, or of an overlay of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, confirm, emit, node_argument, on_node, report, say, shared_options
from console.cli.patch._explain import anchors, explain_option, places
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.actions.apply_patch import PatchPlanView
    from console.actions.node import Node
    from console.actions.patch_state import PatchRequest
    from console.patches.plan import FilePlan

    Work = Callable[[Node, Options, PatchRequest, bool], Awaitable[int]]


def _sub_verb(work: Work) -> Callable[..., int]:
    def verb(node: str, options: Options, ids: tuple[str, ...], explain: bool = False, **chosen: Any) -> int:
        from console.actions.patch_state import PatchRequest

        request = PatchRequest(ids=ids, **chosen)
        return on_node(node, options, lambda connected: work(connected, options, request, explain))

    return verb


def _made(name: str, help_text: str, work: Work, *more: Callable[..., Any]) -> click.Command:
    function: Callable[..., Any] = shared_options(_sub_verb(work))
    for decorate in (
        click.option("--python", help="The serving Python, where no profile names it."),
        click.option(
            "--delivery",
            type=click.Choice(["overlay", "in-place"]),
            help="overlay (apply's default): patched copies beside the tree; in-place: the tree itself. verify looks "
            "at what is there.",
        ),
        click.option("--all-models", is_flag=True, help="Every model file that the patch knows."),
        click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change the profile."),
        click.option("--profile", help="Choose files by the architectures of this profile's checkpoints."),
        click.argument("ids", nargs=-1, metavar="[ID]..."),
        node_argument,
        *more,
    ):
        function = decorate(function)
    return click.command(name, help=help_text)(function)


async def _plan(node: Node, options: Options, request: PatchRequest, explain: bool) -> int:
    from console.actions import apply_patch

    plan = await apply_patch.plan(node, request)
    if options.as_json:
        told = anchors(_files(plan)) if explain else {"diff": plan.diff()}
        emit(options, not plan.blockers, node.name, {**plan.to_json(), **told})
    else:
        for line in _shown(plan, explain):
            click.echo(plain(line))
    return 1 if plan.blockers else 0


async def _apply(node: Node, options: Options, request: PatchRequest, explain: bool) -> int:
    from console.actions import apply_patch, deliver
    from console.errors import UsageError

    if not request.ids and request.profile is None:
        raise UsageError("which patches?", f"Name them, or a profile: {', '.join(node.patches.ids)}.")
    plan = await apply_patch.plan(node, request)
    refusal = deliver.refusal(plan)
    if plan.changes or refusal or options.dry_run:
        told = anchors(_files(plan)) if explain else {}
        if not confirm(options, _shown(plan, explain), {**plan.to_json(), **told}, node.name, refusal):
            return 0
    return report(options, node.name, await deliver.run(node, plan, say))


async def _verify(node: Node, options: Options, request: PatchRequest, _explain: bool) -> int:
    from console import paths
    from console.actions import deliver, tree_integrity
    from console.actions.patch_state import find_requested

    patches = await deliver.verify(node, request)
    tree = await tree_integrity.hand_edits(node, await find_requested(node, request), cache=paths.locate().wheels)
    return report(options, node.name, tree_integrity.Verified(patches, tree))


async def _revert(node: Node, options: Options, request: PatchRequest, _explain: bool) -> int:
    from console.actions import revert_patch

    plan = await revert_patch.plan(node, request)
    if options.dry_run or not plan.is_empty:
        if not confirm(options, plan.lines(), plan.to_json(), node.name):
            return 0
    return report(options, node.name, await revert_patch.run(node, plan, say))


def _files(plan: PatchPlanView) -> list[FilePlan]:
    return [file for each in plan.tree.plans for file in each.files]


def _shown(plan: PatchPlanView, explain: bool) -> tuple[str, ...]:
    """The states, with --explain every place, and the diff."""
    return (*plan.lines(), *(places(_files(plan)) if explain else ()), *plan.diff().splitlines())


VERBS = (
    _made("plan", "Show what would be changed, with the diff.", _plan, explain_option),
    _made("apply", "Change the files, read them back, compile them.", _apply, explain_option),
    _made("verify", "Read the files again: applied, untouched since, compiling?", _verify),
    _made("revert", "Put every original back and prove it.", _revert),
)
"""The four, as click commands."""
