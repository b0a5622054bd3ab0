"""A user's own patch: the form loads into a patch like any other, and what is wrong is told with its place."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from console import yaml_file
from console.patches import library, scaffold, user
from console.patches.plan import plan, strip
from console.validation import Invalid

if TYPE_CHECKING:
    from pathlib import Path

SCAFFOLD = scaffold.files("my-rows")
FORM, RUNTIME = SCAFFOLD["patch.yaml"], SCAFFOLD["runtime.py"].encode()
LLAMA = b"""\
class LlamaForCausalLM:
    def forward(self, input_ids, forward_batch):
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return hidden_states
"""


def load(form: str, runtime: bytes = RUNTIME) -> library.Patch:
    return user.load(yaml_file.load(form, "patch.yaml"), runtime, library.patches())


def problems(form: str, runtime: bytes = RUNTIME) -> list[str]:
    with pytest.raises(Invalid) as caught:
        load(form, runtime)
    assert "docs/patches.md" in caught.value.hint
    return [str(one) for one in caught.value.problems]


def test_the_scaffold_is_a_patch_that_applies() -> None:
    patch = load(FORM)
    assert (patch.id, patch.env, patch.helper.path) == ("my-rows", "MY_ROWS", "srt/_spec_console_user_my_rows.py")
    assert [one.env for one in library.options(patch)] == ["MY_ROWS", "MY_ROWS_FIRST"]
    result = plan(patch, {"srt/models/llama.py": LLAMA})
    helper, file = result.files
    assert (helper.state, file.state) == ("appliable", "appliable")
    assert file.sites == ("my.rows LlamaForCausalLM.forward:4",)
    assert strip(patch, file.new_text or b"") == LLAMA
    assert b"console.patches" not in (helper.new_text or b"")


def test_what_the_scaffold_puts_in_runs(tmp_path: Path) -> None:
    patch = load(FORM)
    (tmp_path / "sglang" / "srt").mkdir(parents=True)
    (tmp_path / "sglang" / patch.helper.path).write_bytes(patch.helper.text)
    line = patch.code(patch.edits[0].inserts[0])
    code = f"class C:\n  def f(self, aux_hidden_states, forward_batch):\n    {line}\nC().f([1, 2, 3], None)\n"
    run = [sys.executable, "-c", code]
    env = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    assert subprocess.run(run, env=env, capture_output=True, check=True, timeout=60).stdout == b""
    done = subprocess.run(run, env=env | {"MY_ROWS": "1"}, capture_output=True, check=True, timeout=60)
    assert done.stdout == b"[MY_ROWS] site=my.rows rank=0 mode=? states=3\n"


def test_every_kind_of_anchor_becomes_one() -> None:
    form = """\
id: mine
title: All kinds
env: MINE
anchors:
  stage: {kind: def, forms: [draft, old_draft], needs: draft, class: Worker}
  run: {kind: call, forms: [self.run, run], needs: run, module: true, keywords: [is_verify], method: verify}
  set: {kind: assign, forms: ["x = y.z"], needs: z, defines: forward, top_level: true}
files:
  - path: srt/a.py
    inserts:
      - {site: a, anchor: stage, where: decorate, call: f}
      - {site: b, anchor: run, where: before, call: "f(self, x=1)", optional: true}
      - {site: c, anchor: set, where: after, call: f(x), assumes: [x]}
"""
    patch = load(form, b"# spec-console runtime: mine\ndef f(x): return x\n")
    stage, run, assign = (one.anchor for one in patch.edits[0].inserts)
    assert str(stage) == "stage `def draft` of Worker"
    assert str(run) == "run `self.run(…)` in verify() of the module"
    assert (run.keywords, assign.top_level) == ({"is_verify"}, True)
    assert str(assign) == "set `x = y.z` in any method of a class with forward()"
    assert [(one.optional, set(one.assumes)) for one in patch.edits[0].inserts[1:]] == [(True, set()), (False, {"x"})]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("id: my-rows", "id: eagle3-shapes", "patch.yaml:2:1: there is a patch 'eagle3-shapes' already"),
        ("id: my-rows", "id: ../x", "patch.yaml:2:1: id: "),
        ("title:", "titel:", "patch.yaml:3:1: unknown key 'titel' (nearest: title)"),
        ("env: MY_ROWS ", "env: my rows ", "patch.yaml:4:1: env: "),
        ("kind: if ", "kind: iff ", "patch.yaml:8:5: anchors.captured.kind: must be 'if', 'assign', 'call' or 'def'"),
        (
            "forms: [self.capture_aux_hidden_states]",
            "forms: ['if x:']",
            "patch.yaml:9:13: 'if x:' is nothing that can stand in a Python if",
        ),
        ("    method: forward", "    module: true\n    class: A", "a function of the module is in no class"),
        ("path: srt/models/llama.py", "path: srt/../x.py", "patch.yaml:15:5: files.0.path: "),
        ("path: srt/models/llama.py", "path: /etc/x.py", "patch.yaml:15:5: files.0.path: "),
        ("role: target ", "role: always ", "names its architectures"),
        ("anchor: captured", "anchor: caught", "patch.yaml:20:9: there is no anchor 'caught' here"),
        ("where: after ", "where: decorate ", "a function is decorated, a statement has lines before or after it"),
        ("call: record(", "call: recall(", "runtime.py defines no function 'recall'"),
        ("call: record(", "call: x.record(", "is not one call"),
        ("call: record(", "call: 1 or record(", "is not one call"),
        ("forward_batch)", 'forward_batch)  and "\\n"', "is not one call"),
    ],
)
def test_what_is_wrong_in_the_form_is_told_with_its_place(old: str, new: str, told: str) -> None:
    assert old in FORM
    found = problems(FORM.replace(old, new, 1))
    assert any(told in one for one in found), found


def test_a_decorator_is_the_plain_name_of_a_function() -> None:
    form = FORM.replace("kind: if ", "kind: def ").replace("[self.capture_aux_hidden_states]", "[forward]")
    form = form.replace("where: after ", "where: decorate ")
    call = 'call: record("my.rows", self, aux_hidden_states, forward_batch)'
    decorated = load(form.replace(call, "call: record"))
    assert decorated.code(decorated.edits[0].inserts[0]).startswith("@getattr(")
    for wrong in ("record()", "__class__", "a.b"):
        assert any("is not the name of a function" in one for one in problems(form.replace(call, f"call: {wrong}")))


def test_every_problem_is_told_at_once() -> None:
    found = problems(FORM.replace("anchor: captured", "anchor: a").replace("call: record(", "call: b("))
    assert len(found) == 2


def test_a_file_twice_is_told() -> None:
    again = FORM[FORM.index("  - path:") : FORM.index("\noptions:")]
    assert any(
        "srt/models/llama.py stands twice" in one for one in problems(FORM.replace("\noptions:", again + "\noptions:"))
    )


@pytest.mark.parametrize(
    ("runtime", "told"),
    [
        (b"def record(): pass\n", "the first line of runtime.py must be '# spec-console runtime: my-rows'"),
        (RUNTIME + b"\nx = (\n", "runtime.py, line"),
        (RUNTIME + b"\nmatch x:\n  case 1: pass\n", "Python 3.8 must read it"),
        (RUNTIME + b"\ndef _write(line): pass\n", "_write is defined twice"),
        (RUNTIME.replace(b"def record", b"def other"), "defines no function 'record'"),
    ],
)
def test_what_is_wrong_in_the_runtime_file_is_told(runtime: bytes, told: str) -> None:
    found = problems(FORM, runtime)
    assert any(told in one for one in found), found
