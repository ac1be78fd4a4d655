"""``kai run admission``: the webhooks of pods, queues, pod groups and topologies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from kai.api import keys, webhooks
from kai.cli.adding import flag, with_default
from kai.cli.connecting import cluster_options
from kai.cli.kai_flags import log_notes
from kai.cli.reviewing import (
    OF_GUARD,
    checked_address,
    need_cryptography,
    review_options,
    rules_of,
)

if TYPE_CHECKING:
    from kai.service.admission import AdmissionOptions

EPILOG = """\b
Examples:
  kai run admission --gpu-sharing-enabled
  kai run admission --failure-policy Queue=Ignore,PodGroup=Ignore
  kai run admission --warn queue-parent-unknown

\b
`kai install` prints its Deployment, Service and webhook configurations. It
writes the certificate authorities and the failure policies into the webhook
configurations, and keeps the certificates in a Secret. All replicas answer.
"""

KINDS = tuple(dict.fromkeys(each.kind for each in webhooks.WEBHOOKS))
DAY_S = 24 * 3600.0
OF_RULES = (
    "scheduler", "sharing", "hami", *OF_GUARD, "blocks_devices", "runtime_class", "queue_label",
    "as_kai",
)  # fmt: skip


def policies(_: click.Context, option: click.Parameter, text: str | None) -> dict[str, str]:
    """ "Pod=Ignore,Queue=Fail" as a dict."""
    found = {}
    for each in text.split(",") if text else ():
        kind, _sign, policy = each.partition("=")
        if kind not in KINDS or policy not in ("Fail", "Ignore"):
            raise click.BadParameter(
                f"{each!r} is not of the form KIND=Fail or KIND=Ignore, where KIND is"
                f" {', '.join(KINDS)}",
                param=option,
            )
        if kind in found:
            raise click.BadParameter(f"{text!r} has {kind} twice", param=option)
        found[kind] = policy
    return found


def days(_: click.Context, option: click.Parameter, number: float) -> float:
    """A range of click admits NaN."""
    if math.isnan(number):
        raise click.BadParameter("nan is not a number of days", param=option)
    return number


@click.command("admission", epilog=EPILOG)
@cluster_options
@with_default(
    "--namespace",
    metavar="NAME",
    default="kai-scheduler",
    help="Namespace of its Service and Secret.",
)
@with_default(
    "--scheduler-name",
    "scheduler",
    metavar="NAME",
    default=keys.SCHEDULER_NAME,
    help="Pods with this schedulerName are reviewed; others are left alone.",
)
@with_default(
    "--queue-label-key",
    "queue_label",
    metavar="KEY",
    default=keys.QUEUE_LABEL,
    help="Label that names a pod's queue.",
)
@click.option(
    "--gpu-sharing-enabled/--no-gpu-sharing-enabled",
    "sharing",
    help="Admit pods that request a part of a GPU [off, as in KAI].",
)
@flag("--hami-core-enabled", "hami", help="Give them the memory limit that HAMi-core reads.")
@review_options
@flag("--as-kai", help="KAI's verdicts and texts, without further checks.")
@click.option(
    "--failure-policy",
    "policies",
    metavar="KIND=POLICY,...",
    callback=policies,
    help="What happens while no replica answers: Fail (refuse) or Ignore (admit) [Fail].",
)
@with_default(
    "--service-name",
    "service",
    metavar="NAME",
    default=webhooks.SERVICE,
    help="Service of the webhooks.",
)
@with_default(
    "--secret-name",
    "secret",
    metavar="NAME",
    default=webhooks.SECRET,
    help="Secret of the certificates; it is created, or adopted from KAI.",
)
@with_default(
    "--certificate-days",
    "days",
    metavar="DAYS",
    type=click.FloatRange(min=0.001, max=3650),
    callback=days,
    default=365.0,
    help="Lifetime of a certificate; it is replaced when a third is left.",
)
@click.option(
    "--listen-address",
    "listen",
    metavar="HOST:PORT,...",
    default="",
    help="Serve /metrics, /healthz and /readyz there.",
)
@flag("--log-json", help="Write log lines as JSON.")
@flag("-v", "--verbose", help="Log more.")
def command(
    kubeconfig: str | None,
    context: str | None,
    log_json: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Review new pods, queues, pod groups and topologies for the API server.

    Pods that request a part of a GPU get what their containers need to use it.
    Objects that KAI refuses are refused, with KAI's texts. Queues are also
    refused if they are their own ancestor, if their parent does not exist, if
    their quota is above their limit, if a duration or an amount is not valid, or
    if they are deleted although they have pods or child queues.
    """
    from kai.service import review_objects

    chosen = options_in(**options)  # before a connection is needed
    from kai.service.log import Log

    log = Log("admission", as_json=log_json, level="debug" if verbose else "info")
    log_notes(log)
    review_objects(chosen, kubeconfig=kubeconfig, context=context, log=log)
    return 0


def options_in(
    *, refuse: frozenset[str], warn: frozenset[str], days: float, **members: Any
) -> AdmissionOptions:
    """The options of the webhooks, from the parameters of the command: `members` are those of Rules
    and of AdmissionOptions. Raises UsageError and KaiError for values that cannot be used."""
    from kai.api.extras import need_cluster_extra
    from kai.api.names import problem_of_label, problem_of_name
    from kai.errors import InvalidInputError

    need_cluster_extra()
    need_cryptography("kai run admission")
    from kai.service.admission import AdmissionOptions
    from kai.service.pages import addresses_in

    members["webhook_address"] = checked_address(members["webhook_address"])
    for option, name, problem in (
        ("--namespace", members["namespace"], problem_of_label),
        ("--service-name", members["service"], problem_of_label),
        ("--secret-name", members["secret"], problem_of_name),
    ):
        if why := problem(name):
            raise InvalidInputError(f"{option}: {why}")
    if members["listen"]:
        addresses_in("--listen-address", members["listen"])
    rules = rules_of(refuse, warn, **{name: members.pop(name) for name in OF_RULES})
    return AdmissionOptions(rules=rules, lifetime_s=days * DAY_S, **members)
