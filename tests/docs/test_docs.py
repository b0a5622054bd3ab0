"""What the documentation says can be followed: links lead somewhere, tables are those of the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.cli import main
from tests.docs import reference
from tests.docs.commands import parse, written

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Of each heading what GitHub makes of it."""
    titles = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_led_to_from_the_readme() -> None:
    told = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"(docs/{page.name})" not in told] == []


@pytest.mark.parametrize("name", reference.SECTIONS)
def test_a_page_made_from_the_program_is_as_it_makes_it(name: str) -> None:
    assert reference.page(name).read_text(encoding="utf-8") == reference.renewed(name), (
        "python -m tests.docs.reference writes it"
    )


def test_every_verb_stands_in_the_contract() -> None:
    told = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    verbs = set(main.list_commands(None)) - {"complete"}  # type: ignore[arg-type]
    assert {verb for verb in verbs if f"`{verb}" not in told} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_one_that_its_verb_takes(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for command in written(page):
        parse(command)
