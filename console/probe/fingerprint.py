"""Owns the fingerprint of a run: everything known about a server that may change its speed. Secrets never enter it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from console.launch.record import canonical_json
from console.launch.secrets import MASK, looks_secret
from console.probe.json_form import known_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ENV_PREFIXES = ("SGLANG_", "NCCL_", "EAGLE3_", "CUDA_")


@dataclass(frozen=True, slots=True)
class PatchRef:
    """A patch that was applied to the serving tree."""

    patch_id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Provenance of a number; None is "not known".

    Made with any argv and env: only variables of ENV_PREFIXES are kept, and secret values are masked. `argv` is the
    profile's command, without the `--config FILE` by which the console hands over secrets (its path is new each time).
    """

    sglang_version: str | None = None
    git_head: str | None = None
    """Commit of the serving tree, where it is a git checkout."""
    git_dirty: bool | None = None
    tree_edits: str | None = None
    """Files that differ from the release or commit by more than our patches, as "2 files 1a2b3c4d5e6f"; empty: none."""
    patches: tuple[PatchRef, ...] = ()
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    gpu_names: tuple[str, ...] = ()
    """Of the GPUs that the server uses, by index."""
    power_limits_w: tuple[float | None, ...] = ()
    clocks_max_mhz: tuple[int | None, ...] = ()
    """Highest SM clock of each GPU, as NVML tells it. The clock of the moment is none of a run's conditions."""
    clocks_app_mhz: tuple[int | None, ...] = ()
    """Application clock that is set, by GPU."""
    driver: str | None = None
    workload: Mapping[str, Any] = field(default_factory=dict)
    """`Workload.identity()`."""
    simulated: bool = False
    """Measured on the embedded node: proves nothing about engines."""
    hostname: str | None = None
    machine_id: str | None = None
    model_sha256: str | None = None
    """`config_sha256` of the target's config.json: a path says little of what lies there."""
    draft_sha256: str | None = None
    client: str = "node"
    """Where the probe ran: "node", over loopback, or "console", over the network."""
    endpoint: str | None = None
    """Host of the URL that the console measured."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "argv", masked_argv(self.argv))
        object.__setattr__(self, "env", env_subset(self.env))

    @property
    def gpu_count(self) -> int:
        """GPUs that the server uses."""
        return len(self.gpu_names)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fingerprint:
        """Rebuild from `to_json`; keys of another version are ignored. Raises TypeError or ValueError."""
        return cls(**known_fields(cls, data, _CONVERT))


def config_sha256(config: Mapping[str, Any]) -> str | None:
    """Return the hash of a checkpoint's config.json, whatever its spacing and the order of its keys; None of nothing.

    The config alone: weights have hundreds of gigabytes, and are not read.
    """
    try:
        return hashlib.sha256(canonical_json(config).encode("ascii")).hexdigest() if config else None
    except ValueError:  # NaN, which Python reads in a config.json, is no JSON
        return None


def env_subset(env: Mapping[str, str], secret_names: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that may change speed, sorted; secret values, by name or as listed, are masked."""
    secret = frozenset(secret_names)
    return {
        name: MASK if name in secret or is_secret_name(name) else env[name]
        for name in sorted(env)
        if name.startswith(ENV_PREFIXES)
    }


def masked_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """Return a command with the values of secret flags masked, `--api-key VALUE` and `--api-key=VALUE`."""
    kept: list[str] = []
    hide_next = False
    for word in argv:
        name, equals, _ = word.partition("=")
        is_secret = word.startswith("--") and is_secret_name(name)
        if hide_next and not word.startswith("--"):
            kept.append(MASK)
        else:
            kept.append(f"{name}={MASK}" if is_secret and equals else word)
        hide_next = is_secret and not equals
    return tuple(kept)


def is_secret_name(name: str) -> bool:
    """Say whether a flag, variable or key of this name holds a secret, as `--api-key` or `HF_TOKEN` do."""
    return looks_secret(name.lstrip("-").replace("-", "_"))


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "patches": lambda items: tuple(PatchRef(**known_fields(PatchRef, item)) for item in items),
    "argv": tuple,
    "gpu_names": tuple,
    "power_limits_w": tuple,
    "clocks_max_mhz": tuple,
    "clocks_app_mhz": tuple,
}
