"""``kai config``: the configuration that is in force."""

from __future__ import annotations

import json
from typing import Any

import click

from kai.cli import Suggesting
from kai.cli.failures import DONE


@click.group("config", cls=Suggesting)
def command() -> None:
    """Show the configuration that a plan runs with."""


@command.command(
    "show",
    short_help="Print it, with every default written out.",
    epilog="""\b
Examples:
  kai config show                          KAI's built-in configuration
  kai config show --config scheduler.yaml  with what this file changes
  kai config show snapshot.zip             what this cluster runs with
  kai config show > mine.yaml              to start from
""",
)
@click.argument("source", metavar="[INPUT]", required=False)
@click.option("--config", metavar="FILE", help="Scheduler configuration (YAML or JSON).")
@click.option("--as-kai", is_flag=True, help="Decide as KAI does, also where it errs.")
@click.option("--strict", is_flag=True, help="Exit with 2 for unknown names.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of YAML.")
def show(source: str | None, config: str | None, as_kai: bool, strict: bool, as_json: bool) -> int:
    """Print the configuration in force: actions, plugins with all of their
    arguments, budgets, extras and switches, in the form that --config takes.

    INPUT is one snapshot, whose own configuration is meant unless --config is
    given. Unknown names are reported on standard error.
    """
    from kai.cli.work import Warner, named
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
    """A plugin a line: its arguments are short."""
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
