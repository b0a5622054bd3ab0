"""Options of patches in a profile: what they put into the server's environment, and every mistake with its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.launch.command import render, shell_line
from console.launch.record import profile_record
from console.patches.known import KnownPatches
from console.validation import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.launch.loader import ResolvedProfile

    Resolved = Callable[..., ResolvedProfile]

OPTIONS = KnownPatches().options()


def given(resolved: Resolved, patches: str, more: str = "", **inputs: Any) -> ResolvedProfile:
    return resolved(f"model_path: /m\npatches:\n{patches}{more}", **{"patch_options": OPTIONS, **inputs})


def failing(resolved: Resolved, patches: str, more: str = "", **inputs: Any) -> list[str]:
    with pytest.raises(Invalid) as caught:
        given(resolved, patches, more, **inputs)
    return [f"{Path(one.where).name}: {str(one)[len(one.where) + 2 :]}" for one in caught.value.problems]


def test_options_become_the_servers_variables(resolved: Resolved) -> None:
    text = '  - eagle3-digest\n  - {id: eagle3-shapes, on: true, ranks: "0,3", first: 20, every: 0}\n'
    found = given(resolved, text)
    env = {"EAGLE3_DEBUG": "1", "EAGLE3_DEBUG_RANKS": "0,3", "EAGLE3_DEBUG_FIRST": "20", "EAGLE3_DEBUG_EVERY": "0"}
    assert found.patch_env == env
    assert found.profile.patch_ids == ("eagle3-digest", "eagle3-shapes")
    command = render(found, {"EAGLE3_DEBUG_FIRST": "5", "NODE": "x"})
    assert command.env == {**env, "NODE": "x"}, "they go over what the node brings"
    assert "EAGLE3_DEBUG_RANKS=0,3 " in shell_line(command)


def test_lists_are_joined(resolved: Resolved) -> None:
    found = given(resolved, "  - {id: eagle3-shapes, ranks: [0, 3], sites: [draft.fc_in, target.aux]}\n")
    assert found.patch_env == {"EAGLE3_DEBUG_RANKS": "0,3", "EAGLE3_DEBUG_SITES": "draft.fc_in,target.aux"}


def test_a_plain_patch_is_recorded_as_before_and_options_are_recorded(resolved: Resolved) -> None:
    plain = given(resolved, "  - eagle3-shapes\n")
    same = given(resolved, "  - {id: eagle3-shapes}\n")
    other = given(resolved, "  - {id: eagle3-shapes, first: 20}\n")
    assert profile_record(plain.profile)["patches"] == ["eagle3-shapes"]
    assert profile_record(other.profile)["patches"] == [{"id": "eagle3-shapes", "first": 20}]
    assert plain.sha256 == same.sha256 != other.sha256


def test_without_known_patches_options_are_left_as_they_are(resolved: Resolved) -> None:
    assert given(resolved, "  - {id: mine, anything: 1}\n", patch_options=None).patch_env == {}


def test_every_mistake_has_its_place(resolved: Resolved) -> None:
    text = (
        "  - id: eagle3-shapes\n    frist: 1\n    colour: red\n"
        "  - {id: eagle3-digset, first: 1}\n"
        "  - eagle3-shapes\n"
        "  - {id: eagle3-cycle, first: 3}\n"
    )
    assert failing(resolved, text, 'env: {EAGLE3_CYCLE_FIRST: "2"}\n') == [
        "p.yaml:4:5: patches.0.frist: the patch eagle3-shapes has no option 'frist' (nearest: first)",
        "p.yaml:5:5: patches.0.colour: the patch eagle3-shapes has no option 'colour'; "
        "it has on, ranks, first, every, sites",
        "p.yaml:6:5: patches.1: there is no usable patch 'eagle3-digset' (nearest: eagle3-digest)",
        "p.yaml:7:5: patches.2: eagle3-shapes stands twice",
        "p.yaml:8:24: patches.3.first: this is the variable EAGLE3_CYCLE_FIRST, which stands in env too: "
        "keep one of them",
    ]


def test_a_patch_that_there_is_none_of_is_told_with_the_nearest_though_it_has_no_options(resolved: Resolved) -> None:
    assert failing(resolved, "  - eagle3-shape\n  - quite-another\n", "prot: 1\n") == [
        "p.yaml:3:5: patches.0: there is no usable patch 'eagle3-shape' (nearest: eagle3-shapes)",
        "p.yaml:4:5: patches.1: there is no usable patch 'quite-another'; "
        "`spec-console config validate` says what is wrong with those of your own",
        "p.yaml:5:1: unknown key 'prot' (nearest: port)",
    ]


def test_an_env_option_that_says_it_too_is_a_conflict(resolved: Resolved) -> None:
    (told,) = failing(resolved, "  - {id: eagle3-shapes, first: 1}\n", env=["EAGLE3_DEBUG_FIRST=2"])
    assert "EAGLE3_DEBUG_FIRST, which stands in env too" in told


def test_entries_of_no_form(resolved: Resolved) -> None:
    text = "  - 5\n  - {first: 1}\n  - {id: Nope}\n  - {id: eagle3-shapes, ranks: 1.5, sites: [], every: {a: 1}}\n"
    wants = "wants text, a whole number, true or false, or a list of those"
    assert failing(resolved, text) == [
        "p.yaml:3:5: patches.0: wants the id of a patch, or a mapping of an id and options",
        "p.yaml:4:5: the key 'id' is missing in patches.1",
        "p.yaml:5:6: patches.2.id: 'Nope' is not a patch id (small letters, digits, hyphens)",
        f"p.yaml:6:25: patches.3.ranks: {wants}",
        f"p.yaml:6:37: patches.3.sites: {wants}",
        f"p.yaml:6:48: patches.3.every: {wants}",
    ]


def test_set_reaches_them(resolved: Resolved) -> None:
    found = given(resolved, "  - eagle3-shapes\n", sets=["patches=[{id: eagle3-cycle, every: 7}]"])
    assert found.patch_env == {"EAGLE3_CYCLE_EVERY": "7"}
    (told,) = failing(resolved, "  - eagle3-shapes\n", sets=["patches=[{id: eagle3-cycle, evry: 7}]"])
    assert told.endswith("(nearest: every)")


def test_two_patches_that_set_one_variable(resolved: Resolved) -> None:
    options = {**OPTIONS, "mine": {"level": "EAGLE3_DEBUG_FIRST"}}
    text = "  - {id: eagle3-shapes, first: 1}\n  - {id: mine, level: 2}\n"
    (told,) = failing(resolved, text, patch_options=options)
    assert "another patch's options set the variable EAGLE3_DEBUG_FIRST too" in told
