"""Lines go in whole, every old byte stays, and the same bytes come out again."""

from __future__ import annotations

import ast

import pytest

from console.patches import edit, source
from console.patches.anchor import Anchor, find
from console.patches.refusals import Conflict

MARK = "  # spec-console test"
CODE = f"record(self){MARK}"
HERE = Anchor("A", ast.If, ("here",), needs="here", absent="")
ASSIGN = Anchor("B", ast.Assign, ("x = here",), needs="here", absent="")


def put(data: bytes, where: edit.Where = "after", anchor: Anchor = HERE) -> bytes:
    text = source.read(data)
    line = edit.line(text, find(anchor, text.tree).statement, where, CODE)
    new = edit.insert(text, [line])
    edit.check(text, new, [line], MARK)
    assert edit.strip(new, MARK) == data
    return new


def in_method(body: bytes) -> bytes:
    return b"class C:\n    def f(self):\n" + body


def test_after_an_if_means_after_its_last_branch() -> None:
    body = b"        if here:\n            a\n        elif b:\n            c\n        else:\n            d\n        e\n"
    line = b"        " + CODE.encode() + b"\n"
    assert put(in_method(body)) == in_method(body.replace(b"        e\n", line + b"        e\n"))
    assert put(in_method(body), "before") == in_method(line + body)


def test_a_nested_if_keeps_its_depth() -> None:
    new = put(in_method(b"        if a:\n            if here:\n                b\n        else:\n            c\n"))
    assert b"                b\n            record(self)" in new


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("final", [True, False])
def test_line_ends_are_kept_and_copied(end: bytes, where: edit.Where, final: bool) -> None:
    data = in_method(b"        a\n        if here:\n            b\n").replace(b"\n", end)
    data = data if final else data.removesuffix(end)
    new = put(data, where)
    assert new.count(end) == data.count(end) + 1
    assert new.endswith(end) == final


def test_mixed_line_ends_take_that_of_the_neighbour() -> None:
    new = put(in_method(b"        if here:\r\n            b\r\n        c\n"))
    assert CODE.encode() + b"\r\n        c\n" in new


def test_a_file_of_one_line_without_an_end() -> None:
    text = source.read(b"x = here")
    line = edit.line(text, text.tree.body[0], "after", CODE)
    new = edit.insert(text, [line])
    assert new == b"x = here\n" + CODE.encode()
    assert edit.strip(new, MARK) == b"x = here"


def test_tabs_form_feeds_and_a_byte_order_mark_survive() -> None:
    data = b"\xef\xbb\xbfclass C:\n\tdef f(self):\n\t\tif here:\n\t\t\tb\n\x0c\n\t\treturn\n"
    assert b"\t\t\tb\n\t\t" + CODE.encode() + b"\n\x0c\n" in put(data)


def test_decorators_async_comments_and_strings_survive() -> None:
    data = (
        b"class C:\n    @wrap(\n        1\n    )\n    async def f(self):\n        '''if here:\n        '''\n"
        b"        # if here:\n        if here:  # why\n            b = '''\n# x\n'''  # end\n\n"
        b"        # next\n        c\n"
    )
    assert b"'''  # end\n        record(self)" in put(data)


def test_latin_1_with_its_cookie_is_kept() -> None:
    data = b"# -*- coding: latin-1 -*-\n" + in_method(
        b"        x = here; s = '\xe9\xe8'\n".replace(b"; s", b"  # \xe9")
    )
    assert b"# \xe9 = '\xe9\xe8'\n        record(self)" in put(data, "after", ASSIGN)


def test_columns_are_counted_in_utf_8() -> None:
    data = in_method("        if here: s = 'é日本'  # é\n".encode())
    assert put(data).endswith("# é\n        ".encode() + CODE.encode() + b"\n")


def test_columns_of_latin_1_are_counted_in_utf_8_too() -> None:
    two = Anchor("B", ast.Assign, ("x = 'éé'",), needs="x", absent="")
    with pytest.raises(Conflict, match="goes on after"):
        put(b"# coding: latin-1\n" + in_method(b"        x = '\xe9\xe9';b\n"), "after", two)


