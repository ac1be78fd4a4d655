"""``kai run chart-hook``: the program in the hooks of the Helm chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kai.cli.adding import flag, json_of
from kai.cli.connecting import cluster_options

if TYPE_CHECKING:
    from kai.service.admission import AdmissionOptions
    from kai.service.options import Options

EPILOG = """\b
Steps:
  check     read the options and the configuration of the programs as they do
  crds      apply the six CustomResourceDefinitions, but never over newer ones
  webhooks  delete the release's registrations of webhooks, before it is removed
  test      check that all kinds are served, that all programs run, and that they
            hold their leases
"""


def programs(
    _: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, list[str]]:
    """'kai=["run","all"]' as a dict."""
    found = {}
    for text in texts:
        name, _sign, arguments = text.partition("=")
        found[name] = json_of(arguments, option)
        if not isinstance(found[name], list) or found[name][:1] != ["run"]:
            raise click.BadParameter("not a JSON list that starts with run", param=option)
    return found


@click.command("chart-hook", epilog=EPILOG)
@cluster_options
@click.argument("step", type=click.Choice(["check", "crds", "webhooks", "test"]))
@click.option("--namespace", metavar="NAME", required=True, help="Namespace of the release.")
@click.option("--release", metavar="NAME", required=True, help="Name of the release.")
@click.option(
    "--program",
    "programs",
    metavar="NAME=JSON",
    multiple=True,
    callback=programs,
    help="A Deployment of the release, with the arguments of its container as a JSON list.",
)
@flag("--log-json", help="Write log lines as JSON.")
def command(
    kubeconfig: str | None,
    context: str | None,
    step: str,
    namespace: str,
    release: str,
    programs: dict[str, list[str]],
    log_json: bool,
) -> int:
    """Do what a Helm hook of kai's chart has to do, and end.

    The chart runs it; it is not meant to be started by hand.
    """
    import asyncio

    from kai.api.extras import need_cluster_extra

    need_cluster_extra()
    from kai import __version__
    from kai.k8s.client import Client
    from kai.service.log import Log
    from kai.service.programs import chart_hooks

    log = Log(as_json=log_json)
    chosen = {name: options_of(arguments) for name, arguments in programs.items()}
    if step == "check":
        from kai.service.checking import check
        from kai.service.options import Options

        for name, options in chosen.items():
            if isinstance(options, Options):  # those of the webhooks are complete
                check(options)
            log.info("the options of the program are valid", program=name)
        return 0

    async def work() -> None:
        async with await Client.connect(kubeconfig, context) as client:
            of = chart_hooks.Release(release, namespace)
            if step == "crds":
                await chart_hooks.apply_definitions(client, __version__, log)
            elif step == "webhooks":
                await chart_hooks.remove_registrations(client, of, log)
            else:
                await chart_hooks.check_release(client, namespace, chosen, log)

    asyncio.run(work())
    return 0


def options_of(arguments: Sequence[str]) -> Options | AdmissionOptions:
    """The options in the arguments of a container: `run admission ...` or `run ROLE...`, read as
    these commands do it. Raises their UsageError or KaiError."""
    from kai.cli import admission, run

    try:
        with run.command.make_context("kai run", list(arguments[1:])) as context:
            given = {
                name: value
                for name, value in context.params.items()
                if name not in ("kubeconfig", "context", "log_json", "verbose")
            }
            if context.command is admission.command:
                return admission.options_in(**given)
            return run.options_in(**given)[0]
    except click.UsageError as error:  # its hint would be the help of this command
        error.ctx = error.ctx or click.Context(run.command, info_name="kai run")
        raise
