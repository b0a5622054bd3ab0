"""probe NODE: measure a running server, keep the run with its provenance; `--url`: any endpoint, without a node."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli._journal import open_journal
from console.cli._shared import Options, confirm, on_node, report, say, shared_options
from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.actions.node import Node
    from console.actions.probe_outcome import ProbeOutcome
    from console.probe.golden import Golden

_LOAD = (
    click.option("--prompt", help="A shipped prompt set, or a text of your own."),
    click.option("--input-ids", metavar="ID,ID…", help="Token ids in place of a prompt."),
    click.option("--api", type=click.Choice(["generate", "completions", "chat"]), help="Default: generate."),
    click.option("--model", help="Name to ask for in the OpenAI forms (default: the first that is listed)."),
    click.option("--max-new-tokens", type=int),
    click.option("--requests-per-block", type=int),
    click.option("--blocks", type=int, help="With --adaptive: so many at least."),
    click.option("--warmup", type=int, help="Requests that are sent first and not counted."),
    click.option("--concurrency", type=int),
    click.option("--temperature", type=float),
    click.option("--no-flush", is_flag=True, help="Leave the prefix cache; prompts that no earlier run sent."),
    click.option("--keep-output", is_flag=True, help="Keep what was generated."),
    click.option("--timeout-s", type=float, help="Of one request."),
    click.option("--adaptive", is_flag=True, help="Add blocks until the interval is narrow or the budget is spent."),
    click.option("--half-width", metavar="PERCENT", help="Of the interval, such as 2%."),
    click.option("--budget-min", type=float, help="Minutes after which no further block is begun."),
)


def _load_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_LOAD):
        function = option(function)
    return function


@click.command("probe")
@click.argument("node", required=False)
@click.option("--url", help="Measure this endpoint from here, over the network.")
@click.option("--server", help="Run id of the server, or its end.")
@click.option("--port", type=int, help="Port of the server.")
@click.option("--api-key-env", metavar="NAME", help="The variable here that holds the API key.")
@click.option(
    "--adopt", is_flag=False, flag_value="", metavar="[RUN]", help="Collect probes whose console went away, or one."
)
@click.option("--golden", type=click.Path(path_type=Path), help="A YAML file with a known curve of accept lengths.")
@_load_options
@shared_options
def COMMAND(
    node: str | None, options: Options, url: str | None, adopt: str | None, golden: Path | None, **given: Any
) -> int:
    """Probe the throughput of a server on NODE. The load comes from its profile, changed by options."""
    server, port, key_variable = (given.pop(name) for name in ("server", "port", "api_key_env"))
    load, curve = _load(given), _golden(golden)
    if url is not None:
        if node is not None or server is not None or port is not None or adopt is not None:
            raise UsageError("--url names an endpoint: NODE, --server, --port and --adopt do not go with it")
        return _probe_url(options, url, load, key_variable, curve)
    if node is None:
        raise UsageError("which node?", "probe NODE, or probe --url URL for an endpoint without one.")
    if adopt is not None:
        return on_node(node, options, lambda connected: _adopt(connected, options, adopt, curve))
    target = {"server": server, "port": port, "overrides": load, "key_variable": key_variable}
    return on_node(node, options, lambda connected: _probe(connected, options, target, curve))


async def _probe(node: Node, options: Options, target: dict[str, Any], curve: Golden | None) -> int:
    from console.actions import run_probe

    plan = await run_probe.plan(node, **target)
    ours = plan.server.operator == node.operator
    # Load on one's own server needs no confirmation; on a colleague's it does.
    if options.dry_run or not ours:
        if not confirm(options, plan.lines(), {}, node.name, await run_probe.refusal(node, plan)):
            return 0
    return report(options, node.name, _beside(curve, await run_probe.run(node, plan, say)))


async def _adopt(node: Node, options: Options, run: str, curve: Golden | None) -> int:
    import asyncio

    from console.actions import adopt_probe

    plan = await adopt_probe.plan(node, run)
    if options.dry_run and not confirm(options, plan.lines(), {}, node.name):
        return 0
    try:
        found = await adopt_probe.run(node, plan, say)
    except asyncio.CancelledError:
        say(f"a probe that still runs goes on there: `probe {node.name} --adopt` keeps its result")
        raise
    return report(options, node.name, replace(found, runs=tuple(_beside(curve, each) for each in found.runs)))


def _probe_url(options: Options, url: str, load: dict[str, Any], key_variable: str | None, curve: Golden | None) -> int:
    import asyncio
    import os

    from console.actions import probe_url

    plan = probe_url.plan(url, load, os.environ, key_variable)
    # Nobody knows whose it is, so it is not taken for ours.
    if not confirm(options, plan.lines(), {}, None):
        return 0
    with open_journal() as journal:
        return report(options, None, _beside(curve, asyncio.run(probe_url.run(journal, plan, say))))


def _golden(path: Path | None) -> Golden | None:
    """Read before anything is measured. Raises UsageError."""
    from console import yaml_file
    from console.probe.golden import golden_of

    return golden_of(yaml_file.load_file(path)) if path else None


def _beside(curve: Golden | None, outcome: ProbeOutcome) -> ProbeOutcome:
    from console.probe.golden import beside

    return replace(outcome, golden=beside(curve, outcome.run)) if curve else outcome


def _load(given: dict[str, Any]) -> dict[str, Any]:
    """The workload's keys that were given."""
    load = {key: value for key, value in given.items() if value is not None and value is not False}
    if load.pop("no_flush", False):
        load["flush_cache"] = False
    if "input_ids" in load:
        if "prompt" in load:
            raise UsageError("--prompt and --input-ids: one of them")
        load["prompt"] = _ids(load.pop("input_ids"))
    if "half_width" in load:
        load["half_width"] = _share(load["half_width"])
    return load


def _ids(text: str) -> list[int]:
    words = text.replace(",", " ").split()
    if not words or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise UsageError(f"--input-ids: {text[:80]!r} are no token ids", "Example: --input-ids 5,17,300.")
    return [int(word) for word in words]


def _share(text: str) -> float:
    """A percentage as a share: "2%" and "2" are 0.02."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = math.nan
    if not math.isfinite(share):
        raise UsageError(f"--half-width: {text[:40]!r} is no percentage", "Example: --half-width 2%.")
    return share
