"""The command ``kai``: one file per command, each imported when it is used.

Exit status: 0 done; 1 the answer is no; 2 bad input; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from kai import __version__
from kai.errors import KaiError, NotFoundError

# What `kai --help` says of each: it imports none of them.
COMMANDS = {
    "bench": "Measure loading and planning on made-up clusters.",
    "config": "Show the configuration that is in force.",
    "demo": "Watch a small cluster being planned; needs no cluster and no file.",
    "lint": "Find what KAI would refuse or ignore.",
    "plan": "Plan one cycle: who gets which node, who waits and why.",
    "queues": "Show the fair share of every queue.",
    "settings": "Write the settings of a pod for an orchestrator.",
    "verify": "Run cases with known answers and report agreement.",
}

DONE, ANSWER_IS_NO, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class Suggesting(click.Group):
    """Offers the nearest command for one that does not exist."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from kai.api.nearest import did_you_mean

            said = f"there is no command {args[0]!r}"
            hint = did_you_mean(args[0], self.list_commands(ctx))
            # `kai cluster.zip` is what people try first.
            if not hint and ctx.parent is None and ("/" in args[0] or "." in args[0]):
                hint = f"; try 'kai plan {args[0]}'"
            raise click.UsageError(said + hint, error.ctx) from None


class _Commands(Suggesting):
    """Finds a command `x` as `command` of the module `kai.cli.x`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"kai.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # Whoever read our output has seen enough (`| head`): not worth a word.
            _forget_standard_output()
            raise click.exceptions.Exit(DONE) from None


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Start with `kai demo`, then try `kai plan` on a snapshot or on manifests of yours.",
)
@click.version_option(__version__, prog_name="kai")
def cli() -> None:
    """Who gets which GPU, and why the others wait.

    kai plans a Kubernetes cluster from a file: a snapshot of KAI Scheduler, or
    plain manifests. No cluster is touched.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit status; a user's mistake is one sentence."""
    try:
        result = cli.main(
            args=None if argv is None else list(argv), prog_name="kai", standalone_mode=False
        )
        return result if isinstance(result, int) else DONE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("kai: interrupted", err=True)
        _leave_running_work()
        return INTERRUPTED
    except KaiError as error:
        click.echo(f"kai: {error}", err=True)
        return ANSWER_IS_NO if isinstance(error, NotFoundError) else BAD_INPUT


def _forget_standard_output() -> None:
    """So that Python's own flush at exit does not complain about the closed pipe."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave_running_work() -> None:
    """Ends the process at once if a plan is still being made: C++ does not hear of Ctrl-C."""
    import threading

    from kai.cli.work import THREAD_NAME

    if any(thread.name == THREAD_NAME for thread in threading.enumerate()):
        import os

        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
