"""Owns the question of what differs between two runs, and whether the profile declared that it would.

Keys: a flag's name with underscores (`disable_cuda_graph`), `env.NAME`, `patches.ID`, `workload.NAME`, and the names in
`_facts`. A word of `varies` covers the key itself and all that it begins: `speculative` covers every `--speculative-…`
flag, the draft's among them, `env.NCCL` every NCCL variable; `speculative.num_steps` is that flag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.probe.fingerprint import Fingerprint

INERT = frozenset(
    {
        "host",
        "port",
        "nccl_port",
        "dist_init_addr",
        "nccl_init_addr",
        "served_model_name",
        "api_key",
        "admin_api_key",
        "hostname",
    }
)
"""Listed when they differ, but without effect on speed. A machine is known by its id; a container's name changes."""

NEVER_DECLARED = frozenset({"simulated"})

WHEN_BOTH_KNOWN = frozenset({"model.config_sha256", "draft.config_sha256", "gpu.clocks_max_mhz", "gpu.clocks_app_mhz"})
"""Not known of each node and of each stored run: nothing differs then that anyone could name."""

IMPLIED = {"patches": ("tree.git_dirty", "env.EAGLE3"), "speculative": ("draft.config_sha256",)}
"""A patch in place makes a checkout dirty, and is switched on by its variable. Who varies speculation varies the
draft."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same; None where a run has nothing there."""

    key: str
    a: str | None
    b: str | None
    declared: bool
    """Covered by the profile's `varies`."""
    material: bool = True
    """False for what cannot change speed (INERT)."""

    @property
    def withholds(self) -> bool:
        """A verdict would ascribe to the declared change what this may have done."""
        return self.material and not self.declared


def is_apart(difference: Difference) -> bool:
    """Does it keep a stored run from being the baseline of another one? Another load does, declared or not."""
    return difference.withholds or difference.key.startswith("workload.")


def differs(a: Fingerprint, b: Fingerprint, varies: Sequence[str] = ()) -> tuple[Difference, ...]:
    """List every difference between two runs, sorted by key."""
    left, right = _facts(a), _facts(b)
    words = [_key(word) for word in varies]
    words += [implied for word in words for implied in IMPLIED.get(word, ())]
    return tuple(
        Difference(key, left.get(key), right.get(key), _is_declared(key, words), key not in INERT)
        for key in sorted(left.keys() | right.keys())
        if left.get(key) != right.get(key) and not (key in WHEN_BOTH_KNOWN and not (key in left and key in right))
    )


def flags_of(argv: Iterable[str]) -> dict[str, str]:
    """Return the flags of a command by name (underscores): the value, several joined by spaces, or "true" for none.

    What stands before the first flag is "program".
    """
    flags: dict[str, list[str]] = {"program": []}
    name = "program"
    for word in argv:
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            name = _key(flag)
            flags.setdefault(name, []).extend([value] if equals else [])
        else:
            flags[name].append(word)
    return {name: " ".join(values) or "true" for name, values in flags.items()}


def _facts(run: Fingerprint) -> dict[str, str]:
    known: dict[str, Any] = {
        "sglang.version": run.sglang_version,
        "tree.git_head": run.git_head,
        "tree.git_dirty": run.git_dirty,
        "tree.edits": run.tree_edits or None,
        "gpu.names": ", ".join(run.gpu_names),
        "gpu.count": run.gpu_count,
        "gpu.power_limits_w": _each(run.power_limits_w),
        "gpu.clocks_max_mhz": _each(run.clocks_max_mhz) if any(run.clocks_max_mhz) else None,
        "gpu.clocks_app_mhz": _each(run.clocks_app_mhz) if any(run.clocks_app_mhz) else None,
        "gpu.driver": run.driver,
        "model.config_sha256": run.model_sha256,
        "draft.config_sha256": run.draft_sha256,
        "simulated": run.simulated,
        "client": run.client,
        "endpoint": run.endpoint,
        "machine_id": run.machine_id,
        "hostname": run.hostname,
        **flags_of(run.argv),
        **{f"env.{name}": value for name, value in run.env.items()},
        **{f"patches.{patch.patch_id}": patch.sha256 for patch in run.patches},
        **{f"workload.{name}": value for name, value in run.workload.items()},
    }
    return {key: str(value) for key, value in known.items() if value is not None}


def _each(values: Sequence[float | None]) -> str:
    return ", ".join("unknown" if value is None else f"{value:g}" for value in values)


def _key(word: str) -> str:
    if word.startswith("env."):
        return word.rstrip("_")
    if word.startswith("speculative."):
        word = word.replace(".", "_", 1)
    return word.removeprefix("args.").lstrip("-").replace("-", "_").rstrip("_")


def _is_declared(key: str, words: Sequence[str]) -> bool:
    if key in NEVER_DECLARED:
        return False
    return any(key == word or key.startswith((f"{word}_", f"{word}.")) for word in words)
