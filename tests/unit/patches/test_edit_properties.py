"""Random sources: what is put in comes out, and nothing else moves."""

from __future__ import annotations

import ast
import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from console.patches import edit, source
from console.patches.anchor import Anchor, find
from console.patches.refusals import Conflict
from tests.examples import examples

MARK = "  # spec-console test"
CODE = f"import os as _x; _x.environ.get('A') == '1' and f(self){MARK}"
HERE = Anchor("A", ast.If, ("self.here",), needs="here", absent="")

SIMPLE = st.sampled_from(
    [
        "x = 1",
        "y = '''\n  if self.here:\n'''",
        "z = (1,\n2)",
        "pass  # é日",
        "w = 1; v = 2",
        "",
        "# note",
        "f(\\\n1)",
        "é = 'ü'",
    ]
)
HEADS = ["if a:", "for b in c:", "while d:", "with e as f:", "try:", "def g(h):", "class I:", "async def j():"]


@st.composite
def blocks(draw: st.DrawFn, depth: int) -> list[str]:
    """Lines of a block, each to be indented by `depth` units; physical continuation lines stay as they are."""
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 4))):
        if depth < 4 and draw(st.booleans()):
            head = draw(st.sampled_from(HEADS))
            lines += [head, *_indented(draw(blocks(depth + 1)))]
            if head == "if a:" and draw(st.booleans()):
                lines += ["elif k:", *_indented(draw(blocks(depth + 1))), "else:", *_indented(["pass"])]
            if head == "try:":
                lines += ["except Exception as l:", *_indented(draw(blocks(depth + 1)))]
        else:
            lines.append(draw(SIMPLE))
    return [*lines, "pass"]


def _indented(lines: list[str]) -> list[str]:
    return [f"\N{NULL}{line}" if line else line for line in lines]


@st.composite
def sources(draw: st.DrawFn) -> bytes:
    anchor = draw(
        st.sampled_from(
            [
                ["if self.here:", *_indented(["x = 1"])],
                ["if self.here: x = 1"],
                ["if self.here: x = 1; y = 2  # c"],
                ["if (self.here", "   ):", *_indented(["x = '''", "'''"]), "else:", *_indented(["y"])],
                ["if self.here:", *_indented(["x"]), "elif b:", *_indented(["if c:", *_indented(["y"])])],
            ]
        )
    )
    body = [*draw(blocks(2)), *anchor, *draw(blocks(2))]
    if draw(st.booleans()):
        body = [draw(st.sampled_from(HEADS[:4])), *_indented(body)]
    lines = [*draw(blocks(0)), "class C:", *_indented(["def f(self):", *_indented(body)]), *draw(blocks(0))]
    unit = draw(st.sampled_from(["    ", "\t", " ", "  "]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = "\n".join(lines).replace("\N{NULL}", unit).replace("\n", end) + draw(st.sampled_from(["", end, end * 2]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()


@settings(max_examples=examples(100), deadline=None)
@given(sources(), st.sampled_from(["before", "after"]), st.integers(1, 3))
def test_strip_undoes_insert_to_the_byte(data: bytes, where: edit.Where, times: int) -> None:
    text = source.read(data)
    statement = find(HERE, text.tree).statement
    lines = [edit.line(text, statement, where, CODE)] * times
    new = edit.insert(text, lines)
    edit.check(text, new, lines, MARK)
    assert edit.strip(new, MARK) == data
    kept = [one for one in new.splitlines(keepends=True) if MARK.encode() not in one]
    assert b"".join(kept).rstrip(b"\r\n") == data.rstrip(b"\r\n")


@st.composite
def functions(draw: st.DrawFn) -> bytes:
    """A method `step` somewhere in random code: decorated, async, in a nested class or an elif, or none of these."""
    head = draw(st.sampled_from([["def step(self):"], ["async def step(self):"], ["async def step(", "x=1", "):"]]))
    decorators = draw(st.lists(st.sampled_from([["@a"], ["@b(", "1)"], ["@c  # é", "# note", ""]]), max_size=3))
    body = [*(line for one in decorators for line in one), *head, *_indented(draw(blocks(2)))]
    for _ in range(draw(st.integers(0, 2))):
        around = draw(st.sampled_from([["class D:"], ["if a:", "\N{NULL}pass", "elif b:"], ["with e as f:"]]))
        body = [*draw(blocks(1)), *around, *_indented(body)]
    lines = [*draw(blocks(0)), "class C:", *_indented([*draw(blocks(1)), *body]), *draw(blocks(0))]
    unit, end = draw(st.sampled_from(["    ", "\t", " "])), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return "\n".join(lines).replace("\N{NULL}", unit).replace("\n", end).encode()


STEP = Anchor("D", ast.FunctionDef, ("step",), needs="step", absent="")
WRAP = f'@getattr(__import__("os") if __import__("os").environ.get("A") == "1" else None, "f", lambda f: f){MARK}'


@settings(max_examples=examples(100), deadline=None)
@given(functions())
def test_strip_undoes_a_decorator_and_nothing_else_moves(data: bytes) -> None:
    text = source.read(data)
    place = find(STEP, text.tree)
    line = edit.line(text, place.statement, "decorate", WRAP)
    new = edit.insert(text, [line])
    edit.check(text, new, [line], MARK)
    assert edit.strip(new, MARK) == data
    wrapped = find(STEP, source.parse(new)).function
    assert "getattr" in ast.unparse(wrapped.decorator_list.pop())
    assert source.same(wrapped, place.function)


@settings(max_examples=examples(80), deadline=None)
@given(sources(), st.permutations("abcd"), st.sampled_from(["before", "after"]))
def test_the_order_of_patches_leaves_no_trace(data: bytes, order: list[str], where: edit.Where) -> None:
    def put(ids: list[str]) -> bytes:
        new = data
        for one in ids:
            text = source.read(new)
            code = f"import os as _x; f(self)  # spec-console {one}"
            new = edit.insert(text, [edit.line(text, find(HERE, text.tree).statement, where, code)])
        return new

    new = put(order)
    assert new == put(sorted(order))
    for one in reversed(order):
        new = edit.strip(new, f"  # spec-console {one}")
    assert new == data


@settings(max_examples=examples(80), deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_parse_or_are_a_named_conflict(data: bytes) -> None:
    text = None
    with contextlib.suppress(Conflict):  # whatever else it raised would fail here
        text = source.read(data)
    assert text is None or b"".join(text.lines) == data


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(st.sampled_from([b"x\n", b"\n", b"y\r\n", b"\r", b"z", MARK.encode() + b"\n", b"a" + MARK.encode()])))
def test_strip_is_idempotent(parts: list[bytes]) -> None:
    once = edit.strip(b"".join(parts), MARK)
    assert edit.strip(once, MARK) == once
