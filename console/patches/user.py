"""A user's own patch: the form of a folder `patch.yaml` + `runtime.py`, checked and made into a Patch.

It is code that runs inside the server: whoever loads one says so. Nothing is read here; the caller brings both texts.
docs/patches.md describes the form.
"""

# no `from __future__ import annotations`: pydantic reads these annotations while the module runs
import ast
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictStr, StringConstraints

from console.patches.anchor import Anchor, ClassRule
from console.patches.library import FileEdit, Insert, Option, Patch, Role, RuntimeFile, own_path, whole
from console.validation import Invalid, Path_, Problem, check
from console.yaml_file import Located

FORM_FILE = "patch.yaml"
RUNTIME_FILE = "runtime.py"

Identifier = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,79}$")]
EnvName = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{1,63}$")]
_ID = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
_ID_LENGTH = 60
PatchId = Annotated[StrictStr, StringConstraints(pattern=_ID, max_length=_ID_LENGTH)]
SourcePath = Annotated[StrictStr, StringConstraints(pattern=r"^srt(/[A-Za-z0-9_]+)+\.py$", max_length=200)]
Code = Annotated[StrictStr, StringConstraints(pattern=r"^[\x20-\x7e]{1,400}$")]
Told = Annotated[StrictStr, StringConstraints(min_length=1, max_length=300)]


def _some(items: tuple[object, ...]) -> tuple[object, ...]:
    # pydantic's own min_length counts valid items alone, and so blames a list for a fault inside it
    if not items:
        raise ValueError("at least one must stand here")
    return items


_KINDS: dict[str, type[ast.If] | type[ast.Assign] | type[ast.Call] | type[ast.FunctionDef]] = {
    "if": ast.If,
    "assign": ast.Assign,
    "call": ast.Call,
    "def": ast.FunctionDef,
}


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _AnchorForm(_Form):
    kind: Literal["if", "assign", "call", "def"]
    forms: Annotated[tuple[Code, ...], AfterValidator(_some)]
    needs: Identifier
    absent: Told = "this version has nothing of the kind here"
    class_: Identifier | Literal[""] = Field("", alias="class")
    defines: Identifier | Literal[""] = ""
    module: StrictBool = False
    method: Identifier | Literal[""] = ""
    top_level: StrictBool = False
    keywords: tuple[Identifier, ...] = ()


class _InsertForm(_Form):
    site: Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z0-9_.]{1,80}$")]
    anchor: StrictStr
    where: Literal["before", "after", "decorate"]
    call: Code
    assumes: tuple[Identifier, ...] = ()
    optional: StrictBool = False


class _FileForm(_Form):
    path: SourcePath
    role: Role = "always"
    architectures: tuple[Identifier, ...] = ()
    lazy: StrictBool = False
    inserts: Annotated[tuple[_InsertForm, ...], AfterValidator(_some)]


class _OptionForm(_Form):
    name: Identifier
    env: EnvName
    default: StrictStr = ""
    meaning: Told


class PatchForm(_Form):
    """The whole of a patch.yaml."""

    id: PatchId
    title: Told
    env: EnvName
    anchors: dict[str, _AnchorForm]
    files: Annotated[tuple[_FileForm, ...], AfterValidator(_some)]
    options: tuple[_OptionForm, ...] = ()


def load(document: Located, runtime: bytes, taken: Mapping[str, Patch]) -> Patch:
    """Return the patch of a folder: its parsed patch.yaml and the text of its runtime.py.

    Raises:
        Invalid: either has not the form, or the id is `taken`; every problem is told with its file, line and column.
    """
    form, problems = check(PatchForm, document.data, document.where)
    if form is not None:
        found = [*_wrong_ids(form, taken), *_wrong_runtime(form, runtime), *_wrong_files(form, runtime)]
        problems += [Problem(path, document.where(path), message) for path, message in found]
    if form is None or problems:
        raise Invalid(document.source, problems, "docs/patches.md describes the form of a patch.")
    return _patch(form, runtime)


def is_id(text: str) -> bool:
    """Say whether a patch may be called so."""
    return len(text) <= _ID_LENGTH and re.fullmatch(_ID, text) is not None


def heading(patch_id: str) -> str:
    """Return the first line that a runtime file must have: by it an older copy in a tree is known as ours."""
    return f"# spec-console runtime: {patch_id}"


def _patch(form: PatchForm, runtime: bytes) -> Patch:
    anchors = {name: _anchor(name, one) for name, one in form.anchors.items()}
    edits = tuple(
        FileEdit(
            file.path,
            tuple(
                Insert(one.site, anchors[one.anchor], one.where, one.call, frozenset(one.assumes), one.optional)
                for one in file.inserts
            ),
            file.role,
            frozenset(file.architectures),
            file.lazy,
        )
        for file in form.files
    )
    options = tuple(Option(one.name, one.env, one.default, one.meaning) for one in form.options)
    return Patch(form.id, form.title, form.env, RuntimeFile(own_path(form.id), whole(runtime)), edits, options)


