"""Checks of the aliases of Topology objects (spec 5 A28).

The API server itself checks the labels, with the rules of the CustomResourceDefinition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission import answers
from kai.admission.finding import Finding, refusal
from kai.api.reading import at, objects, text


def topology_refusals(topology: Mapping[str, Any]) -> Iterator[Finding]:
    """Why KAI's webhook would refuse a Topology: at most one finding, for all its aliases."""
    levels = objects(at(topology, "spec", "levels"))
    labels = {text(each.get("nodeLabel")) for each in levels}
    aliases = Counter(alias for each in levels if (alias := text(each.get("alias"))))
    twice = sorted(alias for alias, times in aliases.items() if times > 1)
    beside_labels = sorted(alias for alias in aliases if alias in labels)
    reasons = [
        form.format(aliases=" ".join(found))
        for form, found in (
            (answers.ALIASES_TWICE, twice),
            (answers.ALIASES_OF_LABELS, beside_labels),
        )
        if found
    ]
    if not reasons:
        return
    wrong = {*twice, *beside_labels}
    index = next(i for i, each in enumerate(levels) if text(each.get("alias")) in wrong)
    names = ", ".join(map(repr, sorted(wrong)))
    yield refusal(
        "topology-alias",
        ("spec", "levels", index, "alias"),
        f"aliases must differ from each other and from the labels, unlike {names}",
        "write another alias",
        answer=answers.ALIASES.format(reasons="; ".join(reasons)),
    )
