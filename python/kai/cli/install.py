"""``kai install``: the manifests that install kai."""

from __future__ import annotations

import click

from kai.cli.adding import flag, with_default
from kai.cli.failures import DONE
from kai.cli.output import json_options


@click.command(
    "install",
    epilog="""\b
Examples:
  kai install --crds-only | kubectl apply --server-side -f -
  kai install --image example/kai:1 | kubectl apply --server-side -f -
  kai install --separate                 one Deployment per role
  kai install --without-programs         no Deployment
  kai install --config packing.yaml      with a scheduler configuration
  kai install --policies objects         no webhooks; the API server checks
  kai install --numa-exporter            with the exporter of NUMA placements
  kai install --gpu-auditor              with the auditor of GPUs
  kai install --guard-shares             a share of a GPU's memory is a limit
  kai install --json | jq '.items[].kind'
  kai install --reader | kubectl apply -f -      for kai plan --live and others
\b
Without Deployments, start the roles yourself on any machine that reaches the
cluster: kai run all
""",
)
@flag("--crds-only", help="Print only the six CustomResourceDefinitions.")
@flag("--reader", help="Print only a ClusterRole that reads: it suffices for --live.")
@click.option("--namespace", metavar="NAME", help="Namespace of the programs [kai-scheduler].")
@click.option("--image", metavar="IMAGE", help="Container image of the programs.")
@flag("--separate", help="One Deployment and its RBAC rights for each role.")
@flag("--without-programs", help="No Deployments: start the roles yourself with kai run.")
@flag("--numa-exporter", help="Add a DaemonSet of kai run numa-exporter and its rights.")
@flag("--gpu-auditor", help="Add a DaemonSet of kai run gpu-auditor and its rights.")
@flag(
    "--guard-shares",
    help="Keep pods to their share of a GPU's memory, by the guard in the image of the programs.",
)
@flag("--guard-chosen", help="The same, only for pods that choose it, or whose queue does.")
@flag(
    "--guard-required",
    help="Refuse pods that cannot have it, or let them wait; else they start without it.",
)
@flag(
    "--guard-mps-threads",
    help="Give pods with MPS their part of the compute time, too, besides the memory.",
)
@with_default(
    "--policies",
    type=click.Choice(["webhooks", "objects"]),
    default="webhooks",
    help="Who checks new objects: kai's webhooks, or policies of the API server.",
)
@click.option("--config", metavar="FILE", help="Scheduler configuration, written into a ConfigMap.")
@json_options("yaml", help="one List")
def command(
    crds_only: bool,
    reader: bool,
    namespace: str | None,
    image: str | None,
    separate: bool,
    without_programs: bool,
    numa_exporter: bool,
    gpu_auditor: bool,
    policies: str,
    config: str | None,
    as_json: bool,
    **guard: bool,
) -> int:
    """Print the manifests that install kai, for kubectl apply.

    They are the CRDs of KAI Scheduler, the namespace, the default queue and its
    parent, the priority classes, the RBAC rights of each role, FlowSchemas that
    let leases and writes succeed on a busy API server, a Deployment of `kai run
    all` with two replicas (one is active), and a Deployment of the webhooks, `kai
    run admission`, with two replicas (both answer).

    The command does not contact a cluster. Apply the CRDs first, as in the
    examples: kubectl accepts queues only if their CRD exists when it starts.
    Applying all manifests again resets the default queue and its parent; other
    queues keep their values.

    `--reader` prints a ClusterRole with the rights of the commands with --live,
    which only read, and in its first lines how to bind it.
    """
    from kai.install import manifests

    named = (namespace is not None, image is not None, config is not None)
    of_guard = {f"--{name.replace('_', '-')}": is_given for name, is_given in guard.items()}
    added = {"--numa-exporter": numa_exporter, "--gpu-auditor": gpu_auditor, **of_guard}
    others = any((*named, *added.values(), separate, without_programs, policies == "objects"))
    if crds_only and (others or reader):
        raise click.UsageError(
            "--crds-only allows no other option than --json: CRDs are cluster-wide"
        )
    if reader:
        if others:
            raise click.UsageError(
                "--reader allows no other option than --json: its ClusterRole depends on none"
            )
        return _print_reader(as_json=as_json)
    if without_programs and image is not None:
        raise click.UsageError("--image and --without-programs exclude each other")
    for option in (name for name, is_given in added.items() if is_given and without_programs):
        raise click.UsageError(f"{option} and --without-programs exclude each other")
    if without_programs and config is not None:
        raise click.UsageError("--config and --without-programs exclude each other")
    _check_guard([name for name, is_given in of_guard.items() if is_given], policies)
    _check_names(namespace, image)
    objects = (
        manifests.crds()
        if crds_only
        else manifests.everything(
            namespace=manifests.NAMESPACE if namespace is None else namespace,
            image=image or "",
            separate=separate,
            programs=not without_programs,
            numa_exporter=numa_exporter,
            gpu_auditor=gpu_auditor,
            guard=manifests.Guard(**{name.removeprefix("guard_"): guard[name] for name in guard}),
            config="" if config is None else _config(config),
            webhooks=policies == "webhooks",
        )
    )
    if policies == "objects":
        _say_what_is_left_out()
    if as_json:
        click.echo(manifests.to_json(objects))
    else:
        click.echo(manifests.to_yaml(objects), nl=False)
    return DONE


