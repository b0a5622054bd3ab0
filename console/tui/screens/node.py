"""Screen 1: GPUs, who holds them, servers, the runbook and what the action says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

from textual import on

from console.state.events import ServerChosen
from console.state.gpus import INVENTORY_S
from console.state.server_phase import server_word
from console.tui import own_actions
from console.tui.messages import Happened
from console.tui.screen import ConsoleScreen
from console.tui.text import bar, memory, tone_of
from console.tui.widgets.panes import Pane, Panes
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE, format_age, format_bytes, format_seconds

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from console.node.holders import Holder
    from console.node.verdict import GpuVerdict
    from console.state.model import ConsoleState, GpuState, RunbookState, Step
    from console.tui.app import ConsoleApp
    from remote_agent.protocol import GpuSample, ServerRun

NOT_READ = "not read yet"
BAR_WIDTH = 10


class NodeScreen(ConsoleScreen):
    """The node as it is now."""

    NAME = "node"

    def body(self) -> ComposeResult:
        yield Panes(
            Pane("servers-pane", "Servers", _server_table()),
            Pane("holders-pane", "Processes", _holder_table()),
            Pane("runbook-pane", "Runbook", _step_table()),
            Pane("said-pane", "Narration", Table("said", Column("said", flex=True))),
            pinned=(Pane("gpus-pane", "GPUs", _gpu_table()),),
            name="node",
        )

    def perform(self, name: str) -> None:
        if not name.startswith("runbook."):
            super().perform(name)
        elif not self._sees_runbook():
            return  # it is seen now, and the cursor is on a step
        elif name in ("runbook.insert", "runbook.save", "runbook.load"):
            profile = self._known.profiles.selected
            own_actions.command(self._whole, f"{name} {f'{profile}.yaml' if name == 'runbook.save' else ''}")
        elif step := self.query_one("#runbook", Table).current:
            self._do(name, step.key)

    def perform_with(self, name: str, argument: str) -> None:
        self.query_one(Panes).activate("runbook-pane")
        self._do(name, argument)

    def _do(self, name: str, argument: str) -> None:
        from console.tui import step_keys  # what knows the kinds of steps takes as long as the first frame

        step_keys.do(self._whole, name, argument)

    @property
    def _whole(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    def _sees_runbook(self) -> bool:
        """Bring the steps to the front, with the keyboard, where they were not seen."""
        table = self.query_one("#runbook", Table)
        if not table.region:
            self.query_one(Panes).activate("runbook-pane")
            self.call_after_refresh(table.focus)
            return False
        return True

    def show(self, state: ConsoleState) -> None:
        self._show_gpus(state)
        self._show_holders(state)
        self._show_servers(state)
        self._show_runbook(state)
        said = [Row(str(number), (line,)) for number, line in enumerate(state.action.lines)]
        table = self.query_one("#said", Table)
        table.show(said, "nothing was done yet")
        table.move_to(str(len(said) - 1))

    def _show_gpus(self, state: ConsoleState) -> None:
        gpus = state.gpus
        title = f"GPUs {_count_free(gpus)}" if gpus.sample and gpus.sample.gpus else "GPUs"
        live = title if state.link.is_up else f"{title} (not live{_age(state.link.age_s)})"
        self.query_one("#gpus-pane", Pane).retitle(live, _names(gpus))
        found = zip(gpus.sample.gpus, gpus.verdicts, strict=False) if gpus.sample else ()
        self.query_one("#gpus", Table).show([_gpu(*each) for each in found], _why_no_gpus(gpus))

    def _show_holders(self, state: ConsoleState) -> None:
        gpus = state.gpus
        self.query_one("#holders-pane", Pane).retitle(
            f"Processes {len(gpus.holders)}" if gpus.sample else "Processes", _unreadable(gpus)
        )
        why = "no process holds GPU memory" if gpus.sample else NOT_READ
        self.query_one("#holders", Table).show(list(map(_holder, gpus.holders)), why)

    def _show_servers(self, state: ConsoleState) -> None:
        servers = state.servers
        self.query_one("#servers-pane", Pane).retitle(
            f"Servers {len(servers.running)}" if state.node.facts else "Servers"
        )
        rows = [_server(run, _word(run, state)) for run in reversed(servers.runs)]
        self.query_one("#servers", Table).show(rows, "no run record on this node" if state.node.facts else NOT_READ)

    def _show_runbook(self, state: ConsoleState) -> None:
        book, steps = state.runbook, state.steps
        done = sum(step.state in ("done", "skipped") for step in steps)
        title = f"Runbook {done}/{len(steps)}" if steps else "Runbook"
        walks = "" if book.steps or not steps else self.table.hint("{runbook} walks ")
        file = f"{book.file.path.rpartition('/')[2]}: " if book.file else ""
        self.query_one("#runbook-pane", Pane).retitle(title, f"{walks}{file}{book.profile or state.profiles.selected}")
        table = self.query_one("#runbook", Table)
        table.show(
            list(map(_step, steps)),
            self.table.hint(f"{{runbook}} walks {state.profiles.selected or 'the selected profile'}"),
        )
        self._follow_runbook(book, table)

    def _follow_runbook(self, book: RunbookState, table: Table) -> None:
        """A walk that goes on is what the user wants to see, also where only one pane fits."""
        running = next((step for step in book.steps if step.state == "running"), None)
        if running and running.id != getattr(self, "_walked", None):
            self.query_one(Panes).activate("runbook-pane")
            table.move_to(running.id)
        self._walked = running.id if running else None

    @on(Table.Moved, "#servers")
    def _choose(self, message: Table.Moved) -> None:
        message.stop()
        self.post_message(Happened(ServerChosen(message.key)))


def _gpu_table() -> Table:
    return Table(
        "gpus",
        Column("gpu", 3, right=True),
        Column("name", from_width=100),
        Column("memory", BAR_WIDTH),
        Column("used/total", right=True),
        Column("util", 4, right=True),
        Column("power", right=True),
        Column("temp", 5, right=True, from_width=90),
        Column("state", 7),
        Column("why", flex=True),
    )


def _holder_table() -> Table:
    return Table(
        "holders",
        Column("pid", right=True),
        Column("kind"),
        Column("user", from_width=90),
        Column("gpu"),
        Column("memory", right=True),
        Column("age", right=True, from_width=70),
        Column("process", flex=True),
    )


def _server_table() -> Table:
    return Table(
        "servers",
        Column("state"),
        Column("port", right=True),
        Column("profile", flex=True),
        Column("server"),
        Column("operator", from_width=100),
    )


def _step_table() -> Table:
    return Table(
        "runbook",
        Column("state", 7),
        Column("step", 8),
        Column("proof", flex=True),
        Column("took", right=True),
    )


def _gpu(gpu: GpuSample, verdict: GpuVerdict) -> Row:
    util = NONE if gpu.utilization_percent is None else f"{gpu.utilization_percent} %"
    power = NONE if gpu.power_draw_w is None else f"{gpu.power_draw_w:.0f} W"
    temperature = NONE if gpu.temperature_c is None else f"{gpu.temperature_c} °C"
    tone = tone_of(verdict.state)
    return Row(
        str(gpu.index),
        (
            str(gpu.index),
            gpu.name,
            (bar(gpu.memory_used_bytes, gpu.memory_total_bytes, BAR_WIDTH), tone),
            memory(gpu.memory_used_bytes, gpu.memory_total_bytes),
            util,
            power,
            temperature,
            (verdict.state, tone),
            verdict.reason,
        ),
    )


def _holder(holder: Holder) -> Row:
    process = holder.process
    return Row(
        str(holder.pid),
        (
            str(holder.pid),
            (holder.kind, tone_of(holder.kind)),
            process.user if process else NONE,
            ",".join(map(str, holder.gpus)),
            format_bytes(holder.memory_used_bytes),
            format_seconds(process.age_s) if process else NONE,
            process.title if process else "of another pid namespace",
        ),
    )


def _server(run: ServerRun, word: str) -> Row:
    profile = str((run.record.get("profile") or {}).get("name", NONE))
    return Row(run.run_id, ((word, tone_of(word)), str(run.port), profile, run.run_id, run.operator))


def _word(run: ServerRun, state: ConsoleState) -> str:
    if run is state.servers.newest_own:
        return server_word(state) if run.state != "exited" else _ended(run)
    return _ended(run) if run.state == "exited" else run.state


def _ended(run: ServerRun) -> str:
    return f"exited {run.exit_code}" if run.exit_code is not None else f"exited by signal {run.exit_signal}"


def _step(step: Step) -> Row:
    took = format_seconds(step.elapsed_s) if step.elapsed_s else ""
    return Row(step.id, ((step.state, tone_of(step.state)), step.id, step.proof or (step.title, "dim"), took))


def _age(seconds: float) -> str:
    return f", {format_age(seconds)} old" if seconds else ""


def _count_free(gpus: GpuState) -> str:
    free = sum(verdict.state == "free" for verdict in gpus.verdicts)
    return f"{free}/{len(gpus.verdicts)} free"


def _names(gpus: GpuState) -> str:
    """The models, counted: the table has room for them only where it is very wide."""
    counts = Counter(gpu.name for gpu in gpus.sample.gpus) if gpus.sample else {}
    return ", ".join(f"{count} × {name}" for name, count in counts.items())


def _unreadable(gpus: GpuState) -> str:
    unreadable = f"files of {gpus.unreadable_pids} processes unreadable" if gpus.unreadable_pids else ""
    seldom = f"looked for every {gpus.every_s:.0f} s: it costs the node" if gpus.every_s > INVENTORY_S else ""
    return "; ".join(filter(None, (unreadable, gpus.reason, seldom)))


def _why_no_gpus(gpus: GpuState) -> str:
    if gpus.sample is None:
        return NOT_READ
    return f"no GPU readings: {gpus.sample.reason}" if gpus.sample.source == "none" else "no GPU is listed"


SCREEN = NodeScreen
