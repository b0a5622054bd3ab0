"""replay FILE: a recording in the same console, with no node; its last state in words without a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli._shared import Options, emit, shared_options
from console.cli.connect import theme_option
from console.units import format_seconds, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.store.recordings import Recording


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--speed", type=click.FloatRange(0.01, 1000), default=1.0, show_default=True, help="Times as fast.")
@click.option("--to-end", is_flag=True, help="Show the last state at once.")
@theme_option
@shared_options
def COMMAND(options: Options, file: Path, speed: float, to_end: bool, theme: str | None) -> int:
    """Show a recording in the console.

    `connect NODE --record FILE` makes one. Without a terminal, or with --json, its last
    state in words. 1: the recording is not whole, and where it ends is said.
    """
    from console.store.recordings import Recording

    recording = Recording(file)
    if options.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _tell(options, recording)
    from console import paths
    from console.tui import garbage

    garbage.put_off()
    from console.tui.replay_app import ReplayApp
    from console.tui.settings import read_settings

    settings = read_settings(paths.locate(), theme=theme or "", readonly=False)
    ReplayApp(recording, speed, to_end=to_end, settings=settings).run()
    # Left before its end, it says nothing of itself.
    return 1 if recording.ended and not recording.is_whole else 0


def _tell(options: Options, recording: Recording) -> int:
    told = _last(recording)
    if options.as_json:
        emit(options, recording.is_whole, None, told)
    else:
        for line in _lines(told):
            click.echo(plain(line))
    return 0 if recording.is_whole else 1


def _last(recording: Recording) -> dict[str, Any]:
    """Fold everything, and say what came of it."""
    from console.state.model import ConsoleState
    from console.state.summary import summary
    from console.state.update import update

    state, seconds, events = ConsoleState(), 0.0, 0
    for seconds, event in recording.events():  # noqa: B007 - the last one's time is told
        try:
            state = update(state, event)
        except Exception as error:  # noqa: BLE001 - anybody wrote it: what is not true of it shows here
            recording.failed(error)
            break
        events += 1
    return {
        "recording": recording.header,
        "whole": recording.is_whole,
        "ended": recording.ended,
        "line": recording.line,
        "byte": recording.byte,
        "unknown": dict(recording.unknown),
        "events": events,
        "seconds": round(seconds, 3),
        "state": summary(state),
    }


def _lines(told: dict[str, Any]) -> Iterator[str]:
    state, simulated = told["state"], " SIMULATED" if told["state"]["simulated"] else ""
    yield f"REPLAY of {state['node']}{simulated}: {told['events']} events, {format_seconds(told['seconds'])}"
    yield f"recording: {told['ended']}"
    gpus = ", ".join(f"{count} {name}" for name, count in state["gpus"].items())
    yield f"link {state['link']}; GPUs {gpus or 'unread'}"
    if state["action"]["title"]:
        yield f"{state['action']['title']}: {state['action']['phase']} {state['action']['outcome']}".rstrip()
    for step in state["steps"]:
        yield f"  {step['id']}: {step['state']} {step['proof']}".rstrip()
    yield f"runs {len(state['runs'])}; verdict {state['verdict'] or 'none'}"
    if log := state["log"]:
        yield f"log {log['path']}: {log['rows']} rows, {log['records'] or 0} records, phase {log['phase'] or 'unread'}"
