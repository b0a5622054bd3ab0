"""What the agent tells of its node: driver and GPUs, every SGLang that an interpreter would import, running servers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console.actions.checkup.check import Check, shown
from console.errors import ConsoleError
from console.node import titles
from console.node.verdict import verdicts
from console.units import format_bytes
from remote_agent.protocol import AgentError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from console.actions.checkup.facts_script import Facts
    from console.actions.node import Inventory, Node
    from remote_agent.protocol import Preflight, ServerRun, SGLangFacts

MAX_TREES = 16
"""Interpreters that are asked; each takes about a tenth of a second on the node."""
AT_ONCE = 4


async def checks(node: Node, facts: Facts) -> AsyncIterator[Check]:
    """Read-only questions; one that fails is unknown, and the others are asked all the same."""
    try:
        inventory = await node.inventory()
        told = await node.agent.preflight(node.config.env, (), "", "")
    except (ConsoleError, AgentError) as error:
        yield Check("node", "unknown", f"the agent could not look: {shown(error.message)}")
        return
    yield driver(told)
    yield gpus(inventory)
    for check in await trees(node, facts, inventory):
        yield check
    yield servers(inventory)


def driver(told: Preflight) -> Check:
    found = told.hardware
    if not found.driver:
        why = "; ".join(f"{name}: {reason}" for name, reason in found.unread.items()) or "nothing told it"
        return Check(
            "driver", "unknown", f"no driver version: {shown(why)}", "Is `nvidia-smi` there, and does it work?"
        )
    cuda = f", CUDA {shown(found.cuda)}" if found.cuda else ", its CUDA is not told"
    values = {"driver": found.driver, "cuda": found.cuda}
    return Check("driver", "ok", f"driver {shown(found.driver)}{cuda}", values=values)


def gpus(inventory: Inventory) -> Check:
    sample = inventory.sample
    if not sample.gpus:
        why = shown(sample.reason or "none is listed")
        return Check(
            "gpus", "unknown", f"no GPU was read ({sample.source}): {why}", "`gpu_source` of the node chooses."
        )
    kinds: dict[tuple[str, int | None], int] = {}
    for gpu in sample.gpus:
        kinds[gpu.name, gpu.memory_total_bytes] = kinds.get((gpu.name, gpu.memory_total_bytes), 0) + 1
    listed = ", ".join(f"{n} x {shown(name)} {format_bytes(size)}" for (name, size), n in kinds.items())
    judged = verdicts(sample, inventory.holders)
    states = {state: [each.index for each in judged if each.state == state] for state in ("free", "held", "unknown")}
    counted = ", ".join(f"{len(which)} {state}" for state, which in states.items() if which)
    values = {"source": sample.source, "count": len(sample.gpus), **states}
    if states["unknown"]:
        return Check("gpus", "warn", f"{listed}: {counted}", "`status` says why they are not known.", values)
    return Check("gpus", "ok", f"{listed}: {counted}", values=values)


async def trees(node: Node, facts: Facts, inventory: Inventory) -> list[Check]:
    """Ask every interpreter that was found, in the order of how likely it serves; one line for each tree.

    An environment of another account is not asked: starting its interpreter runs what that account put there.
    """
    configured = _configured(node)
    safe = [each.path for each in facts.venvs if each.owner in ("0", facts.get("uid"))]
    running = [each.path for each in facts.pythons if each.number]
    asked = _several([*configured, *_serving(inventory), *safe, *running])
    at_once = asyncio.Semaphore(AT_ONCE)

    async def ask(python: str) -> SGLangFacts:
        async with at_once:
            return await node.agent.sglang(python, node.config.env if python in configured else {})

    answers = await asyncio.gather(*map(ask, asked[:MAX_TREES]))
    found: dict[str, list[SGLangFacts]] = {}
    for told in answers:
        if told.root:
            found.setdefault(told.root, []).append(told)
    failed = [told for told in answers if not told.root and told.python == node.config.serving_python]
    more = _not_asked(len(asked) - MAX_TREES, len(facts.venvs) - len(safe))
    checks = [*map(_failed, failed), *(_tree(root, told) for root, told in found.items())]
    none = Check("sglang", "warn", _none(asked[:MAX_TREES]), "Set `serving_python` (and `sglang_root`) of the node.")
    return [*(checks or [none]), *more]


def servers(inventory: Inventory) -> Check:
    running = [run for run in inventory.runs if run.state in ("running", "starting")]
    others = [
        holder.process
        for holder in inventory.holders
        if holder.role == "launcher" and holder.run_id is None and holder.process
    ]
    listed = [
        *map(_run, running),
        *(f"pid {each.identity.pid} of {shown(each.user)}, not recorded here" for each in others),
    ]
    values = {
        "runs": [{"id": run.run_id, "port": run.port, "operator": run.operator} for run in running],
        "others": [{"pid": each.identity.pid, "user": each.user} for each in others],
    }
    blind = f"; files of {inventory.unreadable_pids} processes could not be looked into"
    told = "; ".join(listed) or "none was found"
    return Check("servers", "ok", told + (blind if inventory.unreadable_pids else ""), values=values)


def _configured(node: Node) -> list[str]:
    serving = node.config.launch_variables().get("python")
    return _several([*([serving] if serving else []), *node.config.python])


def _serving(inventory: Inventory) -> list[str]:
    """The interpreters of servers that run now, of this account or of root."""
    processes = [holder.process for holder in inventory.holders if holder.process]
    ours = [process for process in processes if process.uid in (0, inventory.facts.uid)]
    argvs = [process.argv for process in ours if titles.role(process) == "launcher"]
    return [argv[0] for argv in argvs if argv and argv[0].startswith("/") and "python" in argv[0]]


def _several(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


def _tree(root: str, told: Sequence[SGLangFacts]) -> Check:
    first = told[0]
    by = ", ".join(shown(each.python) for each in told)
    commit = f", commit {shown((first.git_head or '')[:12])}" if first.git_head else ""
    edited = ", with edits" if first.git_dirty else ""
    cuda = f", torch for CUDA {shown(first.torch_cuda)}" if first.torch_cuda else ", no torch for CUDA"
    values = {
        "root": root,
        "version": first.version,
        "pythons": [each.python for each in told],
        "git_head": first.git_head,
        "git_dirty": first.git_dirty,
        "packages": first.packages,
        "torch_cuda": first.torch_cuda,
    }
    text = f"{shown(first.version or 'a tree without a version')} in {shown(root)} by {by}{commit}{edited}{cuda}"
    return Check("sglang", "ok", text, values=values)


def _failed(told: SGLangFacts) -> Check:
    text = f"{shown(told.python)}, the node's serving_python, has none: {shown(told.error)}"
    return Check(
        "sglang", "bad", text, "Check `serving_python` and `sglang_root` of the node.", {"python": told.python}
    )


def _not_asked(too_many: int, foreign: int) -> list[Check]:
    told = [f"{too_many} more interpreters"] if too_many > 0 else []
    told += [f"{foreign} environments of other accounts"] if foreign else []
    return [Check("sglang", "unknown", f"not asked: {' and '.join(told)}")] if told else []


def _none(asked: Sequence[str]) -> str:
    return f"no SGLang in {len(asked)} interpreters: {shown(', '.join(asked))}" if asked else "no interpreter to ask"


def _run(run: ServerRun) -> str:
    return f"{shown(run.run_id)} on port {run.port} by {shown(run.operator)}, {run.state}"
