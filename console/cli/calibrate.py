"""calibrate NODE: launch a pair whose acceptance is known, and say stage by stage whether the wiring is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, confirm, emit, node_argument, on_node, report, say, shared_options
from console.errors import EXIT_OK, ServerDied, UsageError
from console.units import plain

if TYPE_CHECKING:
    from console.actions.calibrate import CalibrateRequest
    from console.actions.node import Node


@click.command("calibrate")
@node_argument
@click.option("--profile", metavar="P", help="Whose flags; without it the profile that was launched here last.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set a profile key.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set an environment variable of the server.")
@click.option("--arch", type=click.Choice(["llama", "deepseek_v2"]), help="Of the target; default: as the profile's.")
@click.option("--p", type=float, default=0.9, show_default=True, help="Share of tokens that the draft knows.")
@click.option("--draft-vocab", type=int, default=512, show_default=True, help="Tokens that the draft can say.")
@click.option("--positions", "looks_back", is_flag=True, help="Attention matters: positions, rope, KV cache, MLA.")
@click.option("--graphs", type=click.Choice(["profile", "both"]), default="profile", help="both: a second launch.")
@click.option("--wiring", default="trained", metavar="NAME", help="Make this fault on purpose; `list` names them.")
@click.option("--ids", metavar="ID,ID…", help="Write these layer ids; they are judged by what was trained.")
@click.option("--saw", metavar="N,N…", help="Name the wirings that give this histogram; nothing is launched.")
@click.option("--steps", type=int, help="With --saw: draft steps, where the histogram ends early.")
@click.option("--allow", multiple=True, metavar="RULE", help="Launch in spite of this finding; recorded.")
@shared_options
def COMMAND(
    node: str, options: Options, graphs: str, saw: str | None, steps: int | None, ids: str | None, **chosen: Any
) -> int:
    """Say whether the wiring is right, or the draft weak.

    A pair whose acceptance is known is launched on NODE with this set of flags, and probed."""
    from console.actions.calibrate import CalibrateRequest

    if ids is not None and chosen["wiring"] != "trained":
        raise UsageError("--ids and --wiring: one of them")
    if steps is not None and saw is None:
        raise UsageError("--steps goes with --saw", "For a launch: --set speculative.num_steps=2.")
    layers = None if ids is None else _numbers("--ids", ids)
    request = CalibrateRequest(graphs_both=graphs == "both", ids=layers, **chosen)
    if chosen["wiring"] == "list":
        return _list(options)
    if saw is not None:
        hist = _numbers("--saw", saw)
        return on_node(node, options, lambda connected: _saw(connected, options, request, hist, steps))
    return on_node(node, options, lambda connected: _calibrate(connected, options, request))


async def _calibrate(node: Node, options: Options, request: CalibrateRequest) -> int:
    from console.actions import calibrate

    plan = await calibrate.plan(node, request)
    if not confirm(options, plan.lines(), plan.to_json(), node.name):
        return EXIT_OK
    outcome = await calibrate.run(node, plan, say)
    code = report(options, node.name, outcome)
    return ServerDied.exit_code if outcome.died else code


async def _saw(
    node: Node, options: Options, request: CalibrateRequest, hist: tuple[int, ...], steps: int | None
) -> int:
    from console.actions import calibrate

    chosen = steps or max(1, len(hist) - 1)
    if options.dry_run:
        confirm(
            options, [f"write the pair where it is not there, and read its table for {chosen} steps"], {}, node.name
        )
        return EXIT_OK
    return report(options, node.name, await calibrate.saw(node, request, hist, chosen, say))


def _list(options: Options) -> int:
    from console.calibration.wirings import OTHERS, SHIFTS

    told = {name: f"captures off by {list(shift)} layers" for name, shift in SHIFTS.items()} | OTHERS
    if options.as_json:
        emit(options, True, None, {"wirings": told})
        return EXIT_OK
    for name, words in told.items():
        click.echo(plain(f"{name:<18} {words}"))
    return EXIT_OK


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(each) for each in text.replace(" ", "").split(","))
    except ValueError:
        found = ()
    if not found or len(found) > 64 or any(abs(each) > 10**9 for each in found):
        raise UsageError(f"{option}: {text[:60]!r} is no list of whole numbers", "Example: 186,3,2,1,1,32.")
    return found
