"""Read the fingerprint of a run: everything known of a server and its node that may change its speed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from console.node.server_runs import visible_gpus
from console.probe.fingerprint import Fingerprint, PatchRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.actions.node import Node
    from console.actions.run_probe import ProbePlan
    from remote_agent.protocol import GpuHardware, GpuSample, ServerRun, TelemetrySample


async def fingerprint_of(node: Node, plan: ProbePlan) -> Fingerprint:
    """Everything that a later comparison must know of this server and this load."""
    record, facts = plan.server.record, await node.agent.facts()
    sglang = record.get("sglang") or {}
    sample = await node.agent.sample()
    gpus = _devices(sample, plan.server, plan.profile)
    clocks = await _clocks(node, [gpu.index for gpu in gpus])
    return Fingerprint(
        sglang_version=sglang.get("version") or await _told_version(node, plan),
        git_head=sglang.get("git_head"),
        git_dirty=sglang.get("git_dirty"),
        tree_edits=record.get("tree_edits"),
        patches=tuple(PatchRef(each["id"], each["sha256"]) for each in record.get("patches") or []),
        argv=_without_run_config(plan.server.argv),
        env=env_of(plan.server),
        gpu_names=tuple(gpu.name for gpu in gpus),
        power_limits_w=tuple(gpu.power_limit_w for gpu in gpus),
        clocks_max_mhz=tuple(gpu.clock_max_mhz for gpu in clocks),
        clocks_app_mhz=tuple(gpu.clock_app_mhz for gpu in clocks),
        driver=sample.driver_version,
        workload=plan.workload.identity(),
        simulated=bool(record.get("simulated")) or node.simulated,
        hostname=facts.hostname,
        machine_id=facts.machine_id,
        model_sha256=record.get("model_sha256"),
        draft_sha256=record.get("draft_sha256"),
    )


def env_of(server: ServerRun) -> dict[str, str]:
    """What its processes were started with: the launch's own, over what the node's environment had."""
    return {**server.inherited_env, **server.env}


async def _told_version(node: Node, plan: ProbePlan) -> str | None:
    """What a server without a run record says of itself."""
    if plan.server.run_id:
        return None
    reply = await node.agent.http(plan.server.port, "/server_info", api_key=plan.key(node) or "")
    try:
        version = json.loads(reply.body).get("version")
    except (ValueError, AttributeError, RecursionError):
        return None
    return version[:100] if isinstance(version, str) else None


async def _clocks(node: Node, indices: list[int]) -> list[GpuHardware]:
    """What does not change while a GPU works, of the GPUs at `indices`; fewer where it cannot be read."""
    told = {gpu.index: gpu for gpu in (await node.agent.preflight({}, (), "/", "")).hardware.gpus}
    return [told[index] for index in indices if index in told]


def _without_run_config(argv: list[str]) -> tuple[str, ...]:
    """The command without the `--config FILE` that the agent added: its path changes with each launch."""
    kept = list(argv)
    if len(kept) > 1 and kept[-2] == "--config" and kept[-1].endswith("/config.yaml"):
        kept = kept[:-2]
    return tuple(kept)


def _devices(sample: TelemetrySample, server: ServerRun, profile: Mapping[str, Any]) -> list[GpuSample]:
    """The GPUs that the server uses: those it was given, else the first ones; none where no record tells how many."""
    if chosen := visible_gpus(env_of(server)):
        return [gpu for gpu in sample.gpus if gpu.index in chosen]
    return sample.gpus[: profile.get("tp_size", 1)] if profile else []
