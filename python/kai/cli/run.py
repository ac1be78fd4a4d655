"""``kai run``: the scheduler and its controllers, in a cluster."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from kai.cli.adding import flag, metrics_namespace_option, with_default
from kai.cli.connecting import cluster_options, scheduler_options
from kai.cli.kai_flags import (
    NOTES,
    Seconds,
    Translation,
    log_notes,
    parameter_options,
    parameters_of,
    plugins,
)
from kai.cli.reviewing import trial_options, webhooks_in
from kai.cli.sharing import sharing_options
from kai.cli.work import as_kai_option, policies_in, policy_option

if TYPE_CHECKING:
    from kai.service.admission import AdmissionOptions
    from kai.service.options import Options

EPILOG = """\b
Examples:
  kai run all                            everything, in one process
  kai run all --context staging          in the cluster of that context
  kai run scheduler --listen-address :8080 --log-json
  kai run pod-grouper queue-controller   two roles in one process
  kai run scheduler --shadow --listen-address :8080    beside KAI; see /shadow
  kai run all --webhooks --webhook-url https://192.0.2.7:9443    for a trial

\b
More programs, which are not roles and have their own options:
  kai run admission --help               reviews new objects (webhooks)
  kai run chart-hook --help              runs in the hooks of the Helm chart
  kai run gpu-auditor --help             finds overuse of a node's GPUs
  kai run numa-exporter --help           writes NUMA placements on a node's pods
  kai run reservation --help             runs in the pods that hold a shared GPU

The cluster needs the CRDs that `kai install` prints. The exit status is 3 if the
API server cannot be reached. On SIGTERM, `kai run` finishes the bindings that it
has begun, releases its leases and ends.
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


PROGRAMS = {
    "admission": "admission",
    "chart-hook": "chart_hook",
    "gpu-auditor": "gpu_auditor",
    "guard-files": "guard_files",
    "numa-exporter": "numa_exporter",
    "reservation": "reservation",
}
"""Programs that are not roles: the module of kai.cli with the command, by name."""


class _Run(click.Command):
    """Makes `kai run NAME` a separate command, with other options, if NAME is in PROGRAMS."""

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
            translation = Translation(command, rest)
            named = f"{info_name} {name}"
            context = command.make_context(named, translation.args, parent, **extra)
        else:
            translation = Translation(self, args)
            context = super().make_context(info_name, translation.args, parent, **extra)
        context.meta[NOTES] = translation.notes
        return context


