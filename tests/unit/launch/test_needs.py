"""What preflight asks the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.needs import needs

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.launch.loader import ResolvedProfile

    Resolved = Callable[..., ResolvedProfile]


def test_paths_are_asked_for_and_hub_ids_are_told_apart(resolved: Resolved) -> None:
    text = (
        "model_path: ${models}/t\ntokenizer_path: ${models}/t\npatches: [eagle3-shapes]\n"
        "speculative: {algorithm: EAGLE3, draft_model_path: lab/draft, token_map: /maps/x.pt}\n"
    )
    found = needs(resolved(text))
    assert found.paths_to_read == ("/models/t", "/maps/x.pt")
    assert found.hub_ids == ("lab/draft",)
    assert (found.python, found.log_path, found.port) == ("/opt/venv/bin/python3", "/srv/logs/p.log", 30000)
    assert (found.host, found.gpus, found.patches) == ("127.0.0.1", None, ("eagle3-shapes",))


def test_gpus_are_counted_per_node(resolved: Resolved) -> None:
    found = needs(
        resolved(
            "model_path: /m\ntp_size: 8\npp_size: 2\ngpus: [0, 1, 2, 3]\nhost: 0.0.0.0\n"
            "nnodes: 4\nnode_rank: 0\ndist_init_addr: 10.0.0.1:20000\n"
        )
    )
    assert (found.gpu_count, found.gpus, found.host) == (4, (0, 1, 2, 3), "0.0.0.0")


def test_an_unfilled_variable_is_a_path(resolved: Resolved) -> None:
    found = needs(resolved("model_path: ${models}/t\n", variables=None))
    assert (found.paths_to_read, found.hub_ids) == (("${models}/t",), ())
