"""Anchors find one place by syntax, or say by name why not."""

from __future__ import annotations

import ast

import pytest

from console.patches.anchor import Anchor, ClassRule, find
from console.patches.refusals import Conflict, NotApplicable

CAPTURE = Anchor(
    "A1",
    ast.If,
    ("self.capture",),
    needs="capture",
    absent="nothing is captured here",
    method="forward",
)


def model(body: str, cls: str = "Model", method: str = "forward") -> ast.Module:
    return ast.parse(f"class {cls}:\n  def {method}(self, batch):\n{body}")


def test_the_statement_is_found_whatever_stands_around_it() -> None:
    tree = ast.parse(
        "class Other:\n  def forward(self): pass\n"
        "if True:\n  class Model:\n    x = 1\n    @wrap\n    async def forward(self):\n"
        "      with a:\n        for b in c:\n          if (self.capture):\n            pass\n"
    )
    place = find(CAPTURE, tree)
    assert str(place) == "Model.forward:10"
    assert isinstance(place.statement, ast.If)


def test_every_accepted_form_is_found() -> None:
    two = Anchor("A1", ast.If, ("self.capture", "self.capture and x"), needs="capture", absent="")
    assert find(two, model("    if self.capture and x: pass")).statement.lineno == 3


def test_an_assignment_is_matched_whole() -> None:
    anchor = Anchor("A2", ast.Assign, ("h = batch.h",), needs="h", absent="")
    assert str(find(anchor, model("    h = (\n      batch.h\n    )  # note"))) == "Model.forward:3"
    with pytest.raises(Conflict):
        find(anchor, model("    h = g = batch.h"))


def test_two_matches_are_a_conflict_that_lists_both() -> None:
    with pytest.raises(Conflict) as caught:
        find(CAPTURE, model("    if self.capture: pass\n    if self.capture: pass"))
    assert "2 times" in caught.value.why
    assert "Model.forward:3, Model.forward:4" in caught.value.why


def test_a_near_miss_is_a_conflict_that_names_the_candidates() -> None:
    with pytest.raises(Conflict) as caught:
        find(CAPTURE, model("    if self.capture and batch: pass\n    return self.capture"))
    assert "Model.forward:3, Model.forward:4" in caught.value.why
    assert "if self.capture:" in caught.value.why


def test_many_candidates_are_counted() -> None:
    with pytest.raises(Conflict, match="and 14 more"):
        find(CAPTURE, model("    if self.capture: pass\n" * 20))


def test_a_file_without_the_feature_is_not_applicable() -> None:
    tree = ast.parse("class Model:\n  def __init__(self): self.capture = False\n  def forward(self): pass\n")
    with pytest.raises(NotApplicable) as caught:
        find(CAPTURE, tree)
    assert caught.value.why.startswith("nothing is captured here")


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (ClassRule("Model"), True),
        (ClassRule("Mode"), False),
        (ClassRule(defines="set_layers"), True),
        (ClassRule(defines="missing"), False),
        (ClassRule(), True),
    ],
)
def test_class_rules(rule: ClassRule, found: bool) -> None:
    tree = ast.parse(
        "class Model:\n  def set_layers(self): pass\n  def forward(self):\n    if self.capture: pass\n"
        "def forward(self):\n  if self.capture: pass\n"
    )
    anchor = Anchor("A1", ast.If, ("self.capture",), needs="capture", absent="", cls=rule)
    if found:
        assert str(find(anchor, tree)) == "Model.forward:4"
    else:
        with pytest.raises(Conflict):
            find(anchor, tree)


def test_top_level_leaves_out_nested_statements() -> None:
    anchor = Anchor("A3", ast.If, ("self.capture",), needs="capture", absent="", top_level=True)
    tree = model("    if x:\n      if self.capture: pass\n    if self.capture: pass")
    assert find(anchor, tree).statement.lineno == 5


def test_nested_functions_and_lambdas_are_no_part_of_the_method() -> None:
    with pytest.raises(Conflict):
        find(CAPTURE, model("    def inner():\n      if self.capture: pass"))


def test_all_kinds_of_blocks_are_searched() -> None:
    bodies = [
        "    try:\n      pass\n    except E:\n      if self.capture: pass",
        "    try:\n      pass\n    finally:\n      if self.capture: pass",
        "    for a in b:\n      pass\n    else:\n      if self.capture: pass",
        "    match a:\n      case 1:\n        if self.capture: pass",
        "    while a:\n      with b:\n        if self.capture: pass",
    ]
    assert all(isinstance(find(CAPTURE, model(body)).statement, ast.If) for body in bodies)


