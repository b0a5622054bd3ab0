"""The inserted code on a real SGLang at TP 2: worker v2 (0.5.20) and worker v1 (0.5.12.post1), in place and by overlay.

All three patches together, no record left out, one greedy request. What a cycle tells was first seen on H200s
(0.5.12.post1, 5 steps, 6 draft tokens): the target's verify over six rows, one draft extend, four draft decodes.
SPEC_CONSOLE_FULL=1 adds what the default leaves out for its time: worker v2, both in place, worker v1 unpatched, one
layer early, and an embedding.
"""

from __future__ import annotations

import functools
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.sglang_cpu.conftest import NODE, Site
from tests.sglang_cpu.told import KINDS, Told

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.sglang_cpu, pytest.mark.sshd, pytest.mark.slow, pytest.mark.timeout(900)]

FULL = os.environ.get("SPEC_CONSOLE_FULL") == "1"
RANKS = (0, 1)
HIDDEN, STATES, STEPS, DRAFT_TOKENS = 1024, 3, 5, 6
TARGET, DRAFT = "DeepseekV3ForCausalLM", "LlamaForCausalLMEagle3"
TOKENS = 96
FEW_TOKENS = 24
ROUNDING_MS = 0.003
"""Times are told to a microsecond, so a sum of three and what it is held against may differ by so much."""


@dataclass(frozen=True, slots=True)
class Release:
    """What the two workers do differently."""

    plain: str
    """The profile without patches; that with all of them is the same with `-records` behind it."""
    worker: str
    extend: str
    """The mode of a draft extend."""
    packed: bool
    """The target hands its states on as one tensor."""
    extends_drafted: bool
    """A draft extend runs over all drafted tokens, else over the accepted ones only, and not when all is done."""

    def states(self, rows: int) -> object:
        return (rows, STATES * HIDDEN) if self.packed else ((rows, HIDDEN),) * STATES


V1 = Release("cpu-deepseek-v1", "EAGLEWorker", "DRAFT_EXTEND", packed=False, extends_drafted=False)
V2 = Release("cpu-deepseek-eagle3", "EAGLEWorkerV2", "DRAFT_EXTEND_V2", packed=True, extends_drafted=True)
CASES = [(V1, "overlay"), *([(V2, "overlay"), (V2, "in-place"), (V1, "in-place")] if FULL else [])]
MORE = pytest.mark.skipif(not FULL, reason="more starts: SPEC_CONSOLE_FULL=1")


@dataclass(frozen=True, slots=True)
class Served:
    """One request to a server, patched or not, and what the tree was around it."""

    release: Release
    run: dict[str, Any]
    overlay: dict[str, Any] | None
    told: Told
    planned: frozenset[str]
    """Files of the package that the patches were applied to."""
    touched: frozenset[str]
    """Files that differed from the original tree while the server ran."""
    left: frozenset[str]
    """Files that differ from it after the revert."""


@pytest.fixture(scope="module")
def serve(request: pytest.FixtureRequest) -> Callable[..., Served]:
    """`serve(release, delivery, tokens, draft)`: patch, launch, one request, stop, revert; each is done once.

    `draft`: another draft's folder, whose captured layers the console knows to be wrong.
    """

    @functools.cache
    def _serve(release: Release, delivery: str | None, tokens: int = TOKENS, draft: str | None = None) -> Served:
        site: Site = request.getfixturevalue("site_v1" if release is V1 else "site")
        profile = f"{release.plain}-records" if delivery else release.plain
        before, planned = site.tree(), frozenset[str]()
        if delivery:
            told = _run(site, "patch", "apply", NODE, "--profile", profile, "--delivery", delivery, "--yes")
            planned = frozenset(f"sglang/{file['path']}" for file in told["files"] if file["sha256_after"])
        sets = ["--set", f"speculative.draft_model_path={draft}", "--allow", "layer-outputs"] if draft else []
        server = _run(site, "launch", NODE, profile, *sets, "--yes")["server"]
        touched = _differing(before, site.tree())
        run = _run(site, "probe", NODE, "--blocks", "1", "--warmup", "0", "--max-new-tokens", str(tokens))["run"]
        _run(site, "stop", NODE, "--yes")
        log = Path(server["log_path"]).read_bytes()
        if delivery:
            _run(site, "patch", "revert", NODE, "--yes")
        return Served(release, run, server["overlay"], Told(log), planned, touched, _differing(before, site.tree()))

    return _serve


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0].worker}-{case[1]}")
def served(request: pytest.FixtureRequest, serve: Callable[..., Served]) -> Served:
    return serve(*request.param)


@pytest.fixture(scope="module")
def plain(served: Served, serve: Callable[..., Served]) -> Served:
    """The same release without patches. By default worker v2's stands for v1's too: the weights give both the same."""
    return serve(served.release if FULL else V2, None)


