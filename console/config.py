"""The user's nodes: `nodes.yaml` in the config directory, node name → how to reach it and what it brings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)

from console import yaml_file
from console.errors import UsageError
from console.validation import Invalid, Problem, check, env_name, nearest

if TYPE_CHECKING:
    from pathlib import Path

    from console.errors import Unreachable

LOCAL = "local"
DEMO = "demo"

Transport = Literal["auto", "asyncssh", "openssh", "paramiko", "local"]
GpuSource = Literal["auto", "nvml", "smi", "none"]

_NODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:-]*")


def _ssh_name(name: str) -> str:
    # a name that begins with a hyphen would be an option of ssh
    if name.startswith("-") or not name or re.search(r"[\s@]", name):
        raise ValueError(f"{name!r} is not a name for ssh")
    return name


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _word(text: str) -> str:
    if not text:
        raise ValueError("an empty word")
    return text


SshName = Annotated[StrictStr, AfterValidator(_ssh_name)]
EnvName = Annotated[StrictStr, AfterValidator(env_name)]
NonEmpty = Annotated[StrictStr, AfterValidator(_word)]


class NodeConfig(BaseModel):
    """One node. Every key may be missing: a plain ssh alias needs no entry at all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: SshName | None = None
    """The name that ssh knows, an alias or a host name; None is the node's own name."""
    user: SshName | None = None
    """Who to log in as; None is what ssh_config says, or this user's name."""
    transport: Transport = "auto"
    """auto: asyncssh, or openssh where the ssh configuration of the host needs it."""
    python: Annotated[tuple[NonEmpty, ...], BeforeValidator(_as_list)] = ()
    """Interpreters to try, in order, for the agent; the first is also `${python}`. Empty: the agent's own search."""
    serving_python: NonEmpty | None = None
    """The interpreter that servers run on, `${python}` in profiles; None is the first of `python`."""
    sglang_root: NonEmpty | None = None
    """The folder that holds the package `sglang` (a checkout's python/), where it is not installed: on PYTHONPATH."""
    profile: NonEmpty | None = None
    """The profile to use where a verb names none."""
    log_dirs: Annotated[tuple[NonEmpty, ...], BeforeValidator(_as_list)] = ()
    """Folders of logs on the node; the first is also `${logs}`."""
    variables: dict[EnvName, StrictStr] = Field(default_factory=dict)
    """Values for `${name}` in profiles: python, models, drafts, logs and whatever else they use."""
    env: dict[EnvName, StrictStr] = Field(default_factory=dict)
    """Set under every launch and every look at the installed SGLang; a profile's env goes over it."""
    exec_prefix: tuple[NonEmpty, ...] = ()
    """Words before the agent's command, such as [docker, exec, -i, NAME]."""
    gpu_source: GpuSource = "auto"
    nvidia_smi: NonEmpty | None = None
    """The program that `gpu_source: smi` runs, when it is not `nvidia-smi` on the agent's path."""
    cache_dir: NonEmpty | None = None
    """Where the agent's zip is kept on the node; None is ~/.cache/spec-console."""
    lock_dir: NonEmpty | None = None
    """Where the writer lock lies; None is where every account of the node sees it."""
    simulated: StrictBool = False
    """Mark everything measured there as simulated."""
    state_dir: NonEmpty | None = None
    """Where the agent keeps its state on the node; None is its own choice."""
    sets: tuple[NonEmpty, ...] = ()
    """Profile keys that this node always sets, as `--set` would (port=18000); the user's own `--set` goes over them."""
    gpus: Annotated[StrictInt, Field(ge=0)] | None = None
    """How many GPUs to expect; None is however many are found."""

    @model_validator(mode="after")
    def _sglang_on_the_path(self) -> Self:
        if self.sglang_root:
            behind = [self.env["PYTHONPATH"]] if self.env.get("PYTHONPATH") else []
            self.env["PYTHONPATH"] = ":".join([self.sglang_root, *behind])
        return self

    def address(self, node: str) -> tuple[str, str | None]:
        """Return the name to give to ssh for the node called `node`, and the user; the name may be "user@host"."""
        user, _, host = node.rpartition("@")
        return self.host or host, self.user or user or None

    def agent_args(self) -> tuple[str, ...]:
        """Return the options of the agent on this node (remote_agent/options.py)."""
        given = {"--state-dir": self.state_dir, "--lock-dir": self.lock_dir, "--nvidia-smi": self.nvidia_smi}
        words = ("--gpu-source", self.gpu_source)
        return words + tuple(word for flag, value in given.items() if value for word in (flag, value))

    def launch_variables(self) -> dict[str, str]:
        """Return the variables for profiles; what `variables` sets goes over the keys that also make one."""
        serving = self.serving_python or (self.python[0] if self.python else None)
        made = {"python": serving, "logs": self.log_dirs[0] if self.log_dirs else None}
        return {**{name: value for name, value in made.items() if value}, **self.variables}


def load_nodes(path: Path) -> dict[str, NodeConfig]:
    """Read nodes.yaml; a missing file is no nodes.

    Raises:
        UsageError: not readable or not YAML.
        Invalid: everything that is wrong in it, at once.
    """
    if not path.exists():
        return {}
    located = yaml_file.load_file(path)
    data = {} if located.data is None else located.data
    if not isinstance(data, dict):
        raise Invalid("nodes", [Problem((), located.where(()), "nodes.yaml is a mapping: node name → its keys")])
    nodes: dict[str, NodeConfig] = {}
    problems: list[Problem] = []
    for name, raw in data.items():
        node, found = check(NodeConfig, _with_defaults(name, raw), located.where, (name,))
        problems += [*found, *_name_problems(name, node, located)]
        if node is not None:
            nodes[name] = node
    if problems:
        raise Invalid(str(path), problems)
    return nodes


def node_config(nodes: dict[str, NodeConfig], name: str) -> NodeConfig:
    """Return the configuration of a node: its entry, or the defaults of a plain ssh name (`local`: this machine).

    Raises:
        UsageError: the name cannot be a node's.
    """
    if name in nodes:
        return nodes[name]
    if not _NODE_NAME.fullmatch(name):
        near = nearest(name, nodes)
        raise UsageError(f"{name!r} is not a node's name", f"Nearest: {near}." if near else "")
    return NodeConfig(transport="local") if name == LOCAL else NodeConfig()


def did_you_mean(error: Unreachable, name: str, path: Path) -> None:
    """Add to the hint which node of nodes.yaml may have been meant, where nothing is written there of this one.

    Only an error tells: a name without an entry may well be one that ssh knows.
    """
    known = load_nodes(path)
    near = nearest(name, {*known, DEMO, LOCAL} - {name})
    if near and name not in known:
        error.hint = f"{error.hint} Did you mean {near}?".strip()


def _with_defaults(name: str, raw: Any) -> Any:
    if raw is None or isinstance(raw, dict):
        return {**({"transport": "local"} if name == LOCAL else {}), **(raw or {})}
    return raw


def _name_problems(name: str, node: NodeConfig | None, located: yaml_file.Located) -> list[Problem]:
    place = located.where((name,))
    if not _NODE_NAME.fullmatch(name):
        return [Problem((name,), place, f"{name!r} is not a node's name")]
    if name == DEMO:
        return [Problem((name,), place, "demo is the embedded node and takes no entry")]
    if name == LOCAL and node is not None and node.transport != "local":
        return [Problem((name,), place, "local is this machine: its transport is local")]
    return []
