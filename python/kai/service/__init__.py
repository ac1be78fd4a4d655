"""Runs the roles: reads watches and carries out decisions until the process ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from typing_extensions import Unpack

    from kai.api.gpu_use import Measurement
    from kai.controllers.gpu_audit import PodUse
    from kai.controllers.planning.lines import LogLevel
    from kai.k8s.client import Client
    from kai.service.admission import AdmissionOptions
    from kai.service.admission.beside import Running
    from kai.service.log import Log
    from kai.service.options import Options, RunOptions
    from kai.service.programs.gpu_auditor import AuditorOptions, Measure
    from kai.service.programs.numa_exporter import ExporterOptions
    from kai.service.programs.on_node import OnNode


async def run(
    *,
    roles: str | Iterable[str] = "all",
    context: str | None = None,
    kubeconfig: str | os.PathLike[str] | None = None,
    log_level: LogLevel = "info",
    **options: Unpack[RunOptions],
) -> None:
    """Schedules the pods of a cluster, as the command `kai run` does, until it is cancelled.

    `roles`: "scheduler", "binder", "pod-grouper", "pod-group-controller", "queue-controller",
    several of them in a list, or "all". `context` and `kubeconfig` as for `kai.connect`; the others
    are the options of `kai run --help`, without those of webhooks. Log lines go to standard error.

    It runs inside a running event loop, as in a notebook: ``task =
    asyncio.create_task(kai.run())``, and later ``task.cancel()``. It then finishes the bindings
    that are under way, within 5 s, and releases its leases. In a script use
    ``asyncio.run(kai.run())``; Ctrl-C ends it the same way. It handles no signals; in a container
    use the command, which handles SIGTERM.

    Raises UnreachableError, RefusedError and InvalidInputError for a server that cannot be used,
    and InvalidConfigError for the scheduler's configuration.

    >>> import asyncio, kai
    >>> asyncio.run(kai.run(roles="scheduler", kubeconfig="staging.yaml"))
    Traceback (most recent call last):
    kai.errors.InvalidInputError: staging.yaml: No such file or directory
    """
    import asyncio

    from kai.api.extras import need_cluster_extra
    from kai.service.options import options_of

    need_cluster_extra()
    from kai.service.log import Log

    chosen = options_of([roles] if isinstance(roles, str) else roles, options)
    await _run(chosen, kubeconfig, context, Log(level=log_level), asyncio.Event())


def serve(
    options: Options,
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    log: Log | None = None,
    webhooks: AdmissionOptions | None = None,
) -> None:
    """Runs the roles until SIGTERM or SIGINT, in the main thread, and with `webhooks` also these.
    Raises what `run` raises."""
    from kai.service.log import Log
    from kai.service.signals import run_until_signal

    log = log or Log()
    run_until_signal(lambda stop: _run(options, kubeconfig, context, log, stop, webhooks), log)


def export_numa(
    options: ExporterOptions,
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    log: Log | None = None,
) -> None:
    """Runs the NUMA placement exporter until SIGTERM or SIGINT, in the main thread.

    Raises UnreachableError, RefusedError and InvalidInputError for a server that cannot be used.
    """
    from kai.service.programs.numa_exporter import Exporter

    def program(client: Client, log: Log) -> Exporter:
        return Exporter(client, options, log)

    _run_on_node(program, kubeconfig, context, log)


def audit_gpus(
    options: AuditorOptions,
    measure: Measure,
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    log: Log | None = None,
) -> None:
    """Runs the GPU auditor until SIGTERM or SIGINT, in the main thread.

    Raises UnreachableError, RefusedError and InvalidInputError for a server that cannot be used.
    """
    from kai.service.programs.gpu_auditor import Auditor

    def program(client: Client, log: Log) -> Auditor:
        return Auditor(client, options, measure, log)

    _run_on_node(program, kubeconfig, context, log)


def _run_on_node(
    program: Callable[[Client, Log], OnNode],
    kubeconfig: str | os.PathLike[str] | None,
    context: str | None,
    log: Log | None,
) -> None:
    """Connects a program without roles and runs it until SIGTERM or SIGINT, in the main thread."""
    from kai.service.log import Log
    from kai.service.signals import run_until_signal

    log = log or Log()

    async def work(stop: asyncio.Event) -> None:
        client = await _connected(kubeconfig, context, stop)
        if client is not None:
            async with client:
                await program(client, log).run(stop)

    run_until_signal(work, log)


def gpu_uses(
    options: AuditorOptions,
    measurement: Measurement,
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
) -> tuple[tuple[PodUse, ...], list[str]]:
    """What the pods of a node use of its GPUs, as the GPU auditor finds it, and a sentence for each
    thing that could not be read.

    Raises NotFoundError for a node that does not exist or has no pods, and UnreachableError,
    RefusedError and InvalidInputError for a server that cannot be used.
    """
    import asyncio

    from kai.k8s.client import Client
    from kai.service.programs.gpu_auditor import uses_on

    async def read() -> tuple[tuple[PodUse, ...], list[str]]:
        async with await Client.connect(kubeconfig, context) as client:
            return await uses_on(client, options, measurement)

    return asyncio.run(read())


def review_objects(
    options: AdmissionOptions,
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    log: Log | None = None,
) -> None:
    """Runs the webhooks until SIGTERM or SIGINT, in the main thread.

    Raises UnreachableError, RefusedError and InvalidInputError for a server that cannot be used.
    """
    from kai.service.admission import run as answer
    from kai.service.log import Log
    from kai.service.signals import run_until_signal

    log = log or Log("admission")

    async def work(stop: asyncio.Event) -> None:
        client = await _connected(kubeconfig, context, stop, agent="kai-admission")
        if client is not None:
            async with client:
                await answer(client, options, log, stop)

    run_until_signal(work, log)


async def _run(
    options: Options,
    kubeconfig: str | os.PathLike[str] | None,
    context: str | None,
    log: Log,
    stop: asyncio.Event,
    webhooks: AdmissionOptions | None = None,
) -> None:
    from kai.service.explaining import ExplainServer
    from kai.service.pages import Pages
    from kai.service.service import Service
    from kai.service.shadow import Shadow

    options = options.with_config()
    client = await _connected(kubeconfig, context, stop)
    if client is None:
        return
    async with client:
        service: Service | Shadow
        if options.shadow:
            service = shadow = Shadow(client, options, log)
            snapshot, texts = None, shadow.pages()
        else:
            service = planning = Service(client, options, log)
            snapshot, texts = planning.snapshot, None
        running: Running = service
        if webhooks is not None:
            from kai.service.admission.beside import WithWebhooks

            connect = partial(_connected, kubeconfig, context, agent="kai-admission")
            name = options.metrics_namespace
            running = WithWebhooks(service, connect, webhooks, log.of("admission"), name)
        health = (running.metrics, service.why_unhealthy, running.why_unready)
        async with contextlib.AsyncExitStack() as stack:
            pages = Pages(*health, snapshot, texts)
            stack.push_async_callback(pages.stop)
            if options.listen:
                await pages.start(options.listen)
            if options.explain and isinstance(service, Service):
                explaining = ExplainServer(client, options, service.questions)
                stack.push_async_callback(explaining.stop)
                await explaining.start(options.explain)
            await running.run(stop)


async def _connected(
    kubeconfig: str | os.PathLike[str] | None,
    context: str | None,
    stop: asyncio.Event,
    agent: str = "",
) -> Client | None:
    """None: `stop` was set before the server answered. `agent`: the manager of the fields that it
    writes."""
    import asyncio

    from kai.k8s.client import Client

    connecting = asyncio.ensure_future(Client.connect(kubeconfig, context, agent=agent))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({connecting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return connecting.result() if connecting.done() else None
    finally:
        connecting.cancel()
        stopping.cancel()