def _run(site: Site, *words: str) -> dict[str, Any]:
    code, told, narration = site.run(*words)
    assert code == 0, narration
    return told


def _differing(one: dict[str, str], other: dict[str, str]) -> frozenset[str]:
    return frozenset(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def test_acceptance_is_that_of_the_unpatched_server(served, plain):
    for run in (served.run, plain.run):
        assert run["valid"]
        assert run["completion_tokens"] == TOKENS
        assert run["verifications"] == sum(run["accept_hist"])
    assert served.run["accept_len"] == plain.run["accept_len"]
    assert served.run["accept_hist"] == plain.run["accept_hist"]
    assert {kind: plain.told.history.counts[kind] for kind in KINDS} == dict.fromkeys(KINDS, 0)


def test_every_patch_records_on_every_rank_and_none_failed(served):
    assert served.told.errors() == []
    assert served.told.ranks() == {kind: set(RANKS) for kind in KINDS}


@pytest.mark.parametrize("rank", RANKS)
def test_the_prefill_passes_on_three_states_of_every_token(served, rank):
    rows = served.told.prompt_rows()
    assert _in_mode(served.told.shapes(rank), "EXTEND") == {
        ("target.aux", TARGET, served.release.states(rows)): 1,
        ("logits.cat_in", TARGET, served.release.states(rows)): 1,
        ("logits.stored", TARGET, (rows, STATES * HIDDEN)): 1,
        ("draft.fc_in", DRAFT, (rows, STATES * HIDDEN)): 1,
        ("draft.fc_out", DRAFT, (rows, HIDDEN)): 1,
        ("logits.cat_in", DRAFT, ((1, HIDDEN),)): 1,
        ("logits.stored", DRAFT, (1, HIDDEN)): 1,
    }


@pytest.mark.parametrize("rank", RANKS)
def test_every_cycle_verifies_once_and_drafts_four_times_without_fc(served, rank):
    shapes, cycles = served.told.shapes(rank), served.run["verifications"]
    states = served.release.states(DRAFT_TOKENS)
    assert _in_mode(shapes, "TARGET_VERIFY") == {
        ("target.aux", TARGET, states): cycles,
        ("logits.cat_in", TARGET, states): cycles,
        ("logits.stored", TARGET, (DRAFT_TOKENS, STATES * HIDDEN)): cycles,
    }
    assert _in_mode(shapes, "DECODE") == {
        (site, DRAFT, shape): (STEPS - 1) * cycles
        for site, shape in (
            ("draft.fc_in", (1, HIDDEN)),
            ("draft.fc_out", (1, HIDDEN)),
            ("logits.cat_in", ((1, HIDDEN),)),
            ("logits.stored", (1, HIDDEN)),
        )
    }
    assert {row[2] for row in shapes} == {"EXTEND", "TARGET_VERIFY", "DECODE", served.release.extend}


@pytest.mark.parametrize("rank", RANKS)
def test_every_cycle_extends_the_draft_by_what_was_verified(served, rank):
    """Worker v1 extends by the accepted tokens: its rows are the histogram, but for the cycle that ends the request."""
    rows_of, cycles = _extended(served, rank), served.run["verifications"]
    shapes = _in_mode(served.told.shapes(rank), served.release.extend)
    extends = sum(rows_of.values())
    if served.release.extends_drafted:
        assert rows_of == {DRAFT_TOKENS: cycles}
    else:
        accepted = Counter({drafts + 1: count for drafts, count in enumerate(served.run["accept_hist"]) if count})
        assert rows_of <= accepted
        assert extends == cycles - 1
    outer = DRAFT_TOKENS if served.release.extends_drafted else 1  # v1 keeps the last row of a request
    assert shapes == {
        **{("draft.fc_in", DRAFT, (rows, STATES * HIDDEN)): count for rows, count in rows_of.items()},
        **{("draft.fc_out", DRAFT, (rows, HIDDEN)): count for rows, count in rows_of.items()},
        ("logits.cat_in", DRAFT, ((outer, HIDDEN),)): extends,
        ("logits.stored", DRAFT, (outer, HIDDEN)): extends,
    }


def _extended(served: Served, rank: int) -> Counter[int]:
    """Rows of the draft extends → how many."""
    shapes = _in_mode(served.told.shapes(rank), served.release.extend)
    return Counter({shape[0]: count for (site, _, shape), count in shapes.items() if site == "draft.fc_in"})


def _in_mode(shapes: Counter[tuple[Any, ...]], mode: str) -> dict[tuple[Any, ...], int]:
    return {(row[0], row[1], row[3]): count for row, count in shapes.items() if row[2] == mode}


@pytest.mark.parametrize("rank", RANKS)
def test_what_is_captured_arrives_at_the_draft_and_holds_no_nan(served, rank):
    captured = served.told.calls(rank, "target.aux", "EXTEND", "TARGET_VERIFY")
    arrived = served.told.calls(rank, "draft.fc_in", "EXTEND", served.release.extend)
    assert len(captured) == 1 + served.run["verifications"]
    assert len(arrived) == 1 + sum(_extended(served, rank).values())
    whole = [(one.sums, other.sums) for one, other in zip(captured, arrived, strict=False) if one.rows == other.rows]
    assert len(whole) == (1 + _extended(served, rank)[DRAFT_TOKENS])
    assert all(one == other for one, other in whole)
    assert {call.nans for call in (*captured, *arrived)} == {0}


def test_ranks_agree_on_every_state(served):
    for site in ("target.aux", "draft.fc_in"):
        modes = ("EXTEND", "TARGET_VERIFY", "DECODE", served.release.extend)
        assert served.told.calls(0, site, *modes) == served.told.calls(1, site, *modes)


def test_no_state_of_the_prefill_is_another_one_or_the_embedding(served):
    (call,) = served.told.calls(0, "draft.fc_in", "EXTEND")
    assert len(set(call.sums)) == STATES
    assert call.embed == (0,) * STATES


@MORE
def test_both_releases_and_both_deliveries_capture_the_same(served, serve):
    (call,) = served.told.calls(0, "target.aux", "EXTEND")
    (other,) = serve(V2, "overlay").told.calls(0, "target.aux", "EXTEND")
    assert call == other


@pytest.mark.parametrize("rank", RANKS)
def test_every_cycle_is_timed(served, rank):
    since_start, of_request = served.told.cycles(rank)
    assert [cycle["seq"] for cycle in since_start] == list(range(1, len(since_start) + 1))
    assert len(of_request) == served.run["verifications"]
    assert {(cycle["worker"], cycle["clock"], cycle["bs"]) for cycle in since_start} == {
        (served.release.worker, "host", 1)
    }
    for cycle in of_request:
        extend = cycle["extend_ms"] or 0.0
        assert cycle["draft_ms"] > 0
        assert 0 < cycle["target_ms"] <= cycle["verify_ms"]
        assert cycle["draft_ms"] + cycle["verify_ms"] + extend <= cycle["cycle_ms"] + ROUNDING_MS
    untimed = [index for index, cycle in enumerate(of_request) if cycle["extend_ms"] is None]
    assert untimed == ([] if served.release.extends_drafted else [len(of_request) - 1])


def test_the_tree_is_as_delivered_and_afterwards_as_before(served, request):
    delivery = request.node.callspec.params["served"][1]
    assert {Path(path).stem for path in served.planned} >= {"logits_processor", "deepseek_v2", "llama_eagle3"}
    assert served.touched == (served.planned if delivery == "in-place" else frozenset())
    assert served.left == frozenset()


def test_an_overlay_serves_every_rank(served, request):
    if request.node.callspec.params["served"][1] == "in-place":
        assert served.overlay is None
        return
    assert served.overlay == {"ranks": len(RANKS), "served": len(RANKS), "wrong": ""}
    fold = served.told.history.overlay
    assert fold.refused == {}
    worker = "eagle_worker" if served.release is V1 else "eagle_worker_v2"
    of_ranks = [modules for modules in fold.modules.values() if f"sglang.srt.speculative.{worker}" in modules]
    assert len(of_ranks) == len(RANKS)
    assert {f"sglang.{path.removeprefix('sglang/')[:-3].replace('/', '.')}" for path in served.planned} >= of_ranks[0]


@MORE
def test_one_layer_early_shows_in_the_digests(serve):
    """The same widths; but what the draft takes for its second state is what it was trained to take for its first."""
    early = serve(V2, "overlay", FEW_TOKENS, "${models}/early")
    (good,) = serve(V2, "overlay").told.calls(0, "draft.fc_in", "EXTEND")
    (call,) = early.told.calls(0, "draft.fc_in", "EXTEND")
    assert (call.rows, len(call.sums)) == (good.rows, STATES)
    assert not any(one == other for one, other in zip(call.sums, good.sums, strict=True))
    assert call.sums[1] == good.sums[0], "both are the output of layer 2"


@MORE
def test_a_captured_embedding_is_named(serve, site, tmp_path):
    """Ids 0, 4, 7 of 0.5.20's DeepSeek are the embedding and the outputs of layers 3 and 6."""
    config = json.loads((site.cpu.pair / "draft" / "config.json").read_text())
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [0, 4, 7]
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").symlink_to(site.cpu.pair / "draft" / "model.safetensors")
    (call,) = serve(V2, "overlay", FEW_TOKENS, str(tmp_path)).told.calls(0, "draft.fc_in", "EXTEND")
    (good,) = serve(V2, "overlay").told.calls(0, "draft.fc_in", "EXTEND")
    assert call.embed == (call.rows - 1, 0, 0)
    assert call.sums[1:] == good.sums[1:]
