"""Flags of the server by release, read from the `add_argument` calls and annotated fields of 28 wheels.

    python -m tests.wheels.server_flags

writes console/launch/flags_by_release.txt anew; tests/wheels/test_server_flags.py compares it with what is there.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.wheels import expected, released

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TABLE = Path(__file__).parents[2] / "console" / "launch" / "flags_by_release.txt"
HEAD = """\
# Flags of `sglang.launch_server` in the releases read, from the argparse declarations of their wheels.
# Written by: python -m tests.wheels.server_flags. A line: name, kind, dest, releases, then what it says of
# itself where it is deprecated. Kinds: switch (no value), value, optional (a value may follow), list (values follow),
# retired (declared, and stops the launch when it is given). Releases: * all, a..b from a to b of those read, a.. to the
# last.
"""
_SWITCHES = {"store_true", "store_false", "DeprecatedStoreTrueAction", "argparse.BooleanOptionalAction"}


class Flag(NamedTuple):
    name: str
    kind: str
    field: str
    told: str
    """What it says of itself where it is deprecated: the flag to use instead, or its error."""


def flags(version: str) -> set[Flag]:
    """Every option string of the release's parser, aliases and `--no-…` too. Raises released.Unavailable."""
    trees = [ast.parse(text) for text in released.arguments(version).values()]
    raises = any(_raises(tree) for tree in trees)
    return {flag for tree in trees for flag in (*_called(tree, raises), *_annotated(tree))}


def table(by_release: Mapping[str, Iterable[Flag]]) -> str:
    """The text of the data file."""
    where: dict[Flag, list[bool]] = {}
    for index, found in enumerate(by_release.values()):
        for flag in found:
            where.setdefault(flag, [False] * len(by_release))[index] = True
    names = list(by_release)
    lines = [f"{f.name} {f.kind} {f.field} {_spans(there, names)} {f.told}".rstrip() for f, there in where.items()]
    return f"{HEAD}{' '.join(names)}\n" + "\n".join(sorted(lines)) + "\n"


def _spans(there: list[bool], names: list[str]) -> str:
    if all(there):
        return "*"
    spans: list[list[int]] = []
    for index in (i for i, present in enumerate(there) if present):
        if spans and spans[-1][1] == index - 1:
            spans[-1][1] = index
        else:
            spans.append([index, index])
    last = len(names) - 1
    return ",".join(
        f"{names[a]}.." if b == last else names[a] if a == b else f"{names[a]}..{names[b]}" for a, b in spans
    )


def _raises(tree: ast.Module) -> bool:
    """Does this release's DeprecatedAction stop whoever gives its flag? Up to 0.5.4 it raised its help text."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "DeprecatedAction")
    return any(isinstance(node, ast.Raise) for each in classes for node in ast.walk(each))


def _called(tree: ast.Module, raises: bool) -> Iterator[Flag]:
    """`parser.add_argument("--x", …)`."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"):
            continue
        names = [each.value for each in node.args if isinstance(each, ast.Constant)]
        if not names:
            continue  # arg_utils.py, which declares the annotated fields
        given = {each.arg: each.value for each in node.keywords}
        action = _text(given.get("action"))
        told = _text(given.get("new_flag"))
        retired = action == "DeprecatedAction" and (raises or "error_message" in given)
        if retired:
            told = _text(given.get("error_message", given.get("help")))
        yield from _flags(names, "retired" if retired else _kind(action, given), _text(given.get("dest")), told)


def _annotated(tree: ast.Module) -> Iterator[Flag]:
    """`x: A[int, Arg(…)] = 1` of a class, from 0.5.14 on: see arg_groups/arg_utils.py of the release."""
    for node in ast.walk(tree):
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        if not (isinstance(annotation, ast.Subscript) and _text(annotation.value) in ("A", "Annotated")):
            continue
        assert isinstance(annotation.slice, ast.Tuple)
        inner, *metas = annotation.slice.elts
        call = next((m for m in metas if isinstance(m, ast.Call) and _text(m.func) == "Arg"), None)
        given = {each.arg: each.value for each in call.keywords} if call else {}
        if call is None and not any(isinstance(m, (ast.Constant, ast.JoinedStr, ast.BinOp)) for m in metas):
            continue
        if _text(given.get("no_cli")) == "True":
            continue
        assert isinstance(node, ast.AnnAssign)
        field = _text(node.target)
        cli_name = _text(given.get("cli_name")) or "--" + field.replace("_", "-")
        aliases = given.get("aliases")
        names = [cli_name, *(_text(each) for each in aliases.elts)] if isinstance(aliases, ast.List) else [cli_name]
        yield from _flags(names, _kind_of_field(inner, given), field, "")


def _flags(names: list[str], kind: str, field: str, told: str) -> Iterator[Flag]:
    names = [name for name in names if name.startswith("--")]
    field = field or names[0].lstrip("-").replace("-", "_")
    for name in names:
        yield Flag(name[2:], kind.removesuffix("!"), field, " ".join(told.split()))
        if kind == "switch!":
            yield Flag(f"no-{name[2:]}", "switch", field, "")


def _kind(action: str, given: Mapping[str | None, ast.expr]) -> str:
    nargs = _text(given.get("nargs"))
    if action == "argparse.BooleanOptionalAction":
        return "switch!"
    if action in _SWITCHES or (
        action.startswith("Deprecated") and action != "DeprecatedAliasStoreAction" and not nargs
    ):
        return "switch"
    return {"+": "list", "*": "list", "?": "optional"}.get(nargs, "value")


def _kind_of_field(inner: ast.expr, given: Mapping[str | None, ast.expr]) -> str:
    action = _text(given.get("action"))
    if action:
        extra = given.get("action_kwargs")
        more = (
            {_text(k): v for k, v in zip(extra.keys, extra.values, strict=True)} if isinstance(extra, ast.Dict) else {}
        )
        return _kind(action, {**given, **more})
    plain = ast.unparse(inner).removeprefix("Optional[").removesuffix(" | None").strip()
    if plain.startswith(("List[", "list[")) and "type_parser" not in given:
        return "list"
    if plain in ("bool", "bool]"):
        return "switch"
    return _kind("", given)


def _text(node: ast.expr | None) -> str:
    if node is None:
        return ""
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


if __name__ == "__main__":
    TABLE.write_text(table({version: flags(version) for version in expected.RELEASES}), encoding="utf-8")
