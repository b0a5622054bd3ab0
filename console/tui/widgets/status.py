"""Text that is drawn anew only when it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.widgets import Static

if TYPE_CHECKING:
    from textual.content import Content


class Status(Static):
    """Its height stands in the style sheet: a text that changes 20 times a second must not cost a layout."""

    GROWS: ClassVar[bool] = False
    """Is it as high as what it says?"""

    def __init__(self, name: str | None = None, classes: str | None = None) -> None:
        super().__init__(markup=False, id=name, classes=classes)
        self._said: tuple[object, ...] = ()

    def say(self, content: Content) -> None:
        """Show `content`."""
        said = (content.plain, *content.spans)
        if said != self._said:
            self._said = said
            self.update(content, layout=self.GROWS)


class Prose(Status):
    """Paragraphs: what they say lays out what they stand in."""

    GROWS = True
