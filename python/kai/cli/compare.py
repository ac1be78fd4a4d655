"""``kai compare``: simulates a workload with two configurations and compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kai.cli.adding import flag
from kai.cli.failures import ANSWER_IS_NO, DONE
from kai.cli.output import json_options
from kai.cli.virtual import FORMATS, columns_option, life, life_options, seconds, workload
from kai.cli.what_if import WhatIf, change_options
from kai.cli.work import as_kai_option, policy_option
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.cli.work import Warner
    from kai.sim.comparing import Comparison, Side
    from kai.sim.workload import Workload

DEFAULT = "default"  # the name of KAI's configuration, in place of a file


@click.command(
    "compare",
    epilog="""\b
Examples:
  kai compare base.yaml variant.yaml --workload philly_jobs.csv --seeds 20
  kai compare default mine.yaml --workload jobs.yaml --html page.html
  kai compare default default --workload w.yaml --variant-cluster bigger.yaml
  kai compare default default --workload w.yaml --variant-policy mine.py
  kai compare --workload jobs.csv --add-nodes 10 --like node-3
  kai compare a.yaml b.yaml --workload w.yaml --vary weeks,failures
  kai compare a.yaml b.yaml --workload w.yaml --primary waiting_p95_s
  kai compare a.yaml b.yaml --workload w.yaml --metric 'waiting_mean_s[vision]'
  kai compare a.yaml b.yaml --workload w.yaml --json | jq .verdict
