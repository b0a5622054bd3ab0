"""Examples below each verb's --help: one table, which a test goes through word by word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

DEBUG = "kimi-k2.5-eagle3-debug"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "agent ls": ("agent ls gpu-node-1",),
    "agent gc": ("agent gc gpu-node-1 --keep-days 30 --dry-run",),
    "calibrate": (
        "calibrate gpu-node-1 --profile kimi-k2.5-eagle3 --dry-run",
        "calibrate gpu-node-1 --profile kimi-k2.5-eagle3 --saw 186,3,2,1,1,32",
    ),
    "compare": ("compare @2 @1", "compare @2 @1 --markdown --fail-if slower"),
    "completion": ("completion bash", "completion fish"),
    "config locate": ("config locate",),
    "config show": ("config show gpu-node-1", f"config show gpu-node-1 --profile {DEBUG}"),
    "config validate": ("config validate",),
    "config schema": ("config schema nodes",),
    "connect": (
        "connect gpu-node-1",
        "connect gpu-node-1 gpu-node-2 --readonly",
        "connect gpu-node-1 --record session.jsonl",
    ),
    "demo": ("demo",),
    "doctor": ("doctor gpu-node-1", "doctor local --json"),
    "draft show": ("draft show demo --profile kimi-k2.5-eagle3",),
    "draft set": ("draft set demo --profile kimi-k2.5-eagle3 --trained --dry-run",),
    "draft revert": ("draft revert demo --profile kimi-k2.5-eagle3 --yes",),
    "explain": ("explain sglang.log", f"explain sglang.log --profile {DEBUG}"),
    "free": ("free gpu-node-1 --dry-run", "free gpu-node-1 --gpu 0 --gpu 1 --yes"),
    "journal": ("journal --verb launch --limit 5",),
    "keys check": ("keys check",),
    "keys list": ("keys list",),
    "launch": (
        f"launch demo {DEBUG} --dry-run",
        "launch gpu-node-1 kimi-k2.5-eagle3 --set speculative.num_steps=2 --env NCCL_PROTO=LL",
    ),
    "lint": (
        "lint kimi-k2.5-eagle3 --sglang-version 0.5.13",
        "lint --command launch.sh",
        "lint --draft /data/eagle3/4 --target /shared/kimi",
    ),
    "logs": (
        "logs demo --shapes",
        "logs gpu-node-1 --follow --kind decode_batch",
        "logs demo --grep error --since 10m",
    ),
    "nodes check": ("nodes check gpu-node-1",),
    "nodes list": ("nodes list",),
    "patch apply": (f"patch apply demo eagle3-shapes --profile {DEBUG} --yes",),
    "patch import": ("patch import gpu-node-1 mine.diff --dry-run",),
    "patch new": ("patch new my-patch",),
    "patch plan": (f"patch plan demo eagle3-shapes --profile {DEBUG}", "patch plan gpu-node-1 --all-models --explain"),
    "patch revert": ("patch revert demo --yes",),
    "patch test": ("patch test eagle3-shapes --wheel 0.5.13",),
    "patch verify": ("patch verify demo",),
    "probe": (
        "probe demo --blocks 2",
        "probe gpu-node-1 --adaptive --half-width 2%",
        "probe --url http://127.0.0.1:8000 --model kimi --yes",
    ),
    "profiles diff": (f"profiles diff kimi-k2.5-eagle3 {DEBUG}",),
    "profiles duplicate": ("profiles duplicate kimi-k2.5-eagle3 mine",),
    "profiles edit": ("profiles edit mine", "profiles edit mine --set speculative.num_steps=2"),
    "profiles import": ("profiles import launch.sh --write",),
    "profiles keys": ("profiles keys", "profiles keys speculative.num_steps"),
    "profiles list": ("profiles list",),
    "profiles schema": ("profiles schema",),
    "profiles show": (f"profiles show {DEBUG} --shell",),
    "profiles validate": ("profiles validate", "profiles validate ./mine.yaml"),
    "replay": ("replay session.jsonl --speed 10",),
    "rules list": ("rules list",),
    "rules show": ("rules show layer-outputs",),
    "runbook": (
        f"runbook demo {DEBUG} --yes",
        f"runbook gpu-node-1 {DEBUG} --from probe",
        f"runbook demo {DEBUG} --skip compare --insert stop --save evening.yaml",
        "runbook gpu-node-1 ./evening.yaml --yes",
    ),
    "runs delete": ("runs delete @1",),
    "runs export": ("runs export @1 -o run.md",),
    "runs list": ("runs list --limit 5",),
    "runs note": ("runs note @1 'NCCL_PROTO=LL'",),
    "runs pin": ("runs pin @1",),
    "runs tag": ("runs tag @1 tuned",),
    "runs undelete": ("runs undelete",),
    "runs unpin": ("runs unpin @1",),
    "runs untag": ("runs untag @1 tuned",),
    "status": ("status demo", "status gpu-node-1 gpu-node-2 --json"),
    "stop": ("stop demo --yes",),
    "sweep": (
        "sweep demo kimi-k2.5-eagle3 --steps 1-3 --dry-run",
        "sweep gpu-node-1 kimi-k2.5-eagle3 --env NCCL_PROTO=LL,LL128 --budget-min 90",
    ),
}
"""By verb, sub-verb behind it: words after `spec-console`."""


def add_to(command: click.Command, path: str) -> None:
    """Put the examples of a verb, and of its sub-verbs, below its --help."""
    for name, each in _below(command, path):
        if each.epilog is None and (examples := EXAMPLES.get(name)):
            lines = "\n".join(f"  spec-console {line}" for line in examples)
            each.epilog = f"\b\n{'Examples' if len(examples) > 1 else 'Example'}:\n{lines}"


def _below(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name, each in command.commands.items():
        yield from _below(each, f"{path} {name}")
