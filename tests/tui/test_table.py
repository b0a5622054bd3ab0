"""The table: cuts with a mark, keeps its cursor by key, hides columns openly, tells only the user's own moves."""

from __future__ import annotations

from textual.app import App

from console.tui.widgets.table import Column, Row, Table


class TableApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.moved: list[str] = []
        self.opened: list[tuple[str, ...]] = []

    def compose(self):
        yield Table("t", Column("id", 4), Column("name"), Column("wide", from_width=60), Column("why", flex=True))

    def on_table_moved(self, message: Table.Moved) -> None:
        self.moved.append(message.key)

    def on_table_opened(self, message: Table.Opened) -> None:
        self.opened.append(message.table.full(message.row))


def rows(*keys: str, why: str = "because") -> list[Row]:
    return [Row(key, (key, f"name-{key}", "hidden", (why, "ok"))) for key in keys]


def lines(table: Table) -> list[str]:
    return [table.render_line(y).text for y in range(table.size.height)]


async def test_cells_are_cut_with_a_mark_and_hidden_columns_are_counted():
    async with TableApp().run_test(size=(40, 12)) as pilot:
        table = pilot.app.query_one(Table)
        table.show(rows("a", why="x" * 100))
        head, first, *_rest = lines(table)
        assert head.rstrip() == "id    name    why                    +1…"
        assert first.rstrip().endswith("x…")
        assert "hidden" not in first
        assert len(first) == 40


async def test_wide_characters_do_not_shift_the_columns():
    async with TableApp().run_test(size=(40, 12)) as pilot:
        table = pilot.app.query_one(Table)
        table.show([Row("a", ("模型", "n", "", "w")), Row("b", ("ab", "n", "", "w"))])
        _head, first, second, *_rest = lines(table)
        assert first.index("n") + 2 == second.index("n"), "two characters take four cells"


async def test_the_cursor_stays_on_its_row_when_rows_come_and_go():
    async with TableApp().run_test(size=(80, 12)) as pilot:
        table = pilot.app.query_one(Table)
        table.focus()
        table.show(rows("a", "b", "c"))
        await pilot.press("j")
        table.show(rows("new", "a", "b", "c"))
        assert table.current
        assert table.current.key == "b"
        table.show(rows("a"))
        assert table.current.key == "a"
        table.show([])
        assert table.current is None
        assert pilot.app.moved == ["b"], "only the user's own moves are told"


async def test_a_long_table_scrolls_with_its_cursor_and_keeps_its_head():
    async with TableApp().run_test(size=(80, 12)) as pilot:
        table = pilot.app.query_one(Table)
        table.focus()
        table.show(rows(*(f"r{number}" for number in range(50))))
        await pilot.pause()
        await pilot.press("G")
        await pilot.pause()
        shown = lines(table)
        assert shown[0].startswith("id")
        assert shown[-1].startswith("r49")
        await pilot.press("g", "enter")
        await pilot.pause()
        assert lines(table)[1].startswith("r0")
        assert pilot.app.opened == [("id    r0", "name  name-r0", "wide  hidden", "why   because")]


async def test_an_empty_table_says_why():
    async with TableApp().run_test(size=(80, 12)) as pilot:
        table = pilot.app.query_one(Table)
        table.show([], "no process holds GPU memory")
        assert lines(table)[1].rstrip() == "no process holds GPU memory"
