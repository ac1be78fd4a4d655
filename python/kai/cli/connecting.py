"""The options of commands that connect to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from kai.api import keys

Command = TypeVar("Command", bound=Callable[..., object])


def cluster_options(command: Command) -> Command:
    """Adds `--kubeconfig FILE` and `--context NAME`."""
    for option in (
        click.option(
            "--context", metavar="NAME", help="Context of the kubeconfig [the current one]."
        ),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            help="Kubeconfig file [$KUBECONFIG, ~/.kube/config, or the pod's service account].",
        ),
    ):
        command = option(command)
    return command


def scheduler_options(command: Command) -> Command:
    """Adds the options that select a scheduler's pods and nodes, named as in PlanningOptions."""
    for option in (
        click.option(
            "--queue-label-key",
            metavar="KEY",
            default=keys.QUEUE_LABEL,
            show_default=True,
            help="Key of the label that names a pod's queue.",
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
            "--node-pool", metavar="NAME", default="", help="Node pool: the value of that label."
        ),
        click.option(
            "--scheduler-name",
            metavar="NAME",
            default=keys.SCHEDULER_NAME,
            show_default=True,
            help="Pods with this schedulerName get a pod group; other pods only if they name one.",
        ),
    ):
        command = option(command)
    return command