@click.command("run", cls=_Run, epilog=EPILOG)
@cluster_options
@click.argument("roles", metavar="ROLE...", nargs=-1, required=True)
@with_default("--namespace", default="kai-scheduler", help="Namespace of its leases.")
@scheduler_options
@click.option(
    "--config",
    metavar="FILE",
    help="Scheduler configuration, in the format of KAI's --scheduler-conf.",
)
@as_kai_option
@policy_option
@flag(
    "--allow-python-policies",
    help="Allow --policy here: a policy that is slow or fails stops all decisions.",
)
@with_default(
    "--binding",
    type=click.Choice(["direct", "bind-requests"]),
    default="direct",
    help="direct: the scheduler binds pods; bind-requests: it creates BindRequests for a binder.",
)
@with_default(
    "--eviction",
    type=click.Choice(["delete", "evict"]),
    default="delete",
    help="delete: delete victims, as KAI does; evict: respect PodDisruptionBudgets.",
)
@with_default(
    "--leader-elect/--no-leader-elect",
    default=True,
    help="Hold leases, so that only one process writes.",
)
@click.option(
    "--leader-elect-lease-duration",
    "lease_seconds",
    type=Seconds(min=1),
    help="Seconds after which another process may take an unrenewed lease.",
)
@click.option(
    "--leader-elect-renew-deadline",
    "renew_seconds",
    type=Seconds(min=0, min_open=True),
    help="Seconds without a renewal after which the leader stops; less than the lease duration.",
)
@click.option(
    "--leader-elect-retry-period",
    "retry_seconds",
    type=Seconds(min=0, min_open=True),
    help="Seconds between renewals; less than the renew deadline.",
)
@click.option(
    "--listen-address",
    "listen",
    metavar="HOST:PORT,...",
    help="Serve /metrics, /healthz and /readyz there, and /get-snapshot to this machine.",
)
@click.option(
    "--explain-address",
    "explain",
    metavar="HOST:PORT,...",
    help="Serve /explain/NAMESPACE/POD there, to callers with a token who may get that pod.",
)
@metrics_namespace_option
@click.option(
    "--queue-label-to-metric-label",
    metavar="LABEL=NAME,...",
    callback=pairs,
    help="Queue labels to add to queue metrics, under these names.",
)
@click.option(
    "--queue-label-to-default-metric-value",
    metavar="LABEL=VALUE,...",
    callback=pairs,
    help="Value of such a metric label if the queue lacks the label.",
)
@click.option(
    "--schedule-period",
    "min_period",
    type=Seconds(min=0),
    help="Minimum seconds from the end of one cycle to the next.",
)
@parameter_options
@with_default(
    "--compare-period",
    type=Seconds(min=0),
    default=600.0,
    help="Seconds between comparisons of what the watches have shown with the server; 0: none.",
)
@sharing_options
@trial_options
@click.option(
    "--plugins",
    metavar="JSON",
    callback=plugins,
    help="Configuration of KAI's binder plugins, for a command line of KAI's operator.",
)
@with_default(
    "--volume-binding-timeout-seconds",
    "volume_seconds",
    type=Seconds(min=0, min_open=True),
    default=120.0,
    help="Seconds to wait for the volumes of a pod before it is planned again.",
)
@flag(
    "--shadow",
    help="Write nothing; compare the decisions with those of the scheduler in the cluster.",
)
@with_default(
    "--shadow-patience",
    type=Seconds(min=0, min_open=True),
    default=10.0,
    help="Seconds after which a decision counts as missed by the other scheduler.",
)
@click.option(
    "--shadow-report",
    metavar="FILE",
    help="Write the findings there at the end: HTML if FILE ends in .html, else JSON.",
)
@flag("--log-json", help="Write log lines as JSON.")
@flag("-v", "--verbose", help="Log every cycle.")
def command(
    kubeconfig: str | None,
    context: str | None,
    log_json: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Run the scheduler and its controllers for a cluster.

    Roles: scheduler (decides, binds, evicts, and writes reasons), binder (carries
    out BindRequests), pod-grouper (assigns pods to pod groups),
    pod-group-controller and queue-controller (write statuses), or all.
    """
    from kai.service import serve

    chosen, webhooks = options_in(**options)
    from kai.service.log import Log

    log = Log(as_json=log_json, level="debug" if verbose else "info")
    log_notes(log)
    serve(chosen, kubeconfig=kubeconfig, context=context, log=log, webhooks=webhooks)
    return 0


def options_in(
    *, roles: tuple[str, ...], policy: tuple[str, ...], plugins: dict[str, Any], **options: Any
) -> tuple[Options, AdmissionOptions | None]:
    """The options of the roles and of the webhooks, from the parameters of the command, in its
    context. Raises UsageError and KaiError for values that cannot be used."""
    from kai.api.extras import need_cluster_extra
    from kai.service.options import Options, roles_of

    for name in PROGRAMS:
        if name in roles:
            raise click.UsageError(f"{name} is not a role: run it alone, as 'kai run {name}'")
    need_cluster_extra()
    for name in ("min_period", "lease_seconds", "renew_seconds", "retry_seconds"):
        if options[name] is None:
            del options[name]
    options |= plugins
    options["policies"] = policies_in(policy)
    options["params"] = parameters_of(options)
    webhooks = webhooks_in(options)
    return Options(roles=roles_of(roles, PROGRAMS), **options), webhooks
