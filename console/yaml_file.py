"""The one home of YAML: safe loading that keeps where each key stands, for errors with file, line and column."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Path_ = tuple[str | int, ...]

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


@dataclass(frozen=True, slots=True)
class Located:
    """A parsed document and the (line, column), 1-based, of each key path in it."""

    data: Any
    marks: dict[Path_, tuple[int, int]]
    source: str
    traps: dict[Path_, str] = field(default_factory=dict)
    """Values that YAML 1.1 reads as another number than is written, and what to write: base 8 and base 60."""

    def where(self, path: Path_) -> str:
        """Return "file:line:column" of the nearest known ancestor of `path`."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.marks:
                line, column = self.marks[path[:end]]
                return f"{self.source}:{line}:{column}"
        return self.source


def load(text: str, source: str) -> Located:
    """Parse one YAML document.

    Raises:
        UsageError: not YAML, too large, a duplicate key, or a key that is not a string.
    """
    if len(text) > MAX_BYTES:
        raise UsageError(f"{source}: larger than {MAX_BYTES} bytes", "A profile is a page of YAML.")
    try:
        _refuse_traps(text, source)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise UsageError(f"{source}{at}: not valid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{source}: not valid YAML: {error}") from None
    marks: dict[Path_, tuple[int, int]] = {}
    data = _build(node, (), marks, source) if node is not None else None
    return Located(data, marks, source, dict(_traps(node, ())) if node is not None else {})


def load_file(path: Path) -> Located:
    """Read and parse a YAML file; see `load`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    return load(text, str(path))


def dump(data: Any) -> str:
    """Write plain data as YAML, keys in the order given."""
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def set_value(text: str, path: tuple[str, ...], value: Any, source: str) -> str:
    """Write one value into a document of mappings and leave all else, comments and order too, as it stands.

    Raises:
        UsageError: see `load`; or the text is such that this cannot be done without changing more.
    """
    before = load(text, source).data
    changed = _inserted(text, yaml.compose(text, Loader=yaml.SafeLoader), path, value)
    if load(changed, source).data != _nested(before, path, value):
        raise UsageError(f"{source}: {'.'.join(path)} cannot be written here alone", "Write it with an editor.")
    return changed


def _inserted(text: str, node: yaml.Node | None, path: tuple[str, ...], value: Any) -> str:
    """Replace the value where its key is there, else add the key to the deepest mapping that is."""
    if not isinstance(node, yaml.MappingNode) or not node.value:
        return f"{text}{_newline(text)}{_flow(_nested({}, path, value))[1:-1]}\n"
    deepest, rest = node, path
    while True:
        pair = next((pair for pair in deepest.value if pair[0].value == rest[0]), None)
        if pair is None:
            return _added(text, deepest, rest, value, is_root=deepest is node)
        key, found = pair
        if len(rest) == 1 or not isinstance(found, yaml.MappingNode) or not found.value:
            start, end = found.start_mark.index, _end(found, text)
            new = _flow(_nested({}, rest[1:], value) if len(rest) > 1 else value)
            # A list may stand as far left as its key, and what takes its place may not.
            is_left = found.start_mark.line > key.start_mark.line and found.start_mark.column <= key.start_mark.column
            return text[:start] + ("  " if is_left else " " if text[start - 1] == ":" else "") + new + text[end:]
        deepest, rest = found, rest[1:]


def _added(text: str, node: yaml.MappingNode, rest: tuple[str, ...], value: Any, *, is_root: bool) -> str:
    pair = _flow(_nested({}, rest, value))[1:-1]
    first = node.value[0][0].start_mark
    if node.flow_style:
        return f"{text[: first.index]}{pair}, {text[first.index :]}"
    if is_root:
        return f"{text}{_newline(text)}{pair}\n"
    return f"{text[: first.index]}{pair}\n{' ' * first.column}{text[first.index :]}"


def _end(node: yaml.Node, text: str) -> int:
    """Where the node's own text ends: a block's mark stands behind the comments after it."""
    children = [each for pair in node.value for each in pair] if isinstance(node, yaml.MappingNode) else node.value
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and children:
        return _end(children[-1], text)
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    return start + len(text[start:end].rstrip())


def _nested(data: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    below = data if isinstance(data, dict) else {}
    return {**below, path[0]: _nested(below.get(path[0]), path[1:], value)}


def _flow(value: Any) -> str:
    text = str(yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6))
    return text.removesuffix("...\n").rstrip("\n")


def _newline(text: str) -> str:
    return "" if not text or text.endswith("\n") else "\n"


def _refuse_traps(text: str, source: str) -> None:
    """Refuse aliases (seven lines of them can unfold to gigabytes) and nesting that would exhaust the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        mark = event.start_mark
        at = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        if isinstance(event, yaml.AliasEvent):
            raise UsageError(f"{at}: an alias (*{event.anchor}) is not allowed here", "Write the value out.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UsageError(f"{at}: nested deeper than {MAX_DEPTH} levels")


def _build(node: yaml.Node, path: Path_, marks: dict[Path_, tuple[int, int]], source: str) -> Any:
    marks.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
    if not isinstance(node, yaml.ScalarNode) and node.tag not in _PLAIN_TAGS:
        raise UsageError(
            f"{source}:{node.start_mark.line + 1}:{node.start_mark.column + 1}: the tag {node.tag} is not used here"
        )
    if isinstance(node, yaml.MappingNode):
        return _build_mapping(node, path, marks, source)
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*path, i), marks, source) for i, item in enumerate(node.value)]
    return _scalar(node, source)


def _build_mapping(
    node: yaml.MappingNode, path: Path_, marks: dict[Path_, tuple[int, int]], source: str
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        at = f"{source}:{key_node.start_mark.line + 1}:{key_node.start_mark.column + 1}"
        if not isinstance(key_node, yaml.ScalarNode):
            raise UsageError(f"{at}: a key must be plain text")
        key = str(key_node.value)
        if key in result:
            raise UsageError(f"{at}: the key {key!r} stands twice")
        marks[(*path, key)] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
        result[key] = _build(value_node, (*path, key), marks, source)
    return result


def _traps(node: yaml.Node, path: Path_) -> Iterator[tuple[Path_, str]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _traps(value, (*path, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _traps(item, (*path, index))
    elif node.tag in _NUMBERS:
        text = str(node.value)
        base = "base 8" if _OCTAL.fullmatch(text) else "base 60" if _SEXAGESIMAL.fullmatch(text) else ""
        if base:
            number = _scalar(node, "")
            yield path, f"YAML reads {text} as {number}, in {base}: write {number}, or put the text in quotes"


def _scalar(node: yaml.Node, source: str) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_object(node)
    except (yaml.YAMLError, ValueError, AttributeError) as error:
        at = f"{source}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
        raise UsageError(f"{at}: not a usable value: {error}") from None
    finally:
        loader.dispose()
