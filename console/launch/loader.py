"""From a profile's name to a `ResolvedProfile`: extends, --set, --env, node variables, secrets, every error at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from console.errors import UsageError
from console.launch import layers
from console.launch.cross_checks import cross_checks
from console.launch.flags import SECRET_KEYS
from console.launch.layers import Override
from console.launch.library import NoSuchProfile
from console.launch.patch_choice import patch_env, unknown_patches
from console.launch.profile import Profile
from console.launch.record import profile_sha256
from console.launch.secrets import MASK, Secrets, looks_secret, reference
from console.launch.variables import is_secret_path, substitute
from console.validation import Invalid, Path_, Problem, check, dotted
from console.yaml_file import Located

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from console.launch.library import Found

NAME_VARIABLE = "name"
"""`${name}` in a profile is its own name."""

DEFAULT_LOG = "${logs}/${name}.log"


class Reader(Protocol):
    """Where profiles come from; `Library` reads them from folders."""

    def read(self, name: str, beside: str = "") -> Found:
        """Return the profile `name`, looked for beside the file `beside` when it is a path."""
        ...


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a profile is resolved against.

    `variables` None leaves `${…}` of the node as they are, `environ` None leaves secrets unread: for looking at a
    profile without a node. `sets` and `env` are the texts of --set and --env.
    """

    variables: Mapping[str, str] | None = None
    environ: Mapping[str, str] | None = field(default=None, repr=False)
    sets: Sequence[str] = ()
    env: Sequence[str] = field(default=(), repr=False)
    patch_options: Mapping[str, Mapping[str, str]] | None = None
    """Of each patch the server's variable by the option's name; None: not known, so options are left as they are."""


@dataclass(frozen=True, slots=True)
class ResolvedProfile:
    """A profile as it would be launched on one node."""

    profile: Profile
    sources: tuple[str, ...]
    """Files, the profile's own first, then what it extends."""
    sha256: str
    """Of `record.profile_record`; see `record.profile_sha256`."""
    overrides: dict[str, Any]
    """Values of --set and --env by dotted key, secrets masked."""
    secrets: Secrets
    patch_env: dict[str, str] = field(default_factory=dict)
    """What the options of its patches put into the server's environment."""
    places: dict[str, str] = field(default_factory=dict)
    """Of each value that is not a default, by dotted key: "file:line:column", or the option that brought it."""


def resolve(name: str, reader: Reader, inputs: Inputs | None = None) -> ResolvedProfile:
    """Find, merge, fill in and validate the profile `name`.

    Raises:
        UsageError: no such profile, not YAML, or an option that is not of its form.
        Invalid: everything else that is wrong, all at once, each with file, line and column.
    """
    inputs = inputs or Inputs()
    chain = _chain(name, reader)
    overrides = [*map(layers.parse_set, inputs.sets), *map(layers.parse_env, inputs.env)]
    return _Resolution(chain, overrides, inputs).run()


@dataclass(frozen=True, slots=True)
class _Chain:
    """The profile and what it extends, the profile first; `problem` says why that ends before it should."""

    found: list[Found]
    problem: Problem | None = None
    hint: str = ""


def _chain(name: str, reader: Reader) -> _Chain:
    found = [reader.read(name)]
    if not isinstance(found[0].located.data, dict):
        raise UsageError(f"{found[0].source}: a profile is a mapping (key: value)")
    while (parent := found[-1].located.data.get("extends")) is not None:
        try:
            found.append(_parent(parent, found, reader))
        except UsageError as error:
            place = found[-1].located.where(("extends",))
            near = error.nearest if isinstance(error, NoSuchProfile) else ""
            told = Problem(("extends",), place, f"extends: {error.message}", near)
            return _Chain(found, told, "" if near else error.hint)
    return _Chain(found)


def _parent(name: Any, chain: list[Found], reader: Reader) -> Found:
    if not isinstance(name, str):
        raise UsageError("wants the name of a profile")
    parent = reader.read(name, chain[-1].source)
    if parent.source in [each.source for each in chain]:
        names = " → ".join(each.name for each in (*chain, parent))
        raise UsageError(f"the profiles extend each other in a circle: {names}")
    if not isinstance(parent.located.data, dict):
        raise UsageError(f"{parent.source}: a profile is a mapping (key: value)")
    return parent