def test_a_byte_order_mark_is_no_column() -> None:
    text = source.read(b"\xef\xbb\xbfx = here\n")
    line = edit.line(text, text.tree.body[0], "after", CODE)
    assert edit.insert(text, [line]) == b"\xef\xbb\xbfx = here\n" + CODE.encode() + b"\n"


@pytest.mark.parametrize("cookie", [b"utf-7", b"shift_jis", b"cp1252", b"nonsense"])
def test_other_encodings_are_refused_by_name(cookie: bytes) -> None:
    with pytest.raises(Conflict, match=cookie.decode().replace("_", ".")):
        source.read(b"# coding: " + cookie + b"\nx = 1\n")


@pytest.mark.parametrize(
    ("body", "where", "why"),
    [
        (b"        a; x = here\n", "after", "begins with something else"),
        (b"        if a: x = here\n", "after", "begins with something else"),
        (b"        x = here; b\n", "after", "goes on after"),
        (b"        x = here \\\n\n", "after", "goes on after"),
        (b"        if a: \\\n            x = here\n", "before", "continues line 3"),
    ],
)
def test_a_statement_that_shares_its_line_is_a_conflict(body: bytes, where: edit.Where, why: str) -> None:
    with pytest.raises(Conflict, match=why):
        put(in_method(body), where, ASSIGN)


def test_a_statement_that_shares_only_its_other_line_is_none() -> None:
    assert put(in_method(b"        x = here; b\n"), "before", ASSIGN)
    assert put(in_method(b"        x = here;  # c\n"), "after", ASSIGN)


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_elif_branch_has_no_place_of_its_own(where: edit.Where) -> None:
    with pytest.raises(Conflict, match="elif"):
        put(in_method(b"        if a:\n            b\n        elif here:\n            c\n"), where)


def test_an_if_with_its_body_on_the_line_takes_lines_around_it() -> None:
    body = b"        if here: a; b\n        else: c\n"
    assert put(in_method(body)).endswith(b"else: c\n        record(self)" + MARK.encode() + b"\n")


def test_a_text_that_is_not_python_says_where() -> None:
    with pytest.raises(Conflict, match=r"line 2: .*\(read as Python 3\."):
        source.read(b"x = 1\ny = (\n")


@pytest.mark.parametrize("data", [b"x = '\0'\n", b"(" * 5000 + b")" * 5000, b"-" * 200_000 + b"1", b"s = '\xff'\n"])
def test_hostile_texts_are_conflicts(data: bytes) -> None:
    with pytest.raises(Conflict):
        source.read(data)


def test_input_size_is_capped() -> None:
    with pytest.raises(Conflict, match="at most"):
        source.read(b"#" * (source.MAX_BYTES + 1))


def test_a_warning_about_the_files_own_escapes_is_not_ours() -> None:
    assert put(in_method(b"        s = '\\d' is 'x'\n        if here: pass\n"))


def test_check_refuses_a_line_that_changes_more() -> None:
    text = source.read(in_method(b"        x = (1,\n            2)\n        if here: pass\n"))
    odd = edit.Line(4, b"        ", f"3,{MARK}", b"\n")
    with pytest.raises(Conflict, match="something else"):
        edit.check(text, edit.insert(text, [odd]), [odd], MARK)


def test_check_refuses_a_line_that_does_not_compile() -> None:
    text = source.read(in_method(b"        if here:\n            a\n"))
    odd = edit.Line(3, b"        ", f"continue{MARK}", b"\n")
    with pytest.raises(Conflict, match="continue"):
        edit.check(text, edit.insert(text, [odd]), [odd], MARK)


def test_check_refuses_a_text_that_carries_the_mark_already() -> None:
    text = source.read(in_method(b"        if here:\n            a" + MARK.encode() + b"\n"))
    line = edit.line(text, find(HERE, text.tree).statement, "after", CODE)
    with pytest.raises(Conflict, match="mark"):
        edit.check(text, edit.insert(text, [line]), [line], MARK)


STEP = Anchor("D", ast.FunctionDef, ("step",), needs="step", absent="")
WRAP = f"@getattr(x, 'wrap'){MARK}"


