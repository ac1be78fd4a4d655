"""The options of commands that connect to a cluster."""

from __future__ import annotations

import click

from kai.api import keys
from kai.cli.adding import added, with_default

cluster_options = added(
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig file [$KUBECONFIG, ~/.kube/config, or the pod's service account].",
    ),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig [the current one]."),
)

scheduler_options = added(
    with_default(
        "--scheduler-name",
        metavar="NAME",
        default=keys.SCHEDULER_NAME,
        help="Pods with this schedulerName get a pod group; other pods only if they name one.",
    ),
    click.option(
        "--node-pool", metavar="NAME", default="", help="Node pool: the value of that label."
    ),
    with_default(
        "--nodepool-label-key",
        "node_pool_key",
        metavar="KEY",
        default=keys.NODE_POOL_LABEL,
        help="Key of the node pool label.",
    ),
    with_default(
        "--queue-label-key",
        metavar="KEY",
        default=keys.QUEUE_LABEL,
        help="Key of the label that names a pod's queue.",
    ),
)
"""The options that select a scheduler's pods and nodes, named as in PlanningOptions."""
