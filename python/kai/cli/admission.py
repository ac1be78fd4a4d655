"""``kai run admission``: the webhooks of pods, queues, pod groups and topologies."""

from __future__ import annotations

import click

from kai.api import keys, webhooks
from kai.cli.connecting import cluster_options
from kai.cli.kai_flags import log_notes

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
        found[kind] = policy
    return found


def codes(_: click.Context, option: click.Parameter, text: str | None) -> frozenset[str]:
    """Codes of `kai lint`, or their first words."""
    from kai.errors import InvalidRequestError
    from kai.linting.codes import matching

    try:
        return matching(text.split(",")) if text else frozenset()
    except InvalidRequestError as error:
        raise click.BadParameter(str(error), param=option) from None


@click.command("admission", epilog=EPILOG)
@cluster_options
@click.option(
    "--namespace",
    metavar="NAME",
    default="kai-scheduler",
    show_default=True,
    help="Namespace of its Service and Secret.",
)
@click.option(
    "--scheduler-name",
    metavar="NAME",
    default=keys.SCHEDULER_NAME,
    show_default=True,
    help="Pods with this schedulerName are reviewed; others are left alone.",
)
@click.option(
    "--gpu-sharing-enabled/--no-gpu-sharing-enabled",
    "sharing",
    help="Admit pods that request a part of a GPU [off, as in KAI].",
)
@click.option(
    "--gpu-fraction-runtime-class-name",
    "--gpu-pod-runtime-class-name",
    "runtime_class",
    metavar="NAME",
    default="nvidia",
    show_default=True,
    help='Runtime class of pods with a part of a GPU that name none; "": none.',
)
@click.option(
    "--hami-core-enabled",
    "hami",
    is_flag=True,
    help="Give them the memory limit that HAMi-core reads.",
)
@click.option(
    "--block-nvidia-visible-devices",
    "blocks_devices",
    is_flag=True,
    help="Hide GPUs from containers without one, and refuse containers that choose GPUs.",
)
@click.option(
    "--refuse",
    metavar="CODES",
    callback=codes,
    help="Also refuse objects with these findings of kai lint.",
)
@click.option(
    "--warn",
    metavar="CODES",
    callback=codes,
    help="Warn of these findings that KAI does not have, instead of refusing the object.",
)
@click.option("--as-kai", is_flag=True, help="KAI's verdicts and texts, without further checks.")
@click.option(
    "--failure-policy",
    "policies",
    metavar="KIND=POLICY,...",
    callback=policies,
    help="What happens while no replica answers: Fail (refuse) or Ignore (admit) [Fail].",
)
@click.option(
    "--service-name",
    "service",
    metavar="NAME",
    default=webhooks.SERVICE,
    show_default=True,
    help="Service of the webhooks.",
)
@click.option(
    "--secret-name",
    "secret",
    metavar="NAME",
    default=webhooks.SECRET,
    show_default=True,
    help="Secret of the certificates; it is created, or adopted from KAI.",
)
@click.option(
    "--certificate-days",
    "days",
    metavar="DAYS",
    type=click.FloatRange(min=0.001, max=3650),
    default=365.0,
    show_default=True,
    help="Lifetime of a certificate; it is replaced when a third is left.",
)
@click.option(
    "--webhook-addr",
    "webhook_address",
    metavar="HOST:PORT",
    default=f":{webhooks.PORT}",
    show_default=True,
    help="Answer reviews there.",
)
@click.option(
    "--listen-address",
    "listen",
    metavar="HOST:PORT,...",
    default="",
    help="Serve /metrics, /healthz and /readyz there.",
)
@click.option("--log-json", is_flag=True, help="Write log lines as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
def command(
    kubeconfig: str | None,
    context: str | None,
    namespace: str,
    scheduler_name: str,
    sharing: bool,
    runtime_class: str,
    hami: bool,
    blocks_devices: bool,
    refuse: frozenset[str],
    warn: frozenset[str],
    as_kai: bool,
    policies: dict[str, str],
    service: str,
    secret: str,
    days: float,
    webhook_address: str,
    listen: str,
    log_json: bool,
    verbose: bool,
) -> int:
    """Review new pods, queues, pod groups and topologies for the API server.

    Pods that request a part of a GPU get what their containers need to use it.
    Objects that KAI refuses are refused, with KAI's texts. Queues are also
    refused if they are their own ancestor, if their parent does not exist, if
    their quota is above their limit, or if they are deleted although they have
    pods or child queues.
    """
    from kai.api import extras
    from kai.errors import InvalidInputError
    from kai.service.live import need_cluster_extra

    need_cluster_extra()
    if missing := extras.missing("cryptography"):
        raise InvalidInputError(extras.needed("kai run admission", *missing))
    from kai.controllers.admission import REFUSED_BEYOND_KAI, Rules
    from kai.service import review_objects
    from kai.service.admission import AdmissionOptions
    from kai.service.log import Log
    from kai.service.pages import addresses_in

    # Before a connection is needed: a mistake in an argument is named at once.
    if webhook_address.isdecimal():  # KAI's flag of this name has a port
        webhook_address = f":{webhook_address}"
    addresses_in("--webhook-addr", webhook_address)
    if listen:
        addresses_in("--listen-address", listen)
    if both := sorted(refuse & warn):
        raise click.UsageError(f"--refuse and --warn both have {both[0]}")
    log = Log("admission", as_json=log_json, level="debug" if verbose else "info")
    log_notes(log)
    rules = Rules(
        scheduler=scheduler_name,
        sharing=sharing,
        hami=hami,
        blocks_devices=blocks_devices,
        runtime_class=runtime_class,
        refused=(REFUSED_BEYOND_KAI | refuse) - warn,
        as_kai=as_kai,
    )
    review_objects(
        AdmissionOptions(
            rules=rules,
            namespace=namespace,
            webhook_address=webhook_address,
            listen=listen,
            service=service,
            secret=secret,
            policies=policies,
            lifetime_s=days * DAY_S,
        ),
        kubeconfig=kubeconfig,
        context=context,
        log=log,
    )
    return 0
