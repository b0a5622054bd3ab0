"""Leaves out of a frame what nobody sees: Textual renders all that a widget covers, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._compositor import ChopsUpdate, Compositor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.geometry import Region
    from textual.strip import Strip
    from textual.widget import Widget


class FrontCompositor(Compositor):
    """Renders of a partial update only widgets that show in what changed: the log stands in four containers.

    A widget paints every cell of its region. One that lies behind a single other wherever something changed therefore
    has no part in the frame.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed: tuple[Region, ...] = ()

    def render_partial_update(self) -> ChopsUpdate | None:
        self._changed = tuple(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._changed = ()

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if not self._changed:
            return super()._get_renders(crop)
        return self._seen_renders(self._changed)

    def _seen_renders(self, changed: tuple[Region, ...]) -> Iterable[tuple[Region, Region, list[Strip]]]:
        in_front: dict[Region, list[Region]] = {each: [] for each in changed}
        for widget, (region, clip) in self.visible_widgets.items():
            visible = region.intersection(clip)
            is_seen = False
            for each, covering in in_front.items():
                part = visible.intersection(each)
                if part and not any(cover.contains_region(part) for cover in covering):
                    is_seen = True
                    covering.append(part)
            if is_seen:
                yield region, clip, _rendered(widget, region, visible)


def _rendered(widget: Widget, region: Region, visible: Region) -> list[Strip]:
    return widget.render_lines(visible.translate((-region.x, -region.y)))
