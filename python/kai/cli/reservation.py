"""``kai run reservation``: the program in the pods that hold a shared GPU."""

from __future__ import annotations

import click

from kai.cli.adding import flag
from kai.cli.connecting import cluster_options

EPILOG = """\b
Examples:
  kai run reservation                    in a reservation pod
  kai run reservation --fake             on a node without GPUs

It writes the UUID of its one visible GPU into the annotation
run.ai/reserve_for_gpu_index of its own pod, and waits for SIGTERM. It needs
NVIDIA's driver.
"""


@click.command("reservation", epilog=EPILOG)
@cluster_options
@click.option(
    "--pod",
    metavar="NAME",
    envvar="POD_NAME",
    show_envvar=True,
    required=True,
    help="The pod that it runs in.",
)
@click.option(
    "--namespace",
    metavar="NAME",
    envvar="POD_NAMESPACE",
    show_envvar=True,
    required=True,
    help="Namespace of that pod.",
)
@click.option(
    "--device",
    "given",
    metavar="UUID",
    multiple=True,
    help="The GPU to write, instead of the one that NVML shows.",
)
@flag("--fake", help="Generate a UUID, for simulated nodes.")
@flag("--log-json", help="Write log lines as JSON.")
def command(
    kubeconfig: str | None,
    context: str | None,
    pod: str,
    namespace: str,
    given: tuple[str, ...],
    fake: bool,
    log_json: bool,
) -> int:
    """Write the UUID of this pod's GPU, and hold the GPU.

    The scheduler creates such a pod for each shared GPU. The program is not
    meant to be started by hand.
    """
    from kai.api.extras import need_cluster_extra

    need_cluster_extra()
    from kai.runtime import nvml
    from kai.service.log import Log
    from kai.service.programs.reservation import PodName, fake_device, hold
    from kai.service.signals import run_until_signal

    if fake and given:
        raise click.UsageError("--fake and --device exclude each other")
    own = PodName(namespace, pod)
    chosen = (fake_device(own),) if fake else given
    find = (lambda: chosen) if chosen else nvml.uuids
    log = Log(as_json=log_json)
    run_until_signal(
        lambda stop: hold(own, find, stop, log, kubeconfig=kubeconfig, context=context),
        log,
    )
    return 0
