"""Screen 4: how each patched file of the installed tree stands, and its diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Container, VerticalScroll

from console.tui.screen import ConsoleScreen
from console.tui.text import content, diff_line, paragraphs, tone_of
from console.tui.widgets.panes import Pane
from console.tui.widgets.status import Prose, Status
from console.tui.widgets.table import Column, Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult

    from console.state.model import ConsoleState, PatchesState, PatchFile
    from console.tui.text import Line


class PatchesScreen(ConsoleScreen):
    """What P would change and X would take back."""

    NAME = "patches"
    AUTO_FOCUS = "#files"

    def body(self) -> ComposeResult:
        yield Status("tree")
        yield Container(
            Pane("files-pane", "Files", _file_table(), short=True),
            Pane("diff-pane", "Diff", VerticalScroll(Prose("diff"))),
            id="patches",
            classes="stacked",
        )

    def show(self, state: ConsoleState) -> None:
        patches = state.patches
        self.query_one("#tree", Status).say(paragraphs(self.hinted(_tree(state))))
        self.query_one("#files-pane", Pane).retitle(f"Files {len(patches.files)}")
        rows = [_file(file) for file in patches.files]
        self.query_one("#files", Table).show(rows, patches.problem or "reading the tree…")
        self._show_diff()

    @on(Table.Moved, "#files")
    def _show_diff(self) -> None:
        at = self.query_one("#files", Table).current
        file = next((each for each in self._known.patches.files if at and _key(each) == at.key), None)
        lines = map(diff_line, file.diff.splitlines()) if file else ()
        self.query_one("#diff-pane", Pane).retitle(f"Diff {file.path}" if file else "Diff")
        self.query_one("#diff", Prose).say(paragraphs(lines) if file and file.diff else content(_no_diff(file)))


def _file_table() -> Table:
    return Table(
        "files",
        Column("state"),
        Column("file", flex=True),
        Column("patch", from_width=70),
        Column("why", flex=True, from_width=70),
    )


def _file(file: PatchFile) -> Row:
    return Row(_key(file), ((file.state, tone_of(file.state)), file.path, file.patch_id, file.why))


def _key(file: PatchFile) -> str:
    return f"{file.patch_id} {file.path}"


def _no_diff(file: PatchFile | None) -> Line:
    return (f"no difference to show: {file.why}" if file else "", "dim")


def _tree(state: ConsoleState) -> Iterator[Line | str]:
    patches = state.patches
    if patches.problem:
        yield (patches.problem, "error")
    elif not patches.root:
        yield ("reading the tree…" if state.link.is_up else f"not connected: {state.link.name}", "dim")
    else:
        yield _applied(patches)
        wanted = f", files of {patches.profile}" if patches.profile else ""
        yield (f"sglang {patches.version or '?'} in {patches.root}{wanted}", "dim")


def _applied(patches: PatchesState) -> Line:
    if not patches.ledger and patches.overlay:
        return (f"overlay {patches.overlay} serves these patches at the next launch; the tree is as it was", "ok")
    if not patches.ledger:
        return ("nothing applied by this account", "dim")
    intents = sum(entry.is_cut_short for entry in patches.ledger)
    if intents:
        return (f"{intents} application(s) begun and not finished: {{revert}} takes them back", "error")
    names = dict.fromkeys(name for entry in patches.ledger for name in entry.patches)
    return (f"applied in place: {', '.join(names)} by {patches.ledger[-1].operator}; {{revert}} takes it back", "ok")


SCREEN = PatchesScreen
