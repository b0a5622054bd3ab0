"""logs NODE: the log of a server, or any file: its lines, the ones that are wanted, its records, its shape table."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from console.cli._pipe import reader_may_leave, while_somebody_reads, write_out
from console.cli._shared import Options, emit, node_argument, on_node, say, shared_options
from console.errors import ConsoleError, UsageError
from console.units import format_bytes, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.actions.node import Node
    from console.actions.read_log import LogSource
    from console.logs.history import LogHistory
    from console.logs.record import Record
    from console.logs.selection import Selection
    from console.logs.shapes import ShapeRow

LINES_LIMIT = 100_000
"""Lines shown at most without --lines, where lines are chosen; the newest."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the verb."""

    server: str | None
    port: int | None
    file: tuple[str, ...]
    listed: bool
    follow: bool
    shapes: bool
    since: str | None
    grep: str | None
    invert: bool
    kind: tuple[str, ...]
    rank: str | None
    lines: int | None


@click.command("logs")
@node_argument
@click.option("--server", help="Run id of the server, or its end.")
@click.option("--port", type=int, help="Port of the server, ours or not.")
@click.option("--file", multiple=True, help="Any file on the node; several are merged by time.")
@click.option("--list", "listed", is_flag=True, help="What logs there are on the node.")
@click.option("--follow", is_flag=True, help="Go on as the log grows; with --json one record a line.")
@click.option("--since", help="10m, 2h, 1d ago, or the node's time: 2026-02-20T10:02:11.")
@click.option("--grep", help="Regular expression; any case while it has no capital; ! first inverts.")
@click.option("-v", "--invert", is_flag=True, help="Lines that do not match --grep.")
@click.option("--kind", multiple=True, help="Records of this kind (decode_batch, torch_error, unclaimed…).")
@click.option("--rank", help="Records of these ranks, 0,2-3, and those that name none.")
@click.option("--lines", type=click.IntRange(min=1), help="The last so many.")
@click.option("--shapes", is_flag=True, help="The shape table instead of the lines.")
@shared_options
def COMMAND(node: str, options: Options, **given: object) -> int:
    """Show the log of a server on NODE.

    The newest of this operator, or the one named."""
    asked = Asked(**given)  # type: ignore[arg-type]

    async def work(connected: Node) -> int:
        from console.actions import read_log

        if asked.listed:
            return await _list(connected, options)
        if asked.file:
            sources = [await read_log.find(connected, file=path) for path in asked.file]
        else:
            sources = [await read_log.find(connected, asked.server, asked.port)]
        if len(sources) > 1 and asked.shapes:
            raise UsageError("--shapes is about one log", "Name one --file.")
        selection = _selection(asked)
        if asked.follow:
            await while_somebody_reads(_follow(connected, options, asked, selection, sources))
            return 0
        if len(sources) == 1 and not selection and not asked.lines:
            history = await read_log.read(connected, sources[0])
            source = await read_log.judged(connected, sources[0], history)
            phase = await _phase(connected, source, history)
            return _show(connected, options, source, history, phase, shapes=asked.shapes)
        if asked.shapes:
            raise UsageError("--shapes counts a whole log", "Leave the options that choose lines out, or --shapes.")
        return await _choose(connected, options, asked, selection, sources)

    with reader_may_leave():
        return on_node(node, options, work)
    return 0


def _selection(asked: Asked) -> Selection:
    from console.logs.choice import parse_ranks
    from console.logs.search_pattern import parse
    from console.logs.selection import Selection

    if asked.invert and asked.grep is None:
        raise UsageError("-v inverts --grep", "Add --grep PATTERN.")
    return Selection(
        since=asked.since or "",
        pattern=None if asked.grep is None else parse(asked.grep, inverse=asked.invert),
        kinds=frozenset(asked.kind),
        ranks=parse_ranks(asked.rank or ""),
    )