def test_layout_and_brackets_of_the_expression_do_not_matter() -> None:
    assert find(CAPTURE, model("    if (self\n        .capture):\n      pass"))
    two = Anchor("A", ast.If, ("a.b[-1] != c.d[-1]",), needs="a", absent="")
    assert find(two, model("    if a . b[ -1 ]!=(c.d[-1]): pass"))


def test_an_absurdly_deep_expression_is_just_no_match() -> None:
    tree = model(f"    if {'not ' * 900}x: pass\n    if self.capture: pass")
    assert find(CAPTURE, tree).statement.lineno == 4


TARGET_RUN = Anchor(
    "A4",
    ast.Call,
    ("self.target.run", "target.run"),
    needs="run",
    absent="nothing is run here",
    method="verify",
    keywords=frozenset({"is_verify", "skip_sample"}),
)


@pytest.mark.parametrize(
    "statement",
    [
        "out = self.target.run(batch, is_verify=True)",
        "out, _ = target.run(\n      batch,\n      skip_sample=True,\n    )",
        "x.y = wrap(target.run(is_verify=verifies))[0]",
        "target.run(is_verify=True, **more)",
        "out: int = target.run(is_verify=True)",
    ],
)
def test_a_statement_is_found_by_the_call_in_it(statement: str) -> None:
    tree = model(f"    self.target.run(batch)\n    if x:\n      pass\n    {statement}", method="verify")
    assert find(TARGET_RUN, tree).statement.lineno == 6


@pytest.mark.parametrize(
    "statement",
    [
        "return self.target.run(is_verify=True)",
        "out = self.other.run(is_verify=True)",
        "out = self.target.run(verify=True)",
        "out = self.target.run(**run)",
        "if self.target.run(is_verify=True): pass",
        "out = self.target.run",
    ],
)
def test_other_calls_and_statements_that_end_the_function_are_not(statement: str) -> None:
    why = r"A4 `self\.target\.run\(…\)` in verify\(\) of any class is not there, but run is"
    with pytest.raises(Conflict, match=why):
        find(TARGET_RUN, model(f"    {statement}\n    run = 1", method="verify"))


def test_a_function_of_the_module_is_not_a_method() -> None:
    outside = Anchor("A4", ast.Assign, ("x = run",), needs="run", absent="no runner", cls=None, method="verify")
    tree = ast.parse("class C:\n  def verify(self):\n    x = run\nif a:\n  def verify():\n    x = run\n")
    assert str(find(outside, tree)) == "verify:6"
    with pytest.raises(NotApplicable, match="no runner"):
        find(outside, model("    x = run", method="verify"))


def defined(*names: str, cls: ClassRule | None = None) -> Anchor:
    return Anchor("A5", ast.FunctionDef, names, needs=names[-1], absent="no worker here", cls=cls)


def test_a_function_is_found_by_its_name() -> None:
    tree = ast.parse(
        "def draft(): pass\n"
        "class Other:\n  def draft(self): pass\n"
        "class Outer:\n  class Worker:\n    x = 1\n    @a\n    @b(\n      1)\n    async def draft(self): pass\n"
    )
    place = find(defined("old_draft", "draft", cls=ClassRule("Worker")), tree)
    assert str(place) == "Worker.draft:10"
    assert place.statement is place.function
    assert str(find(defined("draft"), tree)) == "draft:1"


def test_two_functions_of_one_name_are_a_conflict() -> None:
    tree = ast.parse("class Worker:\n  if a:\n    def draft(self): pass\n  else:\n    def draft(self): pass\n")
    with pytest.raises(Conflict, match=r"2 times: Worker\.draft:3, Worker\.draft:5"):
        find(defined("draft", cls=ClassRule("Worker")), tree)


def test_a_function_that_is_only_called_is_a_conflict_and_one_unknown_not_applicable() -> None:
    with pytest.raises(Conflict, match=r"A5 `def draft` of Model is not there, but draft is, at Model\.forward:3"):
        find(defined("draft", cls=ClassRule("Model")), model("    self.draft()"))
    with pytest.raises(NotApplicable, match="no worker here"):
        find(defined("draft", cls=ClassRule("Model")), model("    pass"))
