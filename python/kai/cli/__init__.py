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

# The lines of `kai --help`, kept here because it imports no command.
COMMANDS = {
    "bench": "Measure loading and planning times on generated clusters.",
    "compare": "Simulate a workload with two configurations: which is better?",
    "config": "Show the configuration in effect, with every default.",
    "demo": "Plan a small built-in cluster; needs no cluster and no file.",
    "explain": "Explain what one pod of a live cluster waits for.",
    "gpus": "Show who uses how much of a share of a GPU, under the guard.",
    "groups": "Show the waiting pod groups in scheduling order, and why.",
    "install": "Print the manifests that install kai: CRDs, RBAC, programs.",
    "lint": "Find settings that KAI would refuse or ignore.",
    "nodes": "Show free GPUs and free parts of GPUs, by class of node.",
    "plan": "Plan one cycle: which pods start where, which wait, and why.",
    "queues": "Show each queue's fair share, and whether it is over or under it.",
    "run": "Run the scheduler and its controllers for a cluster.",
    "runtime": "Say inside a container whether its share of a GPU is a limit.",
    "settings": "Print the pod settings for an orchestrator.",
    "simulate": "Simulate a workload in virtual time.",
    "snapshot": "Write a snapshot of a live cluster to a file.",
    "verify": "Run cases with expected decisions and report differences.",
}


class Suggesting(click.Group):
    """A group that suggests the nearest command when a name is unknown."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from kai.api.nearest import did_you_mean

            message = f"there is no command {args[0]!r}"
            hint = did_you_mean(args[0], self.list_commands(ctx))
            # Many people try `kai cluster.zip` first.
            if not hint and ctx.parent is None and ("/" in args[0] or "." in args[0]):
                hint = f"; try 'kai plan {args[0]}'"
            raise click.UsageError(message + hint, error.ctx) from None


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
    epilog="Start with `kai demo`, then try `kai plan` on a snapshot or on your manifests.",
)
@click.version_option(__version__, prog_name="kai")
def cli() -> None:
    """A GPU scheduler for Kubernetes: which pods get which GPUs, and why the
    others wait.

    kai plans a cluster from files (a snapshot of KAI Scheduler, or Kubernetes
    manifests) or from a live cluster (--live). Only `kai run` changes a cluster.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit status; an error prints one sentence."""
    with standard_streams():
        arguments = None if argv is None else list(argv)
        return guard(lambda: cli.main(arguments, prog_name="kai", standalone_mode=False))
