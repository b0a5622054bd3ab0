"""runs, runs export RUN: the stored runs, newest first, and one of them as a file."""

from __future__ import annotations

import time
from pathlib import Path

import click

from console.cli._shared import Options, emit, say, shared_options
from console.units import format_number, format_rate, plain

FORMATS = ("md", "jsonl", "csv", "bench_serving", "guidellm")


class _Runs(click.Group):
    """Lists where no sub-verb is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_bare = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        return super().parse_args(ctx, ["list", *args] if is_bare else args)


@click.group("runs", cls=_Runs)
def COMMAND() -> None:
    """List stored probe runs (`runs` alone does), or export one."""


@COMMAND.command("list")
@click.option("--node", "of_node", help="Only runs on this node.")
@click.option("--limit", type=int, default=50, show_default=True)
@shared_options
def _list(options: Options, of_node: str | None, limit: int) -> int:
    """List stored probe runs."""
    from console import paths
    from console.store.journal import Journal

    with Journal(paths.locate().database) as journal:
        runs = journal.list_runs(of_node, limit=limit)
    if options.as_json:
        emit(options, True, None, {"runs": [run.to_json() for run in runs]})
        return 0
    for run in runs:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.at))
        simulated = " SIMULATED" if run.fingerprint.simulated else ""
        valid = "" if run.result.valid else " INVALID"
        numbers = f"{format_rate(run.result.output_tok_s)} accept_len {format_number(run.result.accept_len)}"
        click.echo(plain(f"{run.run_id} {when} {run.node} {run.profile} {numbers}{valid}{simulated}"))
    return 0


@COMMAND.command("export")
@click.argument("run")
@click.option("--format", "form", type=click.Choice(FORMATS), default="md", show_default=True)
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), help="A new file; without it, stdout.")
@shared_options
def _export(options: Options, run: str, form: str, path: Path | None) -> int:
    """Write a stored run as a note (md), raw traces (jsonl), a row a request (csv), or for other tools' readers."""
    from console import paths
    from console.report.formats import export
    from console.store.journal import Journal

    with Journal(paths.locate().database) as journal:
        stored = journal.get_run(run)
        text = export(form, stored, journal.spool(stored.run_id))
    if path is not None:
        _write_new(path, text)
        say(f"wrote {path}")
    if options.as_json:
        told = {"path": str(path)} if path is not None else {"text": text}
        emit(options, True, None, {"id": stored.run_id, "format": form, **told})
    elif path is None:
        click.echo(text, nl=False)
    return 0


def _write_new(path: Path, text: str) -> None:
    from console.errors import Refused, UsageError

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Refused(f"{path} is there already", "Nothing is written over: choose another name.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
