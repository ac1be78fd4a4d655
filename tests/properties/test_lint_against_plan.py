"""Lint refuses an object exactly when a plan leaves it out, for random changes of valid manifests.

KAI_MANIFESTS: how many manifests (200). KAI_SEED: the first seed. The disagreements that are meant
are in REASONS.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from mutated_manifests import KINDS, changed, valid

import kai
from kai.api import kinds
from kai.linting import Finding, lint
from kai.linting.templates import first_placeholder, placeholder_in

FIRST = int(os.environ.get("KAI_SEED", "0"))
MANIFESTS = int(os.environ.get("KAI_MANIFESTS", "200"))
NOT_CREATED = "kai does not create the pods of a"
ERRORS = ("queue-cycle", "duration-refused")
"""What KAI's webhook admits, and plans leave out."""
Manifest = Mapping[str, Any]


def left_out(manifest: Manifest) -> list[str]:
    """Field and message of each object that a plan leaves out, also of kinds without pods."""
    data = json.dumps(manifest).encode()
    return [
        f"{each.field} {each.message}"
        for each in kai.load(data).rejected
        if not each.message.startswith(NOT_CREATED)
    ]


# ---- disagreements that are meant ----------------------------------------------------------------


def _is_planned(kind: str) -> bool:
    row = kinds.KINDS[kind]
    return kind == "Pod" or row.makes_pods is True or (row.read and not row.pods)


ONLY_LINT: Mapping[str, Callable[[Manifest, Finding], bool]] = {
    "plans do not create the pods of this kind": lambda m, _: not _is_planned(m["kind"]),
    "without storage objects plans do not read claims": lambda m, _: (
        m["kind"] == "PersistentVolumeClaim"
    ),
    "the API server refuses it, and plans do not read it": lambda m, found: (
        found.at[:1] == ("metadata",) and m["kind"] != "Pod"
    ),
}
ONLY_PLAN: Mapping[str, Callable[[Manifest, str], bool]] = {
    "another program fills in the value": lambda m, _: _has_placeholder(m),
    "settings without a name can be checked, too": lambda m, problem: (
        problem.startswith(("metadata.name is missing", "metadata is missing"))
        and bool(kinds.KINDS[m["kind"]].pods)
    ),
    "lint warns, as the parent queue may be in another file": lambda m, problem: (
        problem.startswith("spec.parentQueue parent queue")
        and [each.code for each in lint(m)] == ["queue-parent-unknown"]
    ),
}
REASONS = (*ONLY_LINT, *ONLY_PLAN)
"""Every disagreement has one of these reasons."""


def _has_placeholder(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_placeholder(each) for each in value.values())
    if isinstance(value, list):
        return any(map(_has_placeholder, value))
    return bool(placeholder_in(value))


def disagreement(manifest: Manifest) -> str:
    """Why lint and the plan disagree; "" if they agree, and "?" without a reason."""
    problems = left_out(manifest)
    refused = [each for each in lint(manifest) if each.refused or each.code in ERRORS]
    if bool(problems) == bool(refused):
        return ""
    if refused:
        found = (name for name, holds in ONLY_LINT.items() if holds(manifest, refused[0]))
    else:
        found = (name for name, holds in ONLY_PLAN.items() if holds(manifest, problems[0]))
    return next(found, f"? {[*problems, *map(str, refused)]}")


# ---- tests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_valid_manifests_are_accepted_by_both(kind: str) -> None:
    for seed in range(5):
        manifest = valid(kind, Random(seed))
        assert left_out(manifest) == []
        assert [str(each) for each in lint(manifest)] == []
        assert first_placeholder(manifest) == ""


def test_lint_refuses_what_a_plan_leaves_out_and_nothing_else() -> None:
    unexplained, refused = [], 0
    for seed in range(FIRST, FIRST + MANIFESTS):
        random = Random(seed)
        kind = random.choice(KINDS)
        how, path, manifest = changed(valid(kind, random), random)
        refused += bool(left_out(manifest))
        why = disagreement(manifest)
        if why.startswith("?"):
            unexplained.append(f"seed {seed}: {kind}, {how} at {path}: {why}")
    print(f"KAI_SEED={FIRST} KAI_MANIFESTS={MANIFESTS}")
    assert unexplained == []
    assert MANIFESTS / 10 < refused < MANIFESTS


def test_each_reason_is_needed() -> None:
    """A reason that no manifest has would hide a disagreement."""
    seen = set()
    for seed in range(3_000, 6_000):
        random = Random(seed)
        kind = random.choice(KINDS)
        seen.add(disagreement(changed(valid(kind, random), random)[2]))
        if seen >= set(REASONS):
            return
    assert seen >= set(REASONS)
