"""``kai run chart-hook``: the program in the hooks of the Helm chart."""

from __future__ import annotations

import click

from kai.cli.connecting import cluster_options

EPILOG = """\b
Steps:
  crds      apply the six CustomResourceDefinitions, but never over newer ones
  webhooks  delete the release's registrations of webhooks, before it is removed
  test      check that all kinds are served and that a program holds its lease
"""


@click.command("chart-hook", epilog=EPILOG)
@cluster_options
@click.argument("step", type=click.Choice(["crds", "webhooks", "test"]))
@click.option("--namespace", metavar="NAME", required=True, help="Namespace of the release.")
@click.option("--release", metavar="NAME", required=True, help="Name of the release.")
@click.option("--log-json", is_flag=True, help="Write log lines as JSON.")
def command(
    kubeconfig: str | None,
    context: str | None,
    step: str,
    namespace: str,
    release: str,
    log_json: bool,
) -> int:
    """Do what a Helm hook of kai's chart has to do, and end.

    The chart runs it; it is not meant to be started by hand.
    """
    import asyncio

    from kai.service.live import need_cluster_extra

    need_cluster_extra()
    from kai import __version__
    from kai.k8s.client import Client
    from kai.service.log import Log
    from kai.service.programs import chart_hooks

    log = Log(as_json=log_json)

    async def work() -> None:
        async with await Client.connect(kubeconfig, context) as client:
            if step == "crds":
                await chart_hooks.apply_definitions(client, __version__, log)
            elif step == "webhooks":
                await chart_hooks.remove_registrations(
                    client, chart_hooks.Release(release, namespace), log
                )
            else:
                await chart_hooks.check_release(client, namespace, log)

    asyncio.run(work())
    return 0
