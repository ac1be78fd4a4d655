"""kai run: the scheduler and its controllers, in a cluster."""

from __future__ import annotations

from typing import Any

import click

from kai.cli.connecting import cluster_options

EPILOG = """\b
Examples:
  kai run all                            everything, in one process
  kai run all --context staging          in the cluster of that context
  kai run scheduler --listen-address :8080 --log-json
  kai run pod-grouper queue-controller   two roles in one process

The kinds that it needs are installed by `kai install`. A server that cannot be
reached is exit status 3. SIGTERM ends it: bindings that are under way are
finished, and its leases are given up.
"""


@click.command("run", epilog=EPILOG)
@cluster_options
@click.argument("roles", metavar="ROLE...", nargs=-1, required=True)
@click.option(
    "--namespace", default="kai-scheduler", show_default=True, help="Where its leases are."
)
@click.option(
    "--scheduler-name",
    default="kai-scheduler",
    show_default=True,
    help="Pods with this schedulerName are placed.",
)
@click.option("--node-pool", default="", help="Shard: the value of the node pool label.")
@click.option("--nodepool-label-key", "node_pool_key", default=None, help="Key of that label.")
@click.option("--queue-label-key", default=None, help="Label that names a pod's queue.")
@click.option(
    "--config", metavar="FILE", help="Scheduler configuration, in the form of --scheduler-conf."
)
@click.option("--as-kai", is_flag=True, help="Decide as KAI does, also where it errs.")
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Hold leases, so that only one process writes.",
)
@click.option(
    "--listen-address",
    "listen",
    metavar="HOST:PORT",
    help="Serve /metrics, /healthz and /readyz there.",
)
@click.option("--metrics-namespace", default="kai", show_default=True, help="Prefix of metrics.")
@click.option(
    "--schedule-period",
    type=click.FloatRange(min=0),
    help="Least seconds from the end of one cycle to the next.",
)
@click.option("--log-json", is_flag=True, help="Log lines as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Log every cycle.")
def command(
    roles: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    log_json: bool,
    verbose: bool,
    schedule_period: float | None,
    node_pool_key: str | None,
    queue_label_key: str | None,
    **options: Any,
) -> int:
    """Schedule the pods of a cluster.

    Roles: scheduler (decides, binds, evicts, and says why), pod-grouper (puts
    pods into pod groups), pod-group-controller and queue-controller (statuses),
    or all.
    """
    from importlib.util import find_spec

    from kai.errors import InvalidInputError
    from kai.service import serve
    from kai.service.log import Log
    from kai.service.options import Options, roles_of

    if find_spec("aiohttp") is None or find_spec("prometheus_client") is None:
        raise InvalidInputError("this needs the extra 'cluster': pip install 'kai-sched[cluster]'")
    given = {
        "min_period": schedule_period,
        "node_pool_key": node_pool_key,
        "queue_label_key": queue_label_key,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    log = Log(as_json=log_json, level="debug" if verbose else "info")
    serve(
        Options(roles=roles_of(roles), **options), kubeconfig=kubeconfig, context=context, log=log
    )
    return 0
