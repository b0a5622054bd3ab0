"""The user's files on this machine: where each is looked for and found, what is wrong with it, who set which value."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import registry
from console.config import DEMO, NodeConfig, load_nodes, node_config
from console.errors import UsageError
from console.launch.differences import fields, shown
from console.launch.library import SUFFIXES, Library
from console.launch.loader import Inputs, ResolvedProfile, resolve
from console.launch.secrets import MASK, is_secret_value, looks_secret
from console.lint import rules
from console.patches import folders
from console.validation import Invalid
from console.yaml_file import load_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from console.paths import Paths

VARIABLES = ("SPEC_CONSOLE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "VISUAL", "EDITOR", "NO_COLOR")
"""Variables of the environment that count."""
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder that the console looks for."""

    what: str
    path: str
    state: str
    """found, missing, or why it cannot be read."""
    note: str = ""

    def to_json(self) -> dict[str, str]:
        return {"what": self.what, "path": self.path, "state": self.state, "note": self.note}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: `where` is "file:line:column", or the file."""

    what: str
    where: str
    message: str
    nearest: str = ""

    def line(self) -> str:
        return f"{self.where}: {self.message}" + (f" (nearest: {self.nearest})" if self.nearest else "")

    def to_json(self) -> dict[str, str]:
        return {"what": self.what, "where": self.where, "message": self.message, "nearest": self.nearest}


@dataclass(frozen=True, slots=True)
class Value:
    """One setting that counts, and who set it: "file:line:column", "default", or an option."""

    key: str
    value: Any
    source: str

    def to_json(self) -> dict[str, Any]:
        return {"key": self.key, "value": self.value, "from": self.source}


def places(here: Paths) -> Iterator[Place]:
    """Yield every place, those of the user first."""
    yield _place("nodes", here.nodes_file, "nodes by name; a name that ssh knows needs none")
    yield _place("keys", here.keys_file, "keymap of the console")
    for number, folder in enumerate(here.profiles, 1):
        count = sum(path.suffix in SUFFIXES for path in folder.iterdir()) if _is_readable(folder) else 0
        yield _place("profiles", folder, f"{number} of {len(here.profiles)} in the search order: {_counted(count)}")
    yield _place(
        "golden", here.profiles[0] / "golden", "known curves of accept lengths, PROFILE.yaml; so beside others"
    )
    yield _place("patches", here.patches, "patches of your own, a folder each")
    yield _place("drafts", here.state / "drafts", "profiles that are being edited")
    yield _place("state", here.state, "drafts, and the command line's history")
    yield _place("journal", here.database, "runs, sweeps and actions")
    yield _place("wheels", here.wheels, "sources of released SGLangs, read once")
    yield _place("demo", here.data / "demo", "the embedded node")
    yield _place("ssh", Path.home() / ".ssh" / "config", "what ssh knows of nodes")
    yield _place("rules", Path(rules.__path__[0]), f"{len(registry.stems(rules))} rules, which come with the console")
    yield Place("agent", "~/.cache/spec-console", "on nodes", "its zip, by its hash; `cache_dir` of a node is another")


def faults(here: Paths) -> Iterator[Fault]:
    """Yield all that is wrong with nodes.yaml, the profiles (those that others hide too) and the user's patches."""
    try:
        load_nodes(here.nodes_file)
    except UsageError as error:
        yield from _faults("nodes", here.nodes_file, error)
    known, library = folders.read(here.patches), Library(here.profiles)
    for path in profile_files(here):
        try:
            resolve(str(path), library, Inputs(patch_options=known.options()))
        except UsageError as error:
            yield from _faults("profile", path, error)
    for name, why in known.broken.items():
        yield from _faults("patch", here.patches / name, why)


def profile_files(here: Paths) -> tuple[Path, ...]:
    """Return every profile file of every folder."""
    readable = filter(_is_readable, here.profiles)
    return tuple(path for folder in readable for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES)


def node_values(name: str, here: Paths) -> tuple[Value, ...]:
    """Return a node's settings with who set each; secrets masked. Raises UsageError."""
    if name == DEMO:
        raise UsageError("demo is the embedded node: it sets itself up", "`config show NODE` takes any other.")
    config = node_config(load_nodes(here.nodes_file), name)
    located = load_file(here.nodes_file) if here.nodes_file.exists() else None

    def source(*path: str) -> str:
        return located.where((name, *path)) if located and (name, *path) in located.marks else DEFAULT

    values: list[Value] = []
    for key, value in config.model_dump(mode="json").items():
        if isinstance(value, dict):
            values += [
                Value(f"{key}.{inner}", _masked(inner, each), source(key, inner)) for inner, each in value.items()
            ]
        else:
            values.append(Value(key, value, source(key)))
    return (*values, *_made(config, name))


def profile_values(name: str, here: Paths, node: str | None) -> tuple[ResolvedProfile, tuple[Value, ...]]:
    """Return a profile as it would be launched, on `node` if one is named, with who set each value.

    Raises UsageError.
    """
    config = node_config(load_nodes(here.nodes_file), node) if node and node != DEMO else NodeConfig()
    inputs = Inputs(
        config.launch_variables() if node and node != DEMO else None,
        sets=config.sets,
        patch_options=folders.read(here.patches).options(),
    )
    resolved = resolve(name, Library(here.profiles), inputs)
    found = fields(resolved.profile).items()
    return resolved, tuple(Value(key, shown(key, value), resolved.places.get(key, DEFAULT)) for key, value in found)


def variables(environ: Mapping[str, str]) -> tuple[Value, ...]:
    """Return the variables of the environment that are set and count."""
    return tuple(Value(name, environ[name], "environment") for name in VARIABLES if environ.get(name))


def _made(config: NodeConfig, name: str) -> Iterator[Value]:
    """What profiles get as ${…} from keys that also make a variable."""
    for variable, value in config.launch_variables().items():
        if variable not in config.variables:
            key = "log_dirs" if variable == "logs" else "serving_python" if config.serving_python else "python"
            yield Value(f"variables.{variable}", value, f"{key} of {name}")


def _faults(what: str, path: Path, error: UsageError) -> Iterator[Fault]:
    if isinstance(error, Invalid):
        yield from (Fault(what, problem.where, problem.message, problem.nearest) for problem in error.problems)
        return
    where, colon, message = error.message.partition(": ")
    is_placed = bool(colon) and where.startswith("/")
    yield Fault(what, where if is_placed else str(path), message if is_placed else error.message)


def _place(what: str, path: Path, note: str) -> Place:
    if not path.exists():
        state = "missing"
    elif not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        state = "cannot be read"
    else:
        state = "found"
    return Place(what, str(path), state, note)


def _is_readable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)


def _counted(count: int) -> str:
    return f"{count} profile{'s' * (count != 1)}"


def _masked(name: str, value: str) -> str:
    return MASK if looks_secret(name) or is_secret_value(value) else value
