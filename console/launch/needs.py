"""What a launch needs of its node: the questions that preflight puts to the agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.launch.loader import ResolvedProfile
    from console.launch.profile import Profile

_PATH = ("/", "${")  # the second: a node variable not filled in yet


@dataclass(frozen=True, slots=True)
class Needs:
    """Facts to ask for. Paths are the node's."""

    python: str
    paths_to_read: tuple[str, ...]
    """Model, draft, tokenizer and token map, where they are paths."""
    hub_ids: tuple[str, ...]
    """Models named by the id of a hub: not checked on disk, perhaps downloaded."""
    log_path: str
    cwd: str | None
    host: str
    """The address that the server binds; SGLang's default is loopback."""
    port: int
    gpus: tuple[int, ...] | None
    """Device indices; None is whatever the node has."""
    gpu_count: int
    """GPUs that this node must give: tp_size × pp_size / nnodes."""
    patches: tuple[str, ...]


def needs(resolved: ResolvedProfile) -> Needs:
    """Return what the profile needs of its node."""
    profile = resolved.profile
    wanted = _wanted(profile)
    return Needs(
        python=profile.python,
        paths_to_read=tuple(path for path in wanted if path.startswith(_PATH)),
        hub_ids=tuple(path for path in wanted if not path.startswith(_PATH)),
        log_path=profile.log_path,
        cwd=profile.cwd,
        host=profile.host or "127.0.0.1",
        port=profile.port,
        gpus=profile.gpus,
        gpu_count=max(1, profile.tp_size * (profile.pp_size or 1) // (profile.nnodes or 1)),
        patches=profile.patch_ids,
    )


def _wanted(profile: Profile) -> tuple[str, ...]:
    paths = [profile.model_path, profile.tokenizer_path]
    if profile.speculative:
        paths += [profile.speculative.draft_model_path, profile.speculative.token_map]
    return tuple(dict.fromkeys(path for path in paths if path))