async def _list(node: Node, options: Options) -> int:
    from console.actions import read_log

    sources = await read_log.sources(node)
    if not sources:
        say(f"no log is known on {node.name}: --file PATH shows any")
    if options.as_json:
        from remote_agent.protocol import to_wire

        emit(options, True, node.name, {"sources": [to_wire(each) for each in sources]})
        return 0
    for each in sources:
        who = each.run_id or (f"pid {each.pid}" if each.pid else each.kind)
        told = each.problem or format_bytes(each.size)
        click.echo(plain(f"{each.path}  ({who}, {each.label[:60]}): {told}"))
    return 0


async def _choose(
    node: Node, options: Options, asked: Asked, selection: Selection, sources: Sequence[LogSource]
) -> int:
    """The lines of one or several logs that are wanted, the newest of them, by time."""
    from console.logs.selection import merged

    limit = asked.lines or LINES_LIMIT
    found = [(source.path, await _chosen(node, source, selection, limit)) for source in sources]
    chosen = list(merged(found))[-limit:]
    if not chosen:
        say(f"no line of {', '.join(source.path for source in sources)} matches")
    if options.as_json:
        lines = [{"file": path, **record.to_json()} for path, record in chosen]
        emit(options, True, node.name, {"paths": [source.path for source in sources], "lines": lines})
        return 0
    labels = _labels(sources)
    _echo(f"{labels[path]}{record.text}" for path, record in chosen)
    return 0


async def _chosen(node: Node, source: LogSource, selection: Selection, limit: int) -> list[tuple[str, Record]]:
    """The newest wanted records of one log, with their times. A pattern is searched for on the node."""
    import dataclasses

    from console.actions import read_log, search_log
    from console.logs.selection import Sieve

    start = source.offset
    if selection.since:
        wanted, start = await read_log.since(node, source, selection.since)
        selection = dataclasses.replace(selection, since=wanted)
    sieve = Sieve(dataclasses.replace(selection, pattern=None))
    newest: deque[tuple[str, Record]] = deque(maxlen=limit)
    if selection.pattern:
        is_last = not (selection.kinds or selection.ranks or selection.since)
        batches = search_log.find(
            node,
            source.path,
            selection.pattern,
            start=None if is_last else start,
            backward=is_last,
            limit=limit if is_last else 10**9,
        )
        found = [record async for records in batches for record in records if record.offset >= start]
        # What was found backward stands newest line first; records of one line stay in their order.
        newest.extend(sieve.take(sorted(found, key=lambda record: record.offset) if is_last else found))
        return list(newest)
    if not selection:
        return sieve.take((await read_log.last(node, source, limit)).records)
    history = source.history()
    async for records in read_log.follow(node, source, history, offset=start, until_eof=True):
        newest.extend(sieve.take(records))
    newest.extend(sieve.take(history.finish()))
    return list(newest)


async def _follow(
    node: Node, options: Options, asked: Asked, selection: Selection, sources: Sequence[LogSource]
) -> None:
    import asyncio

    labels = _labels(sources)
    failures: Sequence[BaseException] = ()
    try:
        async with asyncio.TaskGroup() as group:
            for source in sources:
                group.create_task(_follow_one(node, options, asked, selection, source, labels[source.path]))
    except* (ConsoleError, BrokenPipeError) as failed:
        failures = failed.exceptions
    if failures:  # not raised inside `except*`: Python 3.11.2, Debian's, would raise a group again
        raise failures[0]


