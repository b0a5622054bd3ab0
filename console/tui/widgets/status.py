"""Text of a fixed height that is drawn anew only when it changed, and never moves anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

if TYPE_CHECKING:
    from textual.content import Content


class Status(Static):
    """Its height stands in the style sheet: a text that changes 20 times a second must not cost a layout."""

    def __init__(self, name: str) -> None:
        super().__init__(markup=False, id=name)
        self._said: tuple[object, ...] = ()

    def say(self, content: Content) -> None:
        """Show `content`."""
        said = (content.plain, *content.spans)
        if said != self._said:
            self._said = said
            self.update(content, layout=False)
