"""``kai plan --fix``: the smallest changes that start a pod group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kai.cli.failures import ANSWER_IS_NO
from kai.cli.output import Answers
from kai.cli.work import PlanArguments, Warner, patiently

if TYPE_CHECKING:
    from kai.engine.fixing.fixes import Fixes, GroupPage
    from kai.engine.plan import Plan


def fix(
    plan: Plan,
    name: str,
    costs: dict[str, float],
    arguments: PlanArguments,
    answers: Answers,
    warn: Warner,
) -> GroupPage:
    """Writes the fixes of one pod group; returns its page. The status is 1 if it waits and there is
    none."""
    if answers.form == "csv":
        raise click.UsageError("-o csv and --fix exclude each other: changes are not a table")
    page = patiently("trying changes", lambda: plan.page(name, costs=costs))
    if arguments.is_live and page.fixes:
        page = replace(page, fixes=marked(page.fixes, arguments.kubeconfig, arguments.context))
    found = page.fixes
    if not found and not found.starts_already:
        warn.status = warn.status or ANSWER_IS_NO
    if answers.for_people:
        answers.fixes(found)
    else:
        answers.explain("", {"input": plan.input, "now": plan.now_text, **found.to_dict()})
    return page


def write_html(file: str, pages: Sequence[GroupPage]) -> None:
    """All pages in one file, for `--html`."""
    from kai.api import files
    from kai.api.naming import naming
    from kai.engine.fixing.fixes import document

    with naming(f"--html: {file}"):
        files.write(file, document(pages).encode())


def marked(found: Fixes, kubeconfig: str | None, context: str | None) -> Fixes:
    """With a mark on changes that this user may not make in the live cluster."""
    import asyncio

    from kai.k8s.client import Client
    from kai.live.own_rights import allowed

    async def ask() -> Fixes:
        async with await Client.connect(kubeconfig, context) as client:
            rights = [right for fix in found for right in fix.rights]
            may = await allowed(client, rights)
            return found.marked(may.__contains__)

    return asyncio.run(ask())


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
        if not is_given or kind not in COSTS or not math.isfinite(costs[kind]):
            raise click.UsageError(
                f"--cost {each}: give a kind and a number, such as nodes=3; kinds: "
                + ", ".join(sorted(COSTS))
            )
    return costs