async def _follow_one(
    node: Node, options: Options, asked: Asked, selection: Selection, source: LogSource, label: str
) -> None:
    import dataclasses

    from console.actions import read_log
    from console.logs.selection import Sieve

    start, resume = source.offset, ""
    if selection.since:
        wanted, start = await read_log.since(node, source, selection.since)
        selection = dataclasses.replace(selection, since=wanted)
    elif asked.lines:
        resume = (await node.agent.tail(source.path, asked.lines)).position
    sieve, history, is_judged = Sieve(selection), source.history(), False
    told: set[tuple[object, ...]] = set()
    async for records in read_log.follow(node, source, history, offset=start, resume=resume):
        for record in records:
            if record.kind == "log_gap":
                say(f"{label}{record.text}")
        if asked.shapes:
            if not is_judged or any(record.kind == "server_args" for record in records):
                source, is_judged = await read_log.judged(node, source, history), True
            _echo(_new_rows(history, source, told))
            continue
        taken = [record for _ts, record in sieve.take(records)]
        if options.as_json:
            head = {"schema": "spec-console/logs/1", **({"file": source.path} if label else {})}
            _echo(json.dumps({**head, **record.to_json()}) for record in taken)
        else:
            _echo(f"{label}{record.text}" for record in taken if record.kind != "log_gap")


def _new_rows(history: LogHistory, source: LogSource, told: set[tuple[object, ...]]) -> list[str]:
    """Rows of the shape table that were not there before, or whose shape or ranks changed."""
    lines = []
    for row in history.shapes.rows():
        key = (row.site, row.model, row.mode, row.ranks, json.dumps(row.shape), row.dtype)
        if key not in told:
            told.add(key)
            lines.append("  ".join(_cells(row, source)))
    return lines


def _labels(sources: Sequence[LogSource]) -> dict[str, str]:
    """What stands before each line of a log where there are several: its name, as short as tells them apart."""
    if len(sources) == 1:
        return {sources[0].path: ""}
    names = [source.path.rpartition("/")[2] for source in sources]
    is_clear = len(set(names)) == len(names)
    return {source.path: f"{name if is_clear else source.path} | " for source, name in zip(sources, names, strict=True)}


def _echo(lines: Iterable[str]) -> None:
    """Print lines at once: a flush for each would be the slowest part."""
    from console.logs.highlight import without_secrets

    text = "\n".join([plain(without_secrets(line)) for line in lines])
    if text:
        write_out(f"{text}\n")


async def _phase(node: Node, source: LogSource, history: LogHistory) -> str:
    """Where the server stands: of one of ours not by the log alone, which ends at ready when it is killed."""
    if not source.run_id:
        return history.phase.name
    from console.node.server_runs import ALIVE, phase_of

    run = await node.run_of(source.run_id)
    phase = phase_of(run, history.phase)
    if run.state not in ALIVE:
        say(f"server {run.run_id} is no longer there: {phase.words}")
    return phase.name


def _show(node: Node, options: Options, source: LogSource, history: LogHistory, phase: str, *, shapes: bool) -> int:
    if options.as_json:
        head = {"server": source.run_id or None, "path": source.path, "phase": phase}
        emit(options, True, node.name, {**head, **history.to_json(source.judge)})
    elif shapes:
        _echo(shape_lines(history, source))
    else:
        _echo(record.text for record in history.records)
    return 0


def shape_lines(history: LogHistory, source: LogSource) -> list[str]:
    """The path of the captured states, and the shape table as text, widths as wide as they need."""
    from console.logs.flow import flow

    found = history.shapes.rows()
    rows: list[tuple[str, ...]] = [("SITE", "MODEL", "MODE", "RANKS", "SHAPE", "DTYPE", "COUNT", "VERDICT")]
    rows += [_cells(row, source) for row in found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    path = flow(found, source.judge).lines() if found else []
    return [*path, *lines, f"unclaimed lines: {history.unclaimed()['count']}"]


def _cells(row: ShapeRow, source: LogSource) -> tuple[str, ...]:
    verdict = source.judge(row)
    shape = f"{row.text}, {row.where}" if row.where else row.text
    cells = (row.site, row.model, row.mode, row.ranks, shape, row.dtype, row.count)
    return (*("-" if cell is None else str(cell) for cell in cells), f"{verdict.state}: {verdict.sentence}")
