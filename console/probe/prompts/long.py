"""Composes the set `long`: three prompts of about 9 k tokens, a harbour's diary and a question about it.

From paragraphs of our own with changing people, places, dates and figures, the same on each machine: a file of a
hundred kilobytes that nobody reads is not shipped. The diary repeats its turns of phrase, as real logs do; its figures
do not repeat.
"""

from __future__ import annotations

A_MONTH = 15
"""Entries: 165 of one prompt, about 36,000 characters."""

_PEOPLE = (
    "Ines Falk",
    "Tomas Berg",
    "Ruth Adler",
    "Jon Okafor",
    "Mina Sato",
    "Paul Reiter",
    "Vera Lindt",
    "Omar Haddad",
)
_PLACES = (
    "the north quay",
    "the timber pier",
    "berth four",
    "the old slipway",
    "the grain store",
    "the lock",
    "berth nine",
)
_SHIPS = ("Margarethe", "Silver Tern", "Blue Anchor", "Karoline", "Wanderer", "North Light", "Two Brothers")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November")

_PARAGRAPHS = (
    "The {ship} came in at {hour}:{minute:02} with {n} tonnes of rapeseed and made fast at {place}. {person} "
    "counted the lines and found one chafed through to a third; it was replaced before the crew went ashore.",
    "At {place} the depth was sounded in {few} places. The least was {depth} metres, a hand less than in the "
    "spring, and {person} asks that the dredger be called before the larger ships are due.",
    "{person} reports that the crane near {place} stood still for {n} minutes because of a warm bearing. It was "
    "greased, turned without a load and released; the driver is to look at it again after {few} hours of work.",
    "A letter from the owners of the {ship} arrived. They dispute the bill for {n} hours of shore power and say "
    "that it was {few} fewer. {person} has the meter sheets and will answer by the end of the week.",
    "Wind from the west, force {few}, gusts more. The barrier at {place} was closed from {hour}:{minute:02} for "
    "{n} minutes, and two barges waited outside. Nobody was hurt, and a fender was lost and found again at low "
    "water.",
    "School children, {n} of them, visited {place} with their teachers. {person} showed them how a lock fills, "
    "and one asked why the water does not run out below. The answer took longer than the whole tour.",
    "The night watch heard knocking in the hull of the {ship} at {hour}:{minute:02}. It was a loose ladder. "
    "{person} had it tied down and wrote to the master, who had gone home by train and answered only {few} days "
    "later.",
    "Inventory at {place}: {n} pallets of roof tiles, of which {few} are cracked, and a crate that nobody has "
    "asked for since last year. {person} proposes to open it in front of witnesses if no owner writes until the "
    "first.",
    "The customs officer asked for the papers of the {ship} a second time, because the weight on the bill, {n} "
    "tonnes, differs by {few} from the weight in the log. {person} found that one truck was weighed with its "
    "driver in it.",
    "Ice on the steps at {place}. {person} had sand brought, {few} barrows, and the steps were closed until "
    "{hour}:{minute:02}. A fisherman went down them all the same and sat down harder than he had meant to.",
    "The pump in {place} ran {n} minutes more than usual for the same rain. {person} suspects the flap and not "
    "the pump, and will lift it at the next low water, which is in {few} days.",
    "An offer came for the repair of {place}: {n} thousand for stone, {few} weeks of work, and a second for "
    "concrete that is cheaper and slower. {person} would take the stone, since concrete has failed there twice.",
    "The {ship} left at {hour}:{minute:02}, {n} minutes late, because the pilot was still aboard another vessel. "
    "{person} noted the delay; the tide was already falling, and there were {few} decimetres left under the keel.",
    "Training for the fire watch at {place}: {few} new people, {n} metres of hose, one valve that did not open. "
    "{person} had it changed the same afternoon and repeated the drill, this time without a fault.",
    "A quarrel over the berth at {place}: two masters had each been promised it, one by telephone and one by "
    "{person}. They settled it over coffee; the {ship} moves after {few} hours, and the other pays no fee for the "
    "first {n}.",
    "Birds have nested in the lamp at {place}, and {person} asks to leave it dark until they have flown, about "
    "{few} weeks. A lantern on a pole was put up instead, {n} paces further on, and entered in the list of "
    "lights.",
)

_QUESTIONS = (
    "You have read the diary above. Write a report for the harbour board: which repairs were carried out, which "
    "are only proposed, who is responsible for each, and what could become dangerous if it is left until winter.",
    "From the diary above take everything that concerns ships: list arrivals, departures and disputes in the "
    "order of the diary, with date, ship, place and person, and say after the list which ship gave the most "
    "trouble and why.",
    "Tell the year of the diary above as a story of six paragraphs, seen by the one person who appears in it most "
    "often. Keep to what is written there, and let the weather, the money and the people each have their part.",
)


def compose() -> tuple[str, ...]:
    """Return the prompts of the set: the diary, begun at another place each time, and a question."""
    return tuple(_diary(7 * number) + f"\n{question}\n" for number, question in enumerate(_QUESTIONS))


def _diary(start: int) -> str:
    return "".join(_entry(start + number, number) for number in range(A_MONTH * len(_MONTHS)))


def _entry(number: int, day: int) -> str:
    text = _PARAGRAPHS[(5 * number + number // 16) % len(_PARAGRAPHS)].format(
        ship=_SHIPS[number * 3 % len(_SHIPS)],
        person=_PEOPLE[(number * 5 + number // 8) % len(_PEOPLE)],
        place=_PLACES[(number * 2 + number // 7) % len(_PLACES)],
        hour=(number * 7) % 24,
        minute=(number * 13) % 60,
        n=11 + (number * 37) % 83,
        few=2 + (number * 11) % 9,
        depth=f"{4 + (number * 17) % 30 / 10:.1f}",
    )
    return f"{1 + 2 * (day % A_MONTH)} {_MONTHS[day // A_MONTH]}. {text}\n"
