"""Keys of a profile that are right by themselves and wrong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.launch.flags import SECRET_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from console.validation import Path_


def cross_checks(data: Mapping[str, Any]) -> Iterator[tuple[Path_, str]]:
    """Yield what is wrong by path; the data may be of any form, whose own faults are the model's to report."""
    env, secret_env, args = (_mapping(data.get(key)) for key in ("env", "secret_env", "args"))
    for name in env.keys() & secret_env.keys():
        yield ("secret_env", name), "stands in env too"
    if "gpus" in data and "CUDA_VISIBLE_DEVICES" in env:
        yield ("env", "CUDA_VISIBLE_DEVICES"), "gpus says it already"
    if "config" in args and any(key in data for key in SECRET_KEYS):
        yield ("args", "config"), "a server takes one --config, and that carries the API key"
    yield from _nodes(data)


def _nodes(data: Mapping[str, Any]) -> Iterator[tuple[Path_, str]]:
    """Over several nodes each server is told how many there are, which one it is, and where the first one listens."""
    nnodes, rank = data.get("nnodes", 1), data.get("node_rank")
    if type(nnodes) is not int or (rank is not None and type(rank) is not int):
        return
    if nnodes > 1 and "dist_init_addr" not in data:
        yield (
            ("nnodes",),
            "more than one node needs dist_init_addr, the address of the first one, such as 10.0.0.1:20000",
        )
    if nnodes > 1 and rank is None:
        yield ("nnodes",), f"more than one node needs node_rank, 0 to {nnodes - 1} (--set node_rank=1 on the second)"
    if rank is not None and rank >= nnodes:
        yield ("node_rank",), f"of {nnodes} node{'s' * (nnodes > 1)} the last has rank {nnodes - 1}"
    tp_size, pp_size = data.get("tp_size", 1), data.get("pp_size", 1)
    if nnodes > 1 and type(tp_size) is int and type(pp_size) is int and (tp_size * pp_size) % nnodes:
        yield (
            ("nnodes",),
            f"tp_size × pp_size ({tp_size * pp_size}) is no multiple of nnodes ({nnodes}): SGLang asserts it",
        )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
