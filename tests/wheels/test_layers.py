"""Layer ids against released SGLang: each target's own setter, run, gives the values that our rules say."""

from __future__ import annotations

import os

import pytest

from console.launch import releases
from console.wiring import layers, setter, targets
from tests.wheels import expected, released, setters

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(300)]

VERSIONS = expected.RELEASES if os.environ.get("SPEC_CONSOLE_FULL") == "1" else (*expected.FEW, expected.RELEASES[-1])
LAYERS = 61
IDS = (None, [2, 30, 58], [1, 29, 57], [24, 30, 60], [24, 30, LAYERS], [0, 29, 57], [58, 1, 30], [3], [1])
KNOWN = sorted(targets._TARGETS)


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    try:
        released.excerpt(request.param)
    except released.Unavailable as reason:
        pytest.skip(str(reason))
    return str(request.param)


def test_the_releases_are_those_that_the_patches_know() -> None:
    assert releases.READ == expected.RELEASES


def test_every_known_target_captures_what_its_release_computes(version: str) -> None:
    compared = 0
    for architecture in KNOWN:
        known = targets.target(architecture)
        assert known is not None
        rule = targets.rule_at(known, version)
        if isinstance(rule, str):
            assert "first release known" in rule, rule
            continue
        for ids in IDS:
            given = None if rule.shift == "fixed" else ids
            real = setters.captured(version, architecture, LAYERS, given)
            assert real is not None, f"{architecture} has no setter in {version}"
            assert real == (known.file, list(layers.values_of(rule, LAYERS, ids))), (architecture, ids)
            compared += 1
    assert compared > 0


def test_the_rule_is_read_from_the_installed_file(version: str) -> None:
    for architecture in KNOWN:
        known = targets.target(architecture)
        assert known is not None
        rule = targets.rule_at(known, version)
        if not isinstance(rule, str):
            path = f"srt/models/{known.file}.py"
            text = released.read(version, (path,))[path]
            assert text is not None
            read = setter.read(text)
            assert read is not None, (architecture, version)
            assert (read.shift, read.default_plus) == (rule.shift, rule.default_plus), (architecture, version)