def _check_guard(given: list[str], policies: str) -> None:
    """`given`: the options about the guard."""
    if given and policies == "objects":
        raise click.UsageError(
            f"{given[0]} and --policies objects exclude each other: the webhooks add the guard"
        )
    of_whom = ["--guard-shares", "--guard-chosen"]
    if set(of_whom) <= set(given):
        raise click.UsageError(
            "--guard-shares and --guard-chosen exclude each other: the first is for all pods that"
            " share a GPU, the second for those that choose it"
        )
    if given and not set(of_whom) & set(given):
        raise click.UsageError(
            f"{given[0]} needs --guard-shares or --guard-chosen: without them no pod has the guard"
        )


def _print_reader(*, as_json: bool) -> int:
    """The role, and as a comment of its YAML how to bind it."""
    from kai.install import manifests
    from kai.live import rights

    made = rights.reader()
    if as_json:
        click.echo(manifests.to_json([made]))
        return DONE
    for line in rights.HOW_TO_BIND:
        click.echo(f"# {line}")
    click.echo(manifests.to_yaml([made]), nl=False)
    return DONE


def _config(file: str) -> str:
    """The configuration as YAML. Raises InvalidConfigError if `kai run` would refuse it."""
    import json

    import yaml

    from kai.cli.failures import print_error
    from kai.cli.work import named
    from kai.engine import config as configuration
    from kai.live.usage_db import read_usage_db

    text = configuration.config_json(named("--config", file))
    for warning in configuration.read(text).warnings:
        print_error(warning)
    given = json.loads(text or "{}")
    usage = read_usage_db(given, {})
    for warning in () if usage is None else usage.warnings:
        print_error(warning)
    if usage is not None and not usage.address:
        variable = given["usageDBConfig"]["connectionStringEnvVar"]
        print_error(
            f"usageDBConfig: the Deployment lacks the variable {variable}: add it to its container"
        )
    return str(yaml.safe_dump(given, sort_keys=False)) if given else ""


def _say_what_is_left_out() -> None:
    from kai.cli.failures import print_error
    from kai.install.policies import LEFT_OUT

    print_error("only webhooks can do this, so with --policies objects:")
    for each in LEFT_OUT:
        print_error(f"- {each}")


def _check_names(namespace: str | None, image: str | None) -> None:
    import re

    from kai.api.names import problem_of_image

    if image is not None and (why := problem_of_image(image)):
        raise click.UsageError(f"--image: {why}")
    if namespace is not None and not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", namespace):
        raise click.UsageError(
            f"--namespace: {namespace!r} is not a valid namespace: use at most 63 "
            "lower-case letters, digits and dashes"
        )
