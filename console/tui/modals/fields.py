"""The fields of a profile: value, where it stands, what the one under the cursor means; what is typed is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from textual import on
from textual.containers import Vertical
from textual.widgets import Input

from console import paths
from console.actions import edit_profile
from console.actions.config_files import DEFAULT, profile_values
from console.errors import ConsoleError
from console.launch.key_notes import key_notes
from console.tui.modals.dialog import Dialog
from console.tui.text import content
from console.tui.widgets.status import Status
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE
from console.validation import Invalid

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from console.launch.key_notes import KeyNote
    from console.tui.text import Line

COMMON = (
    *("model_path", "tp_size", "gpus", "host", "port", "log_path", "mem_fraction_static", "context_length"),
    *("max_running_requests", "attention_backend", "quantization", "disable_cuda_graph", "disable_custom_all_reduce"),
    *("speculative.algorithm", "speculative.draft_model_path", "speculative.eagle_topk", "speculative.num_steps"),
    *("speculative.num_draft_tokens", "probe.blocks", "probe.max_new_tokens", "probe.concurrency"),
)
"""Shown also where they are not set."""
_KEYS = "↑ ↓ choose. Type a value, Enter writes it into the profile (YAML: 2, true, [0, 1]). Esc: leave."


class FieldsModal(Dialog[None]):
    """One profile, read from its file; a value is checked before it is written, and one that ships is copied first."""

    DEFAULT_CSS = """
    FieldsModal {
        #fields { height: auto; max-height: 50vh; }
        #field-said { height: 3; margin-top: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """

    def __init__(self, profile: str) -> None:
        super().__init__(profile, ())
        self._profile = profile
        self._here = paths.locate()
        self._notes: dict[str, KeyNote] = {each.key: each for each in key_notes()}
        self._told: Line = (_KEYS, "dim")

    def compose(self) -> ComposeResult:
        columns = Column("field"), Column("value", flex=True), Column("from", from_width=100)
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = content(self._title)
            yield Input(placeholder="a new value of the field under the cursor", id="value")
            yield Table("fields", *columns, keeps_cursor=True)
            yield Status("field-said")

    def on_mount(self) -> None:
        self._read()

    @property
    def _table(self) -> Table:
        return self.query_one("#fields", Table)

    def _read(self) -> None:
        try:
            _, values = profile_values(self._profile, self._here, None)
        except ConsoleError as error:
            self._told = (error.message, "error")
            self._table.show([], "the profile cannot be read; e opens it in an editor")
        else:
            told = {each.key: (_written(each.value), each.source.rpartition("/")[2]) for each in values}
            unset: tuple[Line, Line] = ((NONE, "dim"), (DEFAULT, "dim"))
            keys = (*COMMON, *(key for key in told if key not in COMMON))
            self._table.show([Row(key, (key, *told.get(key, unset))) for key in keys])
        self._say()

    def action_move(self, lines: int) -> None:
        """From the field too."""
        self._table.action_move(lines)

    @on(Table.Moved)
    def _say(self) -> None:
        """Below the table: what the field means and takes, its flag and releases, and what was done last."""
        current = self._table.current
        note = self._notes.get(current.key) if current else None
        flag = f"; {note.flag}: {note.releases}" if note and note.flag else ""
        takes = f"takes {note.wants}{flag}" if note else ""
        said = content((note.note if note else "a name of your own", "")).append("\n")
        said = said.append(content((takes, "dim"))).append("\n").append(content(self._told))
        self.query_one("#field-said", Status).say(said)

    @on(Input.Submitted)
    def _write(self, message: Input.Submitted) -> None:
        message.stop()
        if not (message.value.strip() and self._table.current):
            return
        try:
            sets = (f"{self._table.current.key}={message.value}",)
            draft = edit_profile.set_values(self._profile, sets, self._here)
            edit_profile.save(draft)
        except ConsoleError as error:
            # The place is that of a draft which is gone.
            problems = [each.message for each in error.problems] if isinstance(error, Invalid) else [error.message]
            self._told = ("; ".join(problems), "error")
            self._say()
            return
        self.query_one(Input).clear()
        self._told = (f"written: {draft.target}", "ok")
        self._read()


def _written(value: Any) -> str:
    """A value as one would type it: a JSON value is one of YAML too."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
