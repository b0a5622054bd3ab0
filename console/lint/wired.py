"""What rules on wiring look at: the EAGLE-3 draft of a launch, its release, and whether CUDA graphs are replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.releases import release
from console.lint import asks
from console.wiring import draft as drafts
from console.wiring.layers import ids_for

if TYPE_CHECKING:
    from console.launch.asked import Asked
    from console.launch.releases import Release
    from console.lint.context import Launch
    from console.wiring.checkpoint import Checkpoint

NO_GRAPHS = ("disable-cuda-graph", "disable-decode-cuda-graph", "debug-cuda-graph")


def eagle3_draft(launch: Launch) -> Checkpoint | None:
    """The draft where it is an EAGLE-3 one: by its architecture, or without one by the flag.

    Under a wrong flag too: the flag has its own rule, and what else is wrong is to be told at once.
    """
    draft = launch.draft
    if draft is None or not draft.config:
        return None
    family = drafts.family(draft.config)
    if family is None and drafts.architecture(draft.config) is None:
        family = "eagle3" if asks.full(launch).algorithm in ("EAGLE3", None) else None
    return draft if family == "eagle3" else None


def target_class(launch: Launch) -> str | None:
    """The target's architecture."""
    return drafts.architecture(launch.target.config) if launch.target else None


def target_number(launch: Launch, key: str) -> int | None:
    """A whole number of the target's config, of its text part where it has one."""
    return drafts.number(drafts.text_config(launch.target.config), key) if launch.target else None


def at(launch: Launch) -> Release | None:
    """The release, where the version names one."""
    return release(launch.version)


def replays_graphs(asked: Asked) -> bool:
    """Does a verify run from CUDA graphs? SGLang's default; `--debug-cuda-graph` walks them eagerly."""
    backend = asked.value("cuda-graph-backend-decode")
    return not any(asked.has(flag) for flag in NO_GRAPHS) and backend != "disabled"


def outputs(numbers: tuple[int, ...] | None) -> str:
    """Layer outputs for a sentence; -1 is the embedding."""
    return ", ".join("embedding" if each < 0 else str(each) for each in numbers or ()) or "none"


def on(launch: Launch) -> str:
    """The release for a sentence."""
    return f"SGLang {launch.version}" if launch.version else "a version that is not known"


def ids_to_write(launch: Launch) -> str:
    """What to write into the draft's config to get what it was trained on, or why nothing does; empty: not known."""
    found, trained = launch.resolution, launch.trained
    if not trained or found is None or found.rule is None or found.layers is None:
        return ""
    ids = ids_for(found.rule, found.layers, trained)
    if isinstance(ids, str):
        return f"No ids give what was trained: {ids}."
    name = launch.profile.name if launch.profile else "P"
    verb = f"`draft set NODE --profile {name} --trained`"
    return f"Write ids {list(ids)} into eagle_config ({verb}, with the launch's --set)."
