"""A patch tried on a release: what is right, and every way in which it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from console.errors import UsageError
from console.patches import library, scaffold, trial, user
from console.yaml_file import load

if TYPE_CHECKING:
    from console.patches.library import Patch
    from console.patches.trial import FileTrial

PATH = "srt/models/llama.py"
OLD = b"""\
class LlamaForCausalLM:
    def forward(self, forward_batch):
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
"""


def own() -> Patch:
    texts = scaffold.files("my-rows")
    return user.load(load(texts["patch.yaml"], "patch.yaml"), texts["runtime.py"].encode(), library.patches())


def tried(old: bytes | None) -> FileTrial:
    return trial.trial(own(), {PATH: old})[1]


def test_a_file_that_takes_it() -> None:
    helper, file = trial.trial(own(), {PATH: OLD})
    assert (helper.file.state, helper.python, helper.faults) == ("appliable", "3.8", ())
    assert (file.file.state, file.python, file.faults) == ("appliable", "3.8", ())
    (found,) = file.file.found
    assert (found.owner, found.line, found.where) == ("LlamaForCausalLM.forward", 4, "after")
    assert found.anchor.startswith("captured `if self.capture_aux_hidden_states:`")
    assert helper.is_right
    assert file.is_right


def test_the_oldest_grammar_is_that_of_the_original() -> None:
    assert tried(OLD + b"    def g(self, x):\n        match x:\n            case 1: pass\n").python == "3.10"


def test_a_conflict_is_not_right_and_what_is_not_there_is() -> None:
    assert tried(OLD + OLD.split(b"\n", 1)[1]).file.state == "conflict"
    assert not tried(OLD + OLD.split(b"\n", 1)[1]).is_right
    assert tried(None).is_right
    assert tried(b"x = 1\n").file.state == "not-applicable"


@pytest.mark.parametrize(
    ("new", "again", "told"),
    [
        (OLD.replace(b"None", b"0"), "applied", "it changes or removes a line"),
        (OLD + b"x = 1\n", "applied", "it does not come off to the byte"),
        (OLD + b"x = (\n", "applied", "it does not compile"),
        (OLD + b"def f(x, /): match x:\n", "applied", "it does not compile"),
        (OLD + b"try: pass\nexcept* ValueError: pass\n", "applied", "Python 3.8 reads the original, and not"),
        (OLD, "drifted", "planned again it is drifted"),
    ],
)
def test_a_text_that_does_not_hold_is_told(new: bytes, again: str, told: str) -> None:
    patch = own()
    planned = trial.trial(patch, {PATH: OLD})[1].file
    found = trial._tried(patch, replace(planned, new_text=new), OLD, again)
    assert any(fault.startswith(told) for fault in found.faults), found.faults
    assert not found.is_right


def test_the_runtime_file_must_be_read_by_3_8() -> None:
    patch = own()
    helper = trial.trial(patch, {PATH: OLD})[0].file
    found = trial._tried(patch, replace(helper, new_text=b"match 1:\n    case 1: pass\n"), None, "applied")
    assert found.faults == ("the runtime file needs a newer Python than 3.8",)


def test_a_strange_file_names_the_nearest() -> None:
    from console.actions import try_patch

    assert try_patch.paths(own(), [PATH]) == (PATH,)
    with pytest.raises(UsageError) as caught:
        try_patch.paths(own(), ["srt/models/lama.py"])
    assert caught.value.hint == f"Nearest: {PATH}."