""",
)
@click.argument("base", metavar="[BASE]", default=DEFAULT)
@click.argument("variant", metavar="[VARIANT]", required=False)
@click.option("--workload", metavar="FILE", required=True, help="A trace or a YAML file.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Format of the workload [detected]."
)
@columns_option
@click.option(
    "--seeds", default=20, type=click.IntRange(1), help="Number of pairs of simulations [20]."
)
@click.option("--vary", metavar="LIST", help="What seeds vary: weeks,estimates,failures, or ''.")
@click.option("--primary", metavar="METRIC", help="Metric of the verdict [completion_mean_s].")
@click.option(
    "--metric", "metrics", metavar="METRIC", multiple=True, help="Another metric to show [all]."
)
@click.option("--level", default=0.95, type=float, help="Confidence level of the intervals [0.95].")
@click.option("--cluster", metavar="FILE", help="Nodes and queues of both sides.")
@click.option("--base-cluster", metavar="FILE", help="Nodes, queues or both of BASE.")
@click.option("--variant-cluster", metavar="FILE", help="Nodes, queues or both of VARIANT.")
@change_options
@policy_option
@click.option("--base-policy", metavar="FILE.py", multiple=True, help="Python policies of BASE.")
@click.option(
    "--variant-policy", metavar="FILE.py", multiple=True, help="Python policies of VARIANT."
)
@click.option("--weeks", type=click.IntRange(1), help="Number of weeks to simulate [all].")
@click.option(
    "--estimate-error", default=0.5, type=float, help="Log-normal error of durations [0.5]."
)
@life_options
@click.option("--processes", type=click.IntRange(1), help="Parallel simulations [number of cores].")
@as_kai_option
@flag("--strict", help="Exit with 2 for unknown names in configurations.")
@click.option("--html", metavar="FILE", help="Write an HTML report, too.")
@json_options("text", help="one object")
def command(base: str, variant: str | None, **given: Any) -> int:
    """Simulate a workload with two configurations, and report which is better.

    BASE and VARIANT are scheduler configurations (YAML or JSON), or `default` for
    KAI's. --base-cluster and --variant-cluster give one side other nodes or queues,
    --base-policy and --variant-policy other policies in Python. --add-nodes, --drain
    and --queue change the cluster of VARIANT: what if there were ten more nodes?
    Without a configuration, both sides have KAI's; with one, both have that one.

    Each seed is a pair of simulations under the same conditions. --vary selects
    what the seeds vary: `weeks` puts the weeks of the workload into a random order,
    `estimates` changes the estimated durations, `failures` makes nodes fail. The
    default is weeks if the workload lasts two weeks or more, and otherwise nothing:
    then each side is simulated once. Times are written as 90s, 2h30m, 36h or 7d.

    The verdict on the primary metric is better, worse or cannot tell, with a
    confidence interval for the mean difference between weeks like those of the
    workload. It needs eight whole weeks. A side that leaves more work undone is
    never called better; then the first line is about the work that is undone. The
    other metrics share one probability of error (Holm), so their intervals are
    wider. METRIC is a name such as completion_p95_s or utilization, or has the name
    of a queue, as in waiting_mean_s[vision]. An unknown METRIC lists all metrics.
    fragmentation and fragmentation_share are measured only if they are named.

    Exit status: 1 if VARIANT is worse in the primary metric or leaves more undone,
    else 0.
    """
    from kai.api import files
    from kai.api.naming import naming
    from kai.cli.work import Warner

    if variant is None:
        if not any(given[option] for option in _OF_VARIANT):
            raise click.UsageError(_NO_VARIANT)
        variant = base
    warn = Warner()
    done = _compared(base, variant, given, warn)
    if given["html"] is not None:
        with naming(f"--html: {given['html']}"):
            files.write(given["html"], done.to_html().encode())
    if given["as_json"]:
        click.echo(done.to_json())
    else:
        from kai.cli.show import Page
        from kai.sim.comparing import words

        page = Page()
        page.heading(words.heading(done))
        page.tables([words.table(done)])
        for paragraph in words.paragraphs(done):
            page.paragraph(paragraph)
    is_worse = done.verdict == "worse" or done.undone[1].exceeds(done.undone[0])
    return warn.status or (ANSWER_IS_NO if is_worse else DONE)


_OF_VARIANT = ("what_if", "variant_cluster", "variant_policy")
_NO_VARIANT = (
    "both sides are the same: give VARIANT, or change the cluster of the variant with --add-nodes,"
    " --drain, --queue or --variant-cluster, or its policies with --variant-policy"
)


def _compared(base: str, variant: str, given: dict[str, Any], warn: Warner) -> Comparison:
    # Before the imports that need NumPy: `workload` reports a missing NumPy in a sentence.
    chosen = workload(
        "compare",
        "--workload",
        given["workload"],
        given["form"],
        given["cluster"],
        given["columns"],
    )

    from kai.engine import config as configuration
    from kai.sim.comparing import compare
    from kai.sim.comparing.measures import PRIMARY
    from kai.sim.comparing.running import cores

    sides = [
        _side("BASE", base, given),
        _what_if(_side("VARIANT", variant, given), given["what_if"], chosen),
    ]
    for side in sides:
        # The text output shows the warnings itself.
        if side.config is not None and (given["strict"] or given["as_json"]):
            text = configuration.config_json(side.config)
            warn.of(configuration.read(text).warnings, strict=given["strict"])
    warn(*chosen.problems)
    vary, until = given["vary"], given["until"]
    return compare(
        *sides,
        workload=chosen,
        seeds=given["seeds"],
        vary=None if vary is None else [each.strip() for each in vary.split(",") if each],
        primary=given["primary"] or PRIMARY,
        metrics=given["metrics"] or None,
        level=given["level"],
        executor=given["processes"] or cores(),
        period_s=seconds("--period", given["period"]),
        until_s=None if until is None else seconds("--until", until),
        warm_up_s=seconds("--warm-up", given["warm_up"]),
        life=life(given),
        weeks=given["weeks"],
        estimate_error=given["estimate_error"],
        progress=True,
    )


def _side(what: str, config: str, given: dict[str, Any]) -> Side:
    from kai.cli.work import named, policies_in
    from kai.sim.comparing import Side

    side = what.lower()
    if config.endswith(".py"):
        raise InvalidInputError(
            f"{what}: {config} is not a scheduler configuration; for policies in Python write "
            f"{DEFAULT} --{side}-policy {config}"
        )
    cluster, own = given[f"{side}_cluster"], given[f"{side}_policy"]
    other = {} if cluster is None else _cluster(f"--{side}-cluster", cluster)
    policies = policies_in(given["policy"]) + policies_in(own, f"--{side}-policy")
    return Side(
        config=None if config == DEFAULT else named(what, config),
        as_kai=given["as_kai"],
        policies=policies,
        name=_name(config, own, cluster),
        **other,
    )


def _what_if(side: Side, what_if: WhatIf, chosen: Workload) -> Side:
    """The side with the changes of the command line."""
    from dataclasses import replace

    if not what_if:
        return side
    nodes = what_if.nodes(chosen.nodes if side.nodes is None else side.nodes)
    queues = what_if.queues_of(chosen.queues if side.queues is None else side.queues)
    name = f"{what_if}" if side.name == DEFAULT else f"{side.name}, {what_if}"
    return replace(side, nodes=nodes, queues=queues, name=name)


def _name(config: str, policies: tuple[str, ...], cluster: str | None) -> str:
    """What is special about a side: "fifo.yaml with mine.py on bigger.yaml"."""
    parts = [] if config == DEFAULT else [_stem(config)]
    if policies:
        parts.append(("with " if parts else "") + ", ".join(map(_stem, policies)))
    if cluster is not None:
        parts.append(("on " if parts else "") + _stem(cluster))
    return " ".join(parts) or DEFAULT


def _cluster(option: str, file: str) -> dict[str, Any]:
    """The nodes and queues that a file defines."""
    from kai.cli.work import named
    from kai.sim.traces import read_cluster

    nodes, queues = read_cluster(named(option, file))
    found = {"nodes": nodes, "queues": queues}
    return {name: tuple(rows) for name, rows in found.items() if rows is not None}


def _stem(file: str) -> str:
    from pathlib import Path

    return Path(file).name
