"""Ids that make a fault on purpose, for what ids mean in each release."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.calibration import wirings
from console.calibration.pair import Ask, PairSpec, order
from console.errors import UsageError
from console.wiring import targets
from console.wiring.targets import Rule

DEEPSEEK, LLAMA = PairSpec("deepseek_v2"), PairSpec("llama")


def rule(spec: PairSpec, version: str) -> Rule:
    known = targets.target(spec.target_config()["architectures"][0])
    assert known is not None
    found = targets.rule_at(known, version)
    assert isinstance(found, Rule)
    return found


@pytest.mark.parametrize(
    ("spec", "version", "name", "ids"),
    [
        (DEEPSEEK, "0.5.12.post1", "trained", (2, 3, 6)),
        (DEEPSEEK, "0.5.20", "trained", (3, 4, 7)),
        (DEEPSEEK, "0.5.20", "one_early", (1, 2, 5)),
        (DEEPSEEK, "0.5.20", "one_of_three", (1, 3, 6)),
        (DEEPSEEK, "0.5.20", "embedding", (0, 4, 7)),
        (DEEPSEEK, "0.5.12.post1", "embedding", (-1, 3, 6)),
        (LLAMA, "0.5.20", "trained", (2, 3, 6)),
        (LLAMA, "0.5.20", "embedding", (-1, 3, 6)),
        (LLAMA, "0.5.20", "default_ids", None),
    ],
)
def test_ids_of_a_wiring(spec, version, name, ids):
    assert wirings.wire(name, rule(spec, version), spec).ids == ids


def test_what_the_slots_get():
    spec = replace(DEEPSEEK, looks_back=True)
    found = {name: wirings.wire(name, rule(spec, "0.5.20"), spec) for name in wirings.NAMES}
    assert found["trained"].outputs == (2, 3, 6)
    assert found["default_ids"].outputs == (1, 3, 4)
    assert found["embedding"].outputs == (-1, 3, 6)
    assert found["fc_swapped"].outputs == (3, 2, 6)
    assert found["eagle_flag"].algorithm == "EAGLE"
    assert found["d2t_missing"].other == "d2t-not-applied"
    assert {name for name, wired in found.items() if wired.faults} == {"one_late", "one_missing", "one_too_many"}
    folders = {wired.folder for wired in found.values()}
    assert len(folders) == len(found) - 2, "only the flag of EAGLE and the target's fault need no draft of their own"
    assert found["target_rope_scaled"].target == "target-rope-scaled"
    assert {wired.target for name, wired in found.items() if name != "target_rope_scaled"} == {"target"}


def test_an_embedding_that_cannot_be_captured_is_a_death_that_is_expected():
    found = wirings.wire("embedding", rule(LLAMA, "0.5.20"), LLAMA)
    assert found.outputs is None
    assert "embedding" in found.faults[0]


def test_the_same_ids_mean_other_layers_in_another_release():
    old, new = (wirings.with_ids((2, 3, 6), rule(DEEPSEEK, each), DEEPSEEK) for each in ("0.5.12.post1", "0.5.20"))
    assert (old.outputs, new.outputs) == ((2, 3, 6), (1, 2, 5))


def test_a_wiring_that_there_is_not():
    for name in ("rope_scaled", "target_rope_scaled"):
        with pytest.raises(UsageError, match="multiplied by zero"):
            wirings.wire(name, rule(LLAMA, "0.5.20"), LLAMA)
    with pytest.raises(UsageError, match="there is no wiring"):
        wirings.wire("nonsense", rule(LLAMA, "0.5.20"), LLAMA)


def test_pairs_that_differ_in_anything_lie_apart():
    specs = [LLAMA, DEEPSEEK, PairSpec("llama", p=0.8), PairSpec("llama", draft_vocab=384)]
    specs.append(PairSpec("llama", looks_back=True))
    names = {spec.name("a" * 64) for spec in specs} | {LLAMA.name("b" * 64)}
    assert len(names) == 6
    assert order(LLAMA, Ask(), None) == order(PairSpec("llama"), Ask(5, 400), None)