class _Resolution:
    """One run of `resolve`, holding what its steps share."""

    def __init__(self, chain: _Chain, overrides: list[Override], inputs: Inputs) -> None:
        self.chain = chain.found
        self.is_whole = chain.problem is None
        self.files = [each.located for each in reversed(chain.found)]
        self.overrides = overrides
        self.inputs = inputs
        self.problems = [chain.problem] if chain.problem else []
        self.hint = chain.hint

    def run(self) -> ResolvedProfile:
        data = layers.merge(self.files, self.overrides)
        given = list(_leaves(data, ()))
        self._own_name(data)
        data = self._filled(data)
        profile, problems = check(Profile, data, self.where)
        # Of a profile whose `extends` leads nowhere only what stands in it can be judged, not what is missing.
        self.problems += [each for each in problems if self.is_whole or self._is_sure(data, each.path)]
        secrets = self._secrets(data)
        if self.is_whole:
            self._cross_checks(data)
        self._traps()
        if profile is not None and not self.problems and profile.sweep:
            self._sweep_checks(data)
        self._unknown_patches(data.get("patches"))
        patch_env = self._patch_env(profile) if profile else {}
        if profile is None or self.problems:
            raise Invalid(f"profile {self.chain[0].name}", self.problems, self.hint)
        sources = tuple(each.source for each in self.chain)
        places = {dotted(path): self.where(path) for path in given}
        sha256 = profile_sha256(profile)
        return ResolvedProfile(profile, sources, sha256, self._recorded(), secrets, patch_env, places)

    def where(self, path: Path_) -> str:
        return layers.where(path, self.files, self.overrides)

    def _is_sure(self, data: dict[str, Any], path: Path_) -> bool:
        return path != ("extends",) and _stands(data, path)

    def _own_name(self, data: dict[str, Any]) -> None:
        stem = self.chain[0].name
        if data.setdefault("name", stem) != stem:
            self._problem(("name",), f"the file is called {stem!r}, and a profile is found by its file's name")
            data["name"] = stem

    def _filled(self, data: dict[str, Any]) -> dict[str, Any]:
        data.setdefault("python", "${python}")
        data.setdefault("log_path", DEFAULT_LOG)
        if self.inputs.variables is None:
            return data
        known = {**self.inputs.variables, NAME_VARIABLE: self.chain[0].name}
        filled, problems = substitute(data, known, self.where)
        self.problems += problems
        return dict(filled)

    def _secrets(self, data: dict[str, Any]) -> Secrets:
        values: dict[str, str] = {}
        if self.inputs.environ is None:
            return Secrets()
        for path, name in _references(data):
            value = self.inputs.environ.get(name, "")
            if value:
                values[name] = value
            else:
                self._problem(path, f"the environment variable {name} is not set here")
        return Secrets(values)

    def _cross_checks(self, data: dict[str, Any]) -> None:
        for path, text in cross_checks(data):
            self._problem(path, text)

    def _traps(self) -> None:
        """Report numbers in base 8 and 60, but where the key wants text, which is told with the number already."""
        told = {problem.where for problem in self.problems}
        for located in self.files:
            for path, text in located.traps.items():
                if located.where(path) not in told:
                    self.problems.append(Problem(path, located.where(path), f"{dotted(path)}: {text}"))

    def _sweep_checks(self, data: dict[str, Any]) -> None:
        """Check each value of each axis as --set would: in the profile that it would make."""
        for axis, values in data["sweep"].items():
            path = tuple(axis.split("."))
            for index, value in enumerate(values):
                trial = layers.merge([Located({**data, "sweep": {}}, {}, "")], [Override("sweep", path, value)])
                _, problems = check(Profile, trial, self.where)
                here = [each for each in problems if each.path[: len(path)] == path]
                here += [Problem(p, "", f"{dotted(p)}: {t}") for p, t in cross_checks(trial)]
                for problem in here[:1]:
                    place: Path_ = ("sweep", axis, index)
                    message = problem.message.removeprefix(f"{dotted(problem.path)}: ")
                    self.problems.append(Problem(place, self.where(place), f"{dotted(place)}: {message}"))

    def _unknown_patches(self, patches: Any) -> None:
        """Of a profile with other errors too, but for entries that are no patch's id by their form."""
        told = {problem.path[:2] for problem in self.problems}
        found = unknown_patches(patches, self.inputs.patch_options, self.where)
        self.problems += [each for each in found if each.path not in told]

    def _patch_env(self, profile: Profile) -> dict[str, str]:
        env, problems = patch_env(profile, self.inputs.patch_options, self.where)
        self.problems += problems
        return env

    def _problem(self, path: Path_, text: str) -> None:
        self.problems.append(Problem(path, self.where(path), f"{dotted(path)}: {text}"))

    def _recorded(self) -> dict[str, Any]:
        return {
            dotted(each.path): MASK if is_secret_path(each.path) or _is_secret_env(each.path) else each.value
            for each in self.overrides
        }


def _stands(data: Any, path: Path_) -> bool:
    """Is there anything at this path?"""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _leaves(data: Any, path: Path_) -> Iterator[Path_]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    elif path:
        yield path


def _is_secret_env(path: Path_) -> bool:
    return path[0] == "env" and looks_secret(str(path[-1]))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _references(data: dict[str, Any]) -> list[tuple[Path_, str]]:
    """Return every well-formed reference to a secret; ill-formed ones are the model's to report."""
    places: dict[Path_, Any] = {("secret_env", key): value for key, value in _mapping(data.get("secret_env")).items()}
    places |= {(key,): data[key] for key in SECRET_KEYS if key in data}
    return [(path, name) for path, value in places.items() if isinstance(value, str) and (name := reference(value))]
