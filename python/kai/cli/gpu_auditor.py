"""``kai run gpu-auditor``: finds the pods of a node that use more of a GPU than their share."""

from __future__ import annotations

from functools import partial

import click

from kai.api import keys
from kai.cli.adding import flag, metrics_namespace_option, with_default
from kai.cli.connecting import cluster_options
from kai.cli.kai_flags import Seconds, log_notes

EPILOG = """\b
Example:
  kai run gpu-auditor --node-name n1 --listen-address :8080

The chart runs it on nodes with GPUs (gpuAuditor.enabled). It must run as root,
in the node's process namespace, to find the pod of a process. SIGTERM ends it.
"""


class Bytes(click.ParamType):  # type: ignore[type-arg]  # no type before click 8.5
    """An amount of memory as Kubernetes writes it: 512Mi, 1G."""

    name = "size"

    def convert(
        self, value: str | int, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        from kai.api import quantities

        try:
            size = int(quantities.parse(value))
        except ValueError as error:
            self.fail(str(error), param, context)
        if size < 0:
            self.fail(f"{value} is negative", param, context)
        return size


def names(_: click.Context, option: click.Parameter, text: str) -> frozenset[str]:
    """ "a,b" as a set."""
    return frozenset(each.strip() for each in text.split(",") if each.strip())


@click.command("gpu-auditor", epilog=EPILOG)
@cluster_options
@click.option("--node-name", metavar="NAME", required=True, help="The node that it runs on.")
@with_default(
    "--interval",
    "interval_s",
    metavar="SECONDS",
    type=Seconds(min=0.1),
    default=15.0,
    help="Seconds between measurements.",
)
@with_default(
    "--tolerance",
    metavar="SIZE",
    type=Bytes(),
    default="512Mi",
    help="Memory that each process may use beyond the share, for its CUDA context.",
)
@click.option(
    "--ignored-namespaces",
    "ignored",
    metavar="NAME,...",
    default="",
    callback=names,
    help="Namespaces whose pods are measured and not judged.",
)
@with_default(
    "--pods-folder",
    "pods",
    metavar="DIR",
    default="/var/lib/kubelet/pods",
    help="The kubelet's folder of pods, for the files of guards; empty: they are not read.",
)
@with_default(
    "--podresources-socket",
    "socket",
    metavar="FILE",
    default="/var/lib/kubelet/pod-resources/kubelet.sock",
    help="Socket of the kubelet's PodResources API, which has the GPUs of pods with whole ones.",
)
@with_default(
    "--resource-reservation-namespace",
    "reserving",
    metavar="NAME",
    default=keys.RESERVATION,
    help="Namespace of the pods that hold shared GPUs (reservation pods).",
)
@click.option(
    "--listen-address",
    "listen",
    metavar="HOST:PORT,...",
    default="",
    help="Serve /metrics, /healthz and /readyz there.",
)
@metrics_namespace_option
@flag("--log-json", help="Write log lines as JSON.")
@flag("-v", "--verbose", help="Log every write.")
def command(
    kubeconfig: str | None,
    context: str | None,
    node_name: str,
    interval_s: float,
    tolerance: int,
    ignored: frozenset[str],
    pods: str,
    socket: str,
    reserving: str,
    listen: str,
    metrics_namespace: str,
    log_json: bool,
    verbose: bool,
) -> int:
    """Find pods that use more of a GPU's memory than their share.

    It measures all processes on the GPUs of its node with NVIDIA's management
    library (NVML), whether the guard is in their pods or not, and serves the
    numbers as metrics. A pod that uses more than its share in two measurements in
    a row gets an event, at most one in ten minutes. Nothing is stopped.
    """
    if not node_name:
        raise click.UsageError("--node-name is empty: write the name of its node")
    from kai.api.extras import need_cluster_extra
    from kai.k8s.kubelet import need_numa_extra
    from kai.runtime.measuring import measure
    from kai.service import audit_gpus
    from kai.service.log import Log

    need_cluster_extra()
    need_numa_extra()
    from kai.controllers.gpu_audit import AuditRules
    from kai.service.programs.gpu_auditor import AuditorOptions

    log = Log(as_json=log_json, level="debug" if verbose else "info")
    log_notes(log)
    audit_gpus(
        AuditorOptions(
            node=node_name,
            interval_s=interval_s,
            rules=AuditRules(tolerance=tolerance, ignored=ignored, node=node_name),
            socket=socket,
            reserving=reserving,
            listen=listen,
            metrics_namespace=metrics_namespace,
        ),
        partial(measure, pods=pods),
        kubeconfig=kubeconfig,
        context=context,
        log=log,
    )
    return 0
