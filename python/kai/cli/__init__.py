"""The command ``kai``: one file per command, each imported when it is used.

Exit status: 0 done; 1 the answer is no; 2 bad input; 3 no API server answers; 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import click

from kai import __version__
from kai.cli.failures import ANSWER_IS_NO, BAD_INPUT, DONE, INTERRUPTED, guard, standard_streams

__all__ = ["ANSWER_IS_NO", "BAD_INPUT", "DONE", "INTERRUPTED", "Suggesting", "cli", "main"]

# What `kai --help` says of each: it imports none of them.
COMMANDS = {
    "bench": "Measure loading and planning on made-up clusters.",
    "compare": "Simulate a workload with two configurations: which one is better?",
    "config": "Show the configuration that is in force.",
    "demo": "Watch a small cluster being planned; needs no cluster and no file.",
    "explain": "Follow one pod of a live cluster: what it waits for, and what to do.",
    "groups": "Show which waiting pod groups come next, and why in this order.",
    "install": "Print the manifests that a cluster needs: CRDs, rights, programs.",
    "lint": "Find what KAI would refuse or ignore.",
    "nodes": "Show free GPUs and parts of GPUs, by class of node.",
    "plan": "Plan one cycle: who gets which node, who waits and why.",
    "queues": "Show the fair share of every queue, and who is over or under it.",
    "run": "Schedule the pods of a cluster.",
    "settings": "Write the settings of a pod for an orchestrator.",
    "simulate": "Work out what queues get, without a cluster.",
    "snapshot": "Write a snapshot of a live cluster to a file.",
    "verify": "Run cases with known answers and report agreement.",
}


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


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Start with `kai demo`, then try `kai plan` on a snapshot or on manifests of yours.",
)
@click.version_option(__version__, prog_name="kai")
def cli() -> None:
    """Who gets which GPU, and why the others wait.

    kai plans a Kubernetes cluster: from a file, which is a snapshot of KAI
    Scheduler or plain manifests, or live, with --live. Only `kai run` changes one.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit status; what goes wrong is one sentence."""
    with standard_streams():
        arguments = None if argv is None else list(argv)
        return guard(lambda: cli.main(arguments, prog_name="kai", standalone_mode=False))