def _anchor(name: str, form: _AnchorForm) -> Anchor:
    return Anchor(
        name,
        _KINDS[form.kind],
        form.forms,
        form.needs,
        form.absent,
        cls=None if form.module else ClassRule(form.class_, form.defines),
        method=form.method,
        top_level=form.top_level,
        keywords=frozenset(form.keywords),
    )


Wrong = Iterator[tuple[Path_, str]]


def _wrong_ids(form: PatchForm, taken: Mapping[str, Patch]) -> Wrong:
    if form.id in taken:
        yield ("id",), f"there is a patch {form.id!r} already"
    names = [one.name for one in form.options]
    for index, name in enumerate(names):
        if name in ("id", "on") or name in names[:index]:
            told = "stands twice" if name in names[:index] else "has a meaning of its own in a profile"
            yield ("options", index, "name"), f"the option name {name!r} {told}"
    for name, one in form.anchors.items():
        if one.module and (one.class_ or one.defines):
            yield ("anchors", name, "module"), f"anchors.{name}: a function of the module is in no class"
        for index, code in enumerate(one.forms):
            if not _is_form(one.kind, code):
                yield ("anchors", name, "forms", index), f"{code!r} is nothing that can stand in a Python {one.kind}"


def _is_form(kind: str, code: str) -> bool:
    try:
        (statement,) = ast.parse(code).body
    except (SyntaxError, ValueError):
        return False
    if kind == "def":
        return code.isidentifier()
    return isinstance(statement, ast.Assign if kind == "assign" else ast.Expr)


def _wrong_runtime(form: PatchForm, runtime: bytes) -> Wrong:
    first = runtime.split(b"\n", 1)[0].rstrip(b"\r").decode("utf-8", "replace")
    if first != heading(form.id):
        yield ("id",), f"the first line of {RUNTIME_FILE} must be {heading(form.id)!r}"
    try:
        ast.parse(runtime, feature_version=(3, 8))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        yield ("id",), f"{RUNTIME_FILE}, line {line}: {getattr(error, 'msg', error)} (Python 3.8 must read it)"
        return
    tree = ast.parse(whole(runtime))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield ("id",), f"{RUNTIME_FILE}: {name} is defined twice, once perhaps by the records it imports"


def _wrong_files(form: PatchForm, runtime: bytes) -> Wrong:
    seen: set[str] = set()
    functions = _functions(runtime)
    for index, file in enumerate(form.files):
        at: Path_ = ("files", index)
        if file.path in seen:
            yield (*at, "path"), f"{file.path} stands twice"
        seen.add(file.path)
        if bool(file.architectures) != (file.role != "always"):
            yield (*at, "role"), "a file of a target or draft names its architectures, any other names none"
        for number, one in enumerate(file.inserts):
            for key, message in _wrong_insert(form, one, functions):
                yield (*at, "inserts", number, key), message


def _wrong_insert(form: PatchForm, one: _InsertForm, functions: set[str]) -> Iterator[tuple[str, str]]:
    anchor = form.anchors.get(one.anchor)
    if anchor is None:
        yield "anchor", f"there is no anchor {one.anchor!r} here"
    elif (anchor.kind == "def") != (one.where == "decorate"):
        yield "where", "a function is decorated, a statement has lines before or after it"
    name = _called(one)
    if name is None:
        wanted = "the name of a function" if one.where == "decorate" else "one call, as record(self)"
        yield "call", f"{one.call!r} is not {wanted}"
    elif name not in functions:
        yield "call", f"{RUNTIME_FILE} defines no function {name!r}"


def _called(one: _InsertForm) -> str | None:
    if one.where == "decorate":
        # None has no attribute but `__names__`: the decorator of a patch that is off finds nothing there.
        return one.call if re.fullmatch(r"(?!__)[A-Za-z_]\w*", one.call) else None
    try:
        body = ast.parse(one.call, mode="eval", feature_version=(3, 8)).body
    except (SyntaxError, ValueError):
        return None
    is_plain = isinstance(body, ast.Call) and isinstance(body.func, ast.Name) and "#" not in one.call
    return body.func.id if is_plain and one.call.startswith(f"{body.func.id}(") else None  # type: ignore[attr-defined]


def _functions(runtime: bytes) -> set[str]:
    try:
        tree = ast.parse(whole(runtime))
    except (SyntaxError, ValueError):
        return set()
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