def decorate(data: bytes, anchor: Anchor = STEP) -> bytes:
    text = source.read(data)
    line = edit.line(text, find(anchor, text.tree).statement, "decorate", WRAP)
    new = edit.insert(text, [line])
    edit.check(text, new, [line], MARK)
    assert edit.strip(new, MARK) == data
    return new


@pytest.mark.parametrize(
    "definition",
    [
        b"    def step(self): pass\n",
        b"    async def step(self):\n        await x\n",
        b"    @a\n    @b(\n        1,\n    )\n    # why\n\n    def step(self): pass\n",
        b"    @staticmethod\n    async def step(): pass\n",
        b"    if a:\n        x = 1\n        def step(self): pass\n",
        b"    class Inner:\n        @property\n        def step(self): return '''\n'''\n",
    ],
)
def test_a_decorator_stands_right_above_the_def_whatever_decorates_it_already(definition: bytes) -> None:
    data = b"class C:\n    y = 1\n" + definition + b"    z = 2\n"
    before = next(line for line in data.splitlines() if b"def step" in line)
    indent = before[: len(before) - len(before.lstrip())]
    assert indent + WRAP.encode() + b"\n" + before + b"\n" in decorate(data)


def test_a_decorator_for_tabs_crlf_and_a_last_line_without_an_end() -> None:
    assert decorate(b"class C:\r\n\tdef step(self): pass") == (
        b"class C:\r\n\t" + WRAP.encode() + b"\r\n\tdef step(self): pass"
    )


def test_a_function_of_the_module_takes_a_decorator_even_on_the_first_line() -> None:
    alone = Anchor("D", ast.FunctionDef, ("step",), needs="step", absent="", cls=None)
    assert decorate(b"def step(): pass\n", alone) == WRAP.encode() + b"\ndef step(): pass\n"


def test_a_decorator_never_goes_between_a_line_and_its_continuation() -> None:
    with pytest.raises(Conflict, match="continues line 2"):
        decorate(b"class C:\n    \\\n  def step(self): pass\n")


def test_before_a_byte_order_mark_nothing_can_stand() -> None:
    alone = Anchor("D", ast.FunctionDef, ("step",), needs="step", absent="", cls=None)
    with pytest.raises(Conflict, match="byte order mark"):
        decorate(b"\xef\xbb\xbfdef step(): pass\n", alone)


def marked(patch_id: str, code: str = "f(self)") -> str:
    return f"{code}  # spec-console {patch_id}"


def put_all(data: bytes, order: str, where: edit.Where, anchor: Anchor) -> bytes:
    for patch_id in order:
        text = source.read(data)
        code = marked(patch_id, "@f" if where == "decorate" else "f(self)")
        line = edit.line(text, find(anchor, text.tree).statement, where, code)
        data = edit.insert(text, [line])
    return data


@pytest.mark.parametrize(("where", "anchor"), [("before", HERE), ("after", HERE), ("decorate", STEP)])
def test_lines_of_several_patches_stand_in_one_order_whoever_came_first(where: edit.Where, anchor: Anchor) -> None:
    data = b"class C:\n    @a\n    def step(self):\n        if here:\n            x\n        y\n"
    texts = {put_all(data, order, where, anchor) for order in ("abc", "acb", "bac", "bca", "cab", "cba")}
    (text,) = texts
    assert [line[-1:] for line in text.splitlines() if b"spec-console" in line] == [b"a", b"b", b"c"]
    for patch_id in "bac":
        text = edit.strip(text, marked(patch_id, ""))
    assert text == data


def test_lines_after_one_statement_and_before_the_next_share_that_order() -> None:
    two = Anchor("T", ast.If, ("there",), needs="there", absent="")
    data = in_method(b"        if here: pass\n        if there: pass\n")
    one_way = put_all(put_all(data, "b", "after", HERE), "a", "before", two)
    assert one_way == put_all(put_all(data, "a", "before", two), "b", "after", HERE)


def test_a_line_at_another_depth_is_no_neighbour() -> None:
    data = in_method(b"        if here:\n            f(self)  # spec-console a\n        y\n")
    inner = put_all(data, "b", "after", HERE)
    assert b"spec-console a\n        f(self)  # spec-console b\n        y" in inner
    assert put_all(put_all(data, "c", "after", HERE), "b", "after", HERE) == put_all(inner, "c", "after", HERE)
