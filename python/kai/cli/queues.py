"""``kai queues``: who deserves what, and who uses it."""

from __future__ import annotations

import json

import click

from kai.cli.work import Warner, plan_inputs, planning_options


@click.command(
    "queues",
    epilog="""\b
Examples:
  kai queues snapshot.zip
  kai queues manifests/ --json | jq '.queues["team-a"].gpu'
""",
)
@planning_options
def command(
    inputs: tuple[str, ...], as_json: bool, config: str | None, as_kai: bool, now: str | None
) -> int:
    """Show what each queue deserves, its fair share and what it uses.

    The numbers are those at the start of a cycle: "deserved" is the quota,
    "fair share" what the queue should have given who asks for what, "in use"
    what it has, "wanted" that and what its pods wait for. Queues stand below
    their parents. INPUT is as for `kai plan`.
    """
    warn = Warner()
    page = None
    for plan in plan_inputs(inputs, warn, config=config, as_kai=as_kai, now=now):
        warn.of(plan.warnings, strict=False)
        for rejected in plan.rejected:
            warn(f"left out: {rejected}")
        if as_json:
            numbers = {name: queue.to_dict() for name, queue in plan.queues.items()}
            click.echo(json.dumps({"input": plan.input, "now": plan.now_text, "queues": numbers}))
            continue
        from kai.cli.show import Page
        from kai.engine import report

        page = page or Page()
        page.heading(f"{plan.input} at {plan.now_text}: queues at the start of the cycle")
        page.tables(report.queue_tables_of(plan))
        if not plan.queues:
            page.paragraph("No queue has numbers: is the plugin proportion configured?")
    return warn.status
