"""The options of every command that speaks to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from kai.api import keys

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


def scheduler_options(command: Command) -> Command:
    """Which pods and nodes are a scheduler's: members of kai.service.options.Options by name."""
    for option in (
        click.option(
            "--queue-label-key",
            metavar="KEY",
            default=keys.QUEUE_LABEL,
            show_default=True,
            help="Label that names a pod's queue.",
        ),
        click.option(
            "--nodepool-label-key",
            "node_pool_key",
            metavar="KEY",
            default=keys.NODE_POOL_LABEL,
            show_default=True,
            help="Key of the node pool label.",
        ),
        click.option(
            "--node-pool", metavar="NAME", default="", help="Shard: the value of that label."
        ),
        click.option(
            "--scheduler-name",
            metavar="NAME",
            default=keys.SCHEDULER_NAME,
            show_default=True,
            help="Pods with this schedulerName get a pod group; others if they name one.",
        ),
    ):
        command = option(command)
    return command
