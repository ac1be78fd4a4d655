"""``kai simulate``: what queues get, without a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kai.errors import InvalidInputError

EPILOG = """\b
Examples:
  kai simulate --fair-share request.json     the shares of KAI's simulator
  echo '{"totalResource": {"GPU": 8}, "queues": [
    {"uid": "a", "resourceShare": {"gpu": {"overQuotaWeight": 3}}},
    {"uid": "b", "resourceShare": {"gpu": {"overQuotaWeight": 1}}}]}' |
    kai simulate --fair-share -
"""


@click.command("simulate", epilog=EPILOG)
@click.option(
    "--fair-share",
    metavar="REQUEST",
    help="Divide what there is among the queues of this request, and no more.",
)
def command(fair_share: str | None) -> int:
    """Work out what queues get, without a cluster.

    REQUEST is what KAI's fair-share simulator takes by HTTP, as a JSON file, or -
    for standard input: totalResource with GPU, CPU and Memory, and queues, each
    with uid, priority, creationTimestamp and its resourceShare. Units are devices,
    millicores and bytes. The answer is its answer, as JSON.
    """
    if fair_share is None:
        raise click.UsageError("say what to work out: --fair-share REQUEST")
    return _fair_share(fair_share)


def _fair_share(file: str) -> int:
    from kai.api import documents, files
    from kai.cli.work import named
    from kai.sim.fair_share import fair_shares

    source = file if file == "-" else named("--fair-share", file)
    name = "standard input" if file == "-" else str(Path(file))
    try:
        answer = fair_shares(documents.decode(files.read(source)))
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from None
    click.echo(json.dumps(answer))
    return 0
