"""The command line: one verb a file, no logic of its own. A verb's file exposes COMMAND.

@click.command("verb")
@node_argument
@shared_options
def COMMAND(node: str, options: Options) -> None: ...
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import click

from console.cli import _examples, _pipe
from console.cli._usage import told_as_json

_WORDS = "spec_console.words"


@functools.cache
def _names() -> list[str]:
    """Asked for each verb of --help."""
    names = sorted(each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return [name for name in names if not name.startswith("_")]


class _Verbs(click.Group):
    """Finds a verb by its file; only the one that is called is imported (and all for --help)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return _names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"console.cli.{cmd_name}").COMMAND
        _examples.add_to(command, cmd_name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = [*args]
        with told_as_json(ctx.meta[_WORDS]):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb, whose words are read here too."""
        with told_as_json(ctx.meta[_WORDS]):
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from console.validation import nearest

            near = nearest(args[0], self.list_commands(ctx))
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near}?", ctx) from None


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="spec-console")
def main() -> None:
    """Free GPUs, patch, launch, probe and compare SGLang on a GPU node.

    NODE is an ssh name, `demo` (the embedded node: simulated) or `local` (this machine). Exit codes: 0 done,
    1 negative result, 2 usage or profile, 3 unreachable, 4 agent not started, 5 refused, 6 server died, 7 node lost,
    130 Ctrl-C.
    """
    _pipe.go_on_unheard()
