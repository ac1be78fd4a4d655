"""``kai plan --fix``: the smallest changes that start a pod group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kai.cli.failures import ANSWER_IS_NO
from kai.cli.output import Answers
from kai.cli.work import Warner, patiently

if TYPE_CHECKING:
    from kai.engine.fixing.fixes import Fixes
    from kai.engine.plan import Plan


def fix(plan: Plan, name: str, costs: dict[str, float], answers: Answers, warn: Warner) -> None:
    """Writes the fixes of one pod group. The status is 1 if it waits and there is none."""
    if answers.form == "csv":
        raise click.UsageError("-o csv and --fix exclude each other: changes are not a table")
    found = patiently("trying changes", lambda: plan.fix(name, costs=costs))
    if not found and not found.starts_already:
        warn.status = warn.status or ANSWER_IS_NO
    write(found, plan, answers)


def write(found: Fixes, plan: Plan, answers: Answers) -> None:
    if answers.for_people:
        answers.page.verbatim(found.lines())
        return
    answers.explain("", {"input": plan.input, "now": plan.now_text, **found.to_dict()})


def costs_in(given: tuple[str, ...]) -> dict[str, float]:
    """ "quota=2" as {"quota": 2}. Raises click.UsageError for what is not a kind and a number."""
    from kai.engine.fixing.changes import COSTS

    costs: dict[str, float] = {}
    for each in given:
        kind, is_given, number = each.partition("=")
        try:
            costs[kind] = float(number)
        except ValueError:
            is_given = ""
        if not is_given or kind not in COSTS:
            raise click.UsageError(
                f"--cost {each}: give a kind and a number, such as nodes=3; kinds: "
                + ", ".join(sorted(COSTS))
            )
    return costs
