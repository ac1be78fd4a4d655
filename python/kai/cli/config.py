"""``kai config``: the configuration in effect."""

from __future__ import annotations

import json
from typing import Any

import click

from kai.cli import Suggesting
from kai.cli.adding import flag
from kai.cli.failures import DONE
from kai.cli.output import json_options
from kai.cli.work import Warner, as_kai_option, named


@click.group("config", cls=Suggesting)
def command() -> None:
    """Show the configuration of the scheduler."""


@command.command(
    "show",
    short_help="Print the configuration in effect, with every default.",
    epilog="""\b
Examples:
  kai config show                          KAI's built-in configuration
  kai config show --config scheduler.yaml  with the changes of this file
  kai config show snapshot.zip             the configuration of this cluster
  kai config show > mine.yaml              a file to edit
""",
)
@click.argument("source", metavar="[INPUT]", required=False)
@click.option("--config", metavar="FILE", help="Scheduler configuration (YAML or JSON).")
@as_kai_option
@flag("--strict", help="Exit with 2 for unknown names.")
@json_options("yaml", help="one object")
def show(source: str | None, config: str | None, as_kai: bool, strict: bool, as_json: bool) -> int:
    """Print the configuration in effect, in the format of --config.

    It has the actions, the plugins with all of their arguments, budgets, extras
    and switches. INPUT is a snapshot: its own configuration is used unless
    --config is given. Unknown names are reported on standard error.
    """
    from kai.engine import config as configuration
    from kai.snapshot import load

    text = ""
    if config is not None:
        text = configuration.config_json(named("--config", config))
    if source is not None:
        cluster = load(source)
        if config is None:
            text = configuration.to_json(cluster.config or {})
    in_force = configuration.in_force(text, as_kai=as_kai)
    warn = Warner()
    warn.of(configuration.read(text).warnings, strict=strict)
    if as_json:
        click.echo(json.dumps(in_force))
    else:
        click.echo(_yaml(in_force), nl=False)
    return warn.status or DONE


def _yaml(value: dict[str, Any]) -> str:
    """YAML with one plugin per line, if its arguments are few."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def represent_mapping(self, tag: str, mapping: Any, flow_style: Any = None) -> Any:
            node = super().represent_mapping(tag, mapping, flow_style)
            scalars = all(each.id == "scalar" for _, each in node.value)
            node.flow_style = scalars and len(node.value) <= _SHORT and "name" not in mapping
            return node

    for plugin in (each for tier in value["tiers"] for each in tier["plugins"]):
        if not plugin["arguments"]:
            del plugin["arguments"]
    written: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, width=100)
    return written


_SHORT = 4
