"""runs: the stored runs, newest first; what stands on one (tags, note, pin); one of them as a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli._journal import none_of, open_journal
from console.cli._shared import Options, emit, say, shared_options, show_plan
from console.units import format_number, format_rate, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.probe.stored import StoredRun
    from console.report.formats import Exported
    from console.store.journal import Journal
    from console.store.labels import RunLabels

FORMATS = ("markdown", "json", "script", "jsonl", "csv", "bench_serving", "guidellm", "md")


class _Runs(click.Group):
    """Lists where no sub-verb is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_bare = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        return super().parse_args(ctx, ["list", *args] if is_bare else args)


@click.group("runs", cls=_Runs)
def COMMAND() -> None:
    """List, label, delete or export stored probe runs. `runs` alone lists them.

    RUN is an id, the beginning of one, or @N for the N-th newest from @1.
    """


@COMMAND.command("list")
@click.option("--node", "of_node", help="Only runs on this node.")
@click.option("--search", default="", metavar="TEXT", help="Only runs that have all its words anywhere.")
@click.option("--tag", "tags", multiple=True, help="Only runs with this tag.")
@click.option("--deleted", is_flag=True, help="The deleted ones instead.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@shared_options
def _list(options: Options, of_node: str | None, limit: int, **wanted: Any) -> int:
    """List stored probe runs."""
    from console.cli import _run_table
    from console.store.labels import RunLabels

    with open_journal() as journal:
        runs, labels = journal.list_runs(of_node, limit=limit, **wanted), journal.labels(of_node)
        table = [] if options.as_json else _run_table.rows(journal, runs)
        if not runs:
            what = "deleted run" if wanted["deleted"] else "run"
            say(none_of(journal.count_runs(deleted=wanted["deleted"]), what, f"{what}s"))
    if options.as_json:
        emit(options, True, None, {"runs": [_json(run, labels.get(run.run_id, RunLabels())) for run in runs]})
    for line in table:
        click.echo(plain(line))
    return 0


@COMMAND.command("tag")
@click.argument("run")
@click.argument("tags", nargs=-1, required=True)
@shared_options
def _tag(options: Options, run: str, tags: tuple[str, ...]) -> int:
    """Put tags on a run."""
    return _label(options, run, f"tag with {', '.join(tags)}", lambda journal, run_id: journal.tag(run_id, tags))


@COMMAND.command("untag")
@click.argument("run")
@click.argument("tags", nargs=-1, required=True)
@shared_options
def _untag(options: Options, run: str, tags: tuple[str, ...]) -> int:
    """Take tags off a run."""
    return _label(options, run, f"untag {', '.join(tags)}", lambda journal, run_id: journal.untag(run_id, tags))


@COMMAND.command("note")
@click.argument("run")
@click.argument("text")
@shared_options
def _note(options: Options, run: str, text: str) -> int:
    """Put a note on a run in place of the one before; "" takes it off."""
    return _label(options, run, f"note: {text}", lambda journal, run_id: journal.set_note(run_id, text))


@COMMAND.command("pin")
@click.argument("run")
@shared_options
def _pin(options: Options, run: str) -> int:
    """Make a run the baseline of its node, wherever none is named."""
    return _label(options, run, "pin", lambda journal, run_id: journal.pin(run_id, time.time()))


@COMMAND.command("unpin")
@click.argument("run")
@shared_options
def _unpin(options: Options, run: str) -> int:
    """Take the pin off a run."""
    return _label(options, run, "unpin", lambda journal, run_id: journal.pin(run_id, None))


@COMMAND.command("delete")
@click.argument("run")
@shared_options
def _delete(options: Options, run: str) -> int:
    """Take a run out of every list. `runs undelete` brings it back."""
    code = _label(options, run, "delete", lambda journal, run_id: journal.delete(run_id, time.time()))
    if not (options.as_json or options.dry_run):
        say("nothing of it is removed: `runs undelete` brings it back")
    return code


@COMMAND.command("undelete")
@click.argument("run", default="")
@shared_options
def _undelete(options: Options, run: str) -> int:
    """Bring back a deleted run. Without RUN, that which was deleted last."""
    with open_journal() as journal:
        if options.dry_run:
            return _only_shown(options, journal.find_deleted(run), "undelete")
        run_id = journal.undelete(run)
    return _label(options, run_id, "undelete", lambda _journal, _run_id: None)


@COMMAND.command("export")
@click.argument("run")
@click.option("--format", "form", type=click.Choice(FORMATS), default="markdown", show_default=True)
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), help="A new file; without it, stdout.")
@shared_options
def _export(options: Options, run: str, form: str, path: Path | None) -> int:
    """Write a stored run as a file.

    A note with pictures (markdown), a shell script that measures it anew without this program
    (script), one object (json), raw traces (jsonl), a row a request (csv), or for other tools' readers.
    """
    from console.report.formats import export

    with open_journal() as journal:
        stored = journal.get_run(run)
        found = export(form, stored, journal.spool(stored.run_id), journal.context(stored))
    if path is not None:
        written = _write(path, found, dry_run=options.dry_run)
        say(f"{'would write' if options.dry_run else 'wrote'} {', '.join(written)}")
    if options.as_json:
        told = {"path": str(path)} if path is not None else {"text": found.text}
        emit(options, True, None, {"id": stored.run_id, "format": form, **told})
    elif path is None:
        click.echo(found.text, nl=False)
    return 0


def _label(options: Options, reference: str, what: str, change: Callable[[Journal, str], None]) -> int:
    """Change what stands on a run, and show it as it is then; `what` says it where it is only shown."""
    from console.store.labels import RunLabels

    with open_journal() as journal:
        run = journal.get_run(reference)
        if options.dry_run:
            return _only_shown(options, run.run_id, what)
        change(journal, run.run_id)
        labels = journal.labels(run.node).get(run.run_id, RunLabels())
    if options.as_json:
        emit(options, True, None, {"id": run.run_id, **_labels_json(labels)})
    else:
        click.echo(plain(_line(run, labels)))
    return 0


def _only_shown(options: Options, run_id: str, what: str) -> int:
    show_plan(options, [f"run {run_id}: {what}"], {"id": run_id}, None)
    return 0


def _json(run: StoredRun, labels: RunLabels) -> dict[str, Any]:
    return {**run.to_json(), **_labels_json(labels)}


def _labels_json(labels: RunLabels) -> dict[str, Any]:
    return {"tags": list(labels.tags), "note": labels.note, "pinned": labels.pinned}


def _line(run: StoredRun, labels: RunLabels) -> str:
    from console.cli import _run_table

    numbers = f"{format_rate(run.result.output_tok_s)} accept_len {format_number(run.result.accept_len)}"
    words = (_run_table.marks(run, labels), labels.note)
    return " ".join([run.run_id, _run_table.when(run), run.node, run.profile, numbers, *filter(None, words)])


def _write(path: Path, found: Exported, *, dry_run: bool) -> list[str]:
    """Write the file, and the pictures that it shows beside it. Raises Refused where one is there already."""
    from console import new_file

    pictures = {path.with_name(f"{path.stem}-{name}.svg"): svg for name, svg in found.pictures.items()}
    text = found.text_for(path.stem)
    for each in (path, *pictures):
        new_file.require_free(each)
    for target, content in () if dry_run else {path: text, **pictures}.items():
        new_file.write(target, content, mode=0o777 if found.executable else 0o666)
    return [str(each) for each in (path, *pictures)]
