"""The options of every command that speaks to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])


def cluster_options(command: Command) -> Command:
    """`--kubeconfig FILE` and `--context NAME`."""
    for option in (
        click.option(
            "--context", metavar="NAME", help="Context of the kubeconfig [the current one]."
        ),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            help="Kubeconfig file [$KUBECONFIG, ~/.kube/config, or the pod's own account].",
        ),
    ):
        command = option(command)
    return command
