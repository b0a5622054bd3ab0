"""The palette: every action of the table, and what each can be done with, to be found by a few of its letters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Provider

from console.tui.commands import offers, parse
from console.tui.text import content
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.command import Hits
    from textual.content import Content

    from console.tui.app import ConsoleApp
    from console.tui.commands import Offer


class Actions(Provider):
    """Those that cannot be had now are listed with why; choosing one says it again."""

    @property
    def _console(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    def _offers(self) -> Iterator[Offer]:
        return offers(self._console.table, self._console.stream.state, self._console.current_mode)

    async def discover(self) -> Hits:
        for offer in self._offers():
            if offer.label:  # what one action can be done with comes when it is looked for
                yield DiscoveryHit(_shown(offer), partial(self._do, offer), offer.line)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for offer in self._offers():
            text = f"{plain(offer.title)} {plain(offer.line)}"
            if (score := matcher.match(text)) > 0:
                yield Hit(score if offer.label else 0.9 * score, _shown(offer), partial(self._do, offer), offer.line)

    def _do(self, offer: Offer) -> None:
        console = self._console
        console.obey(parse(offer.line, console.table, console.stream.state))


def _shown(offer: Offer) -> Content:
    key = f"  {offer.label}" if offer.label and not offer.label.startswith(":") else ""
    return content(
        (offer.title, "dim" if offer.why else ""),
        (key, "accent"),
        (f"  :{offer.line}", "dim"),
        (f"  not now: {offer.why}" if offer.why else "", "warn"),
    )


def make_palette() -> CommandPalette:
    """Return the palette, to be pushed as a screen."""
    return CommandPalette(
        [Actions], placeholder="an action, by some of its letters; Esc leaves", id="--command-palette"
    )
