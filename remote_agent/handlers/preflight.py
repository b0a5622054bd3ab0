"""What a server that is started now would find on this node: limits, shared memory, GPUs and links, caches, tools."""

from __future__ import annotations

import os
import resource
import shutil
from dataclasses import replace
from typing import Callable, Dict, List, Optional, Tuple, TypeVar

from remote_agent.gpu import SourceError
from remote_agent.node import Node
from remote_agent.protocol import Hardware, HubFacts, Preflight
from remote_agent.request import Request, method

T = TypeVar("T")
_LIMITS = ("nofile", "memlock", "nproc")
_TRUE = ("1", "ON", "YES", "TRUE")
"""huggingface_hub, constants.py."""
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_NO_LIMIT = 1 << 60
"""cgroup v1 writes "no limit" as a number near 2^63."""


@method()
def facts(node: Node, request: Request) -> Preflight:
    """`env` is what the launch sets on top of ours; `hub_ids` are models that are no absolute paths."""
    env = dict(os.environ, **{str(key): str(value) for key, value in request.get("env", dict, {}).items()})
    ids = [str(each) for each in request.get("hub_ids", list, [])]
    unread: Dict[str, str] = {}
    shm = _told(unread, "shm", lambda: os.statvfs("/dev/shm"))
    return Preflight(
        hardware=_hardware(node),
        limits={name: list(resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper()))) for name in _LIMITS},
        shm_bytes=shm.f_blocks * shm.f_frsize if shm else None,
        shm_free_bytes=shm.f_bavail * shm.f_frsize if shm else None,
        memory_limit_bytes=_told(unread, "memory_limit", memory_limit),
        programs={"nvcc": _nvcc(env), **{name: _which(name, env) for name in ("ninja", "py-spy")}},
        hub=hub(ids, env, request.get("cwd", str, ""), request.get("download_dir", str, "")) if ids else None,
        unread=unread,
    )


def _told(unread: Dict[str, str], name: str, read: Callable[[], T]) -> Optional[T]:
    try:
        return read()
    except (OSError, ValueError) as error:
        unread[name] = str(error)
        return None


def _hardware(node: Node) -> Hardware:
    try:
        told = node.gpu.hardware()
    except SourceError as error:
        return Hardware(unread={"gpus": f"{node.gpu.name}: {error}"})
    unread = dict(told.unread)
    nodes = _told(unread, "numa", lambda: [numa_node(gpu.bus_id) for gpu in told.gpus])
    gpus = [replace(gpu, numa_node=number) for gpu, number in zip(told.gpus, nodes or [])]
    return replace(told, gpus=gpus or told.gpus, unread=unread)


def numa_node(bus_id: Optional[str], devices: str = "/sys/bus/pci/devices") -> Optional[int]:
    """The kernel's number; None where it has none (-1). Raises OSError, ValueError."""
    if bus_id is None:
        return None
    with open(os.path.join(devices, os.path.basename(bus_id), "numa_node"), encoding="ascii") as file:
        number = int(file.read())
    return number if number >= 0 else None


def memory_limit(proc: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> Optional[int]:
    """The lowest limit from our cgroup up, v2 or v1. Raises OSError."""
    with open(proc, encoding="utf-8", errors="replace") as file:
        rows = [line.rstrip("\n").split(":", 2) for line in file]
    found: List[int] = []
    for top, name, path in (_controller(root, row) for row in rows if len(row) == 3):
        while name:
            number = _number(os.path.join(top, path.lstrip("/"), name))
            found += [] if number is None else [number]
            if path in ("/", ""):
                break
            path = os.path.dirname(path)
    return min(found, default=None)


def _controller(root: str, row: List[str]) -> Tuple[str, str, str]:
    number, controllers, path = row
    if number == "0":
        return root, "memory.max", path
    is_memory = "memory" in controllers.split(",")
    return os.path.join(root, "memory"), "memory.limit_in_bytes" if is_memory else "", path


def _number(path: str) -> Optional[int]:
    """None where there is no such file (a container sees its own root only), or no limit."""
    try:
        with open(path, encoding="ascii") as file:
            number = int(file.read())
    except (OSError, ValueError):
        return None
    return number if number < _NO_LIMIT else None


def _which(name: str, env: Dict[str, str]) -> str:
    return shutil.which(name, path=env.get("PATH")) or ""


def _nvcc(env: Dict[str, str]) -> str:
    """Where torch and flashinfer look: CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda (torch/utils/cpp_extension.py)."""
    home = env.get("CUDA_HOME") or env.get("CUDA_PATH")
    places = [os.path.join(home, "bin", "nvcc")] if home else [_which("nvcc", env), "/usr/local/cuda/bin/nvcc"]
    return next((place for place in places if os.access(place, os.X_OK)), "")


def hub(ids: List[str], env: Dict[str, str], cwd: str, download_dir: str) -> Optional[HubFacts]:
    """The hub's cache under this environment (huggingface_hub, constants.py); None where ModelScope is asked."""
    if env.get("SGLANG_USE_MODELSCOPE", "").upper() in _TRUE:
        return None
    base = env.get("XDG_CACHE_HOME") or os.path.join(env.get("HOME") or "~", ".cache")
    home = env.get("HF_HOME") or os.path.join(base, "huggingface")
    own = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")
    cache = os.path.expanduser(download_dir or own)
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    first = next((name for name in names if env.get(name)), "")
    return HubFacts(
        offline_by=first if first and env[first].upper() in _TRUE else "",
        cache=cache,
        free_bytes=_free(cache),
        missing=[each for each in ids if not (os.path.exists(os.path.join(cwd, each)) or _is_cached(cache, each))],
    )


def _free(path: str) -> Optional[int]:
    while not os.path.isdir(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    try:
        usage = os.statvfs(path)
    except OSError:
        return None
    return usage.f_bavail * usage.f_frsize


def _is_cached(cache: str, name: str) -> bool:
    """Is there a snapshot with weights? One with a config alone is what a look at the model leaves behind."""
    repo = "--".join(["models", *name.split("/")[:2]])
    snapshots = os.path.join(cache, repo, "snapshots")
    try:
        return any(
            file.endswith(_WEIGHTS)
            for each in os.listdir(snapshots)
            for file in os.listdir(os.path.join(snapshots, each))
        )
    except OSError:
        return False
