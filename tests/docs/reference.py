"""Write the parts of docs/ that are made from the program: `python -m tests.docs.reference`. A test compares them."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from console import lint, registry
from console.launch.key_notes import key_notes
from console.logs import parsers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCS = Path(__file__).parents[2] / "docs"


def profile_keys() -> Iterator[str]:
    yield "| key | takes | flag | |"
    yield "|---|---|---|---|"
    for each in key_notes():
        flag = f"`{each.flag}`" if each.flag else ""
        since = "" if each.releases in ("", _EVERY) else f" ({each.releases.removeprefix('SGLang ')})"
        yield f"| `{each.key}` | {each.wants} | {flag}{since} | {_cell(each.note)} |"


def rules() -> Iterator[str]:
    yield "| rule | finds | why | read in |"
    yield "|---|---|---|---|"
    for each in lint.all_rules():
        yield f"| `{each.id}` | {_cell(each.title)} | {_cell(each.why)} | {_cell(each.source)} |"


def log_kinds() -> Iterator[str]:
    yield "| kind | |"
    yield "|---|---|"
    for name in registry.stems(parsers):
        module = importlib.import_module(f"{parsers.__name__}.{name}")
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        yield f"| `{name}` | {_cell((ast.get_docstring(tree) or '').splitlines()[0])} |"


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    "profile-keys": profile_keys,
    "rules": rules,
    "records": log_kinds,
}
"""A page of docs/ by name: what stands between its marks."""
_EVERY = "SGLang 0.4.6.post1 to 0.5.23"
BEGIN, END = "<!-- made by python -m tests.docs.reference -->\n", "<!-- end -->\n"


def page(name: str) -> Path:
    return DOCS / f"{name}.md"


def renewed(name: str) -> str:
    """Return the page with its part made anew."""
    before, _, rest = page(name).read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = "".join(f"{line}\n" for line in SECTIONS[name]())
    return f"{before}{BEGIN}\n{lines}\n{END}{after}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    for name in SECTIONS:
        page(name).write_text(renewed(name), encoding="utf-8")
        print(f"wrote {page(name)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
