"""``kai run numa-exporter``: writes NUMA placements on the pods of a node."""

from __future__ import annotations

import click

from kai.cli.adding import flag, with_default
from kai.cli.connecting import cluster_options
from kai.cli.kai_flags import Seconds, log_notes

EPILOG = """\b
Example:
  kai run numa-exporter --node-name n1

`kai install --numa-exporter` prints a DaemonSet that runs it on each node with
NUMA zones. It must run as root to read the socket. SIGTERM ends it.
"""


@click.command("numa-exporter", epilog=EPILOG)
@cluster_options
@click.option("--node-name", metavar="NAME", required=True, help="The node that it runs on.")
@with_default(
    "--podresources-socket",
    "socket",
    metavar="FILE",
    default="/var/lib/kubelet/pod-resources/kubelet.sock",
    help="Socket of the kubelet's PodResources API.",
)
@with_default(
    "--sysfs-root",
    "sysfs",
    metavar="DIR",
    default="/sys",
    help="Directory of sysfs, which has the NUMA node of each CPU.",
)
@with_default(
    "--poll-interval",
    "poll_s",
    metavar="SECONDS",
    type=Seconds(min=0, min_open=True),
    default=1.0,
    help="Seconds between requests to the kubelet.",
)
@with_default(
    "--drift-resync-interval",
    "resync_s",
    metavar="SECONDS",
    type=Seconds(min=0),
    default=60.0,
    help="Seconds between repairs of changed annotations; 0: no repairs.",
)
@flag("--log-json", help="Write log lines as JSON.")
@flag("-v", "--verbose", help="Log every write.")
def command(
    kubeconfig: str | None,
    context: str | None,
    node_name: str,
    socket: str,
    sysfs: str,
    poll_s: float,
    resync_s: float,
    log_json: bool,
    verbose: bool,
) -> int:
    """Write the NUMA zones of the resources of a node's pods.

    It reads the devices, memory and exclusive CPUs of each pod from the kubelet,
    and writes them by zone into the annotation
    kai.scheduler/numa-placement-observed. The scheduler's plugin numa counts these
    resources as used in their zones.
    """
    from kai.api.extras import need_cluster_extra
    from kai.k8s.kubelet import need_numa_extra
    from kai.service import export_numa
    from kai.service.log import Log
    from kai.service.programs.numa_exporter import ExporterOptions

    need_cluster_extra()
    need_numa_extra()
    log = Log(as_json=log_json, level="debug" if verbose else "info")
    log_notes(log)
    export_numa(
        ExporterOptions(node_name, socket, sysfs, poll_s, resync_s),
        kubeconfig=kubeconfig,
        context=context,
        log=log,
    )
    return 0
