"""kai run: the scheduler and its controllers, in a cluster."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from kai.cli.connecting import cluster_options, scheduler_options
from kai.cli.sharing import sharing_options
from kai.cli.work import policies_in, policy_option

EPILOG = """\b
Examples:
  kai run all                            everything, in one process
  kai run all --context staging          in the cluster of that context
  kai run scheduler --listen-address :8080 --log-json
  kai run pod-grouper queue-controller   two roles in one process
  kai run scheduler --shadow --listen-address :8080    beside KAI; see /shadow

\b
Programs that are no roles, with options of their own:
  kai run numa-exporter --help           writes NUMA placements on a node's pods
  kai run reservation --help             the program in pods that hold a GPU

The kinds that it needs are installed by `kai install`. A server that cannot be
reached is exit status 3. SIGTERM ends it: bindings that are under way are
finished, and its leases are given up.
"""


def pairs(_: click.Context, option: click.Parameter, text: str | None) -> dict[str, str]:
    """ "a=b,c=d" as a dict."""
    found = {}
    for each in text.split(",") if text else ():
        name, sign, value = each.partition("=")
        if not name or not sign:
            raise click.BadParameter(f"{each!r} is not of the form LABEL=NAME", param=option)
        found[name] = value
    return found


PROGRAMS = {"numa-exporter": "numa_exporter", "reservation": "reservation"}
"""What is no role: by name, the module of kai.cli that has the command."""


class _Run(click.Command):
    """`kai run NAME` of one of PROGRAMS is a command of its own, with other options."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args and args[0] in PROGRAMS:
            name, *rest = args
            command: click.Command = import_module(f"kai.cli.{PROGRAMS[name]}").command
            return command.make_context(f"{info_name} {name}", rest, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("run", cls=_Run, epilog=EPILOG)
@cluster_options
@click.argument("roles", metavar="ROLE...", nargs=-1, required=True)
@click.option(
    "--namespace", default="kai-scheduler", show_default=True, help="Where its leases are."
)
@scheduler_options
@click.option(
    "--config", metavar="FILE", help="Scheduler configuration, in the form of --scheduler-conf."
)
@click.option("--as-kai", is_flag=True, help="Decide as KAI does, also where it errs.")
@policy_option
@click.option(
    "--allow-python-policies",
    is_flag=True,
    help="Run --policy in this scheduler: one that is slow or fails stops all decisions.",
)
@click.option(
    "--binding",
    type=click.Choice(["direct", "bind-requests"]),
    default="direct",
    show_default=True,
    help="How pods are bound: direct, or by BindRequests for clusters where other tools read them.",
)
@click.option(
    "--eviction",
    type=click.Choice(["delete", "evict"]),
    default="delete",
    show_default=True,
    help="How victims leave: delete as KAI does, evict minds PodDisruptionBudgets.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Hold leases, so that only one process writes.",
)
@click.option(
    "--leader-elect-lease-duration",
    "lease_seconds",
    type=click.FloatRange(min=1),
    help="Seconds after which another process may take a lease that is not renewed.",
)
@click.option(
    "--leader-elect-renew-deadline",
    "renew_seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds without a renewal after which the leader stops; less than the lease's.",
)
@click.option(
    "--leader-elect-retry-period",
    "retry_seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds between renewals; less than the renew deadline.",
)
@click.option(
    "--listen-address",
    "listen",
    metavar="HOST:PORT",
    help="Serve /metrics, /healthz and /readyz there, and /get-snapshot to this machine.",
)
@click.option("--metrics-namespace", default="kai", show_default=True, help="Prefix of metrics.")
@click.option(
    "--queue-label-to-metric-label",
    metavar="LABEL=NAME,...",
    callback=pairs,
    help="Labels of queues that their metrics have as well, under these names.",
)
@click.option(
    "--queue-label-to-default-metric-value",
    metavar="LABEL=VALUE,...",
    callback=pairs,
    help="For queues without such a label.",
)
@click.option(
    "--schedule-period",
    type=click.FloatRange(min=0),
    help="Least seconds from the end of one cycle to the next.",
)
@sharing_options
@click.option(
    "--volume-binding-timeout-seconds",
    "volume_seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="How long the volumes of a pod may take before it is planned again.",
)
@click.option(
    "--shadow",
    is_flag=True,
    help="Write nothing; compare decisions with those of the scheduler that runs there.",
)
@click.option(
    "--shadow-patience",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds after which a decision that the other scheduler does not take is missed.",
)
@click.option(
    "--shadow-report",
    metavar="FILE",
    help="Write there at the end what was found: .html for a page, else JSON.",
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
    lease_seconds: float | None,
    renew_seconds: float | None,
    retry_seconds: float | None,
    policy: tuple[str, ...],
    **options: Any,
) -> int:
    """Schedule the pods of a cluster.

    Roles: scheduler (decides, binds, evicts, and says why), binder (carries out
    BindRequests), pod-grouper (puts pods into pod groups), pod-group-controller
    and queue-controller (statuses), or all.
    """
    from kai.service import serve
    from kai.service.live import need_cluster_extra
    from kai.service.log import Log
    from kai.service.options import Options, roles_of

    for name in PROGRAMS:
        if name in roles:
            raise click.UsageError(f"{name} is no role: write 'kai run {name}' first")
    need_cluster_extra()
    given = {
        "min_period": schedule_period,
        "lease_seconds": lease_seconds,
        "renew_seconds": renew_seconds,
        "retry_seconds": retry_seconds,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    options["policies"] = policies_in(policy)
    log = Log(as_json=log_json, level="debug" if verbose else "info")
    serve(
        Options(roles=roles_of(roles, PROGRAMS), **options),
        kubeconfig=kubeconfig,
        context=context,
        log=log,
    )
    return 0
