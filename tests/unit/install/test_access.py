"""What each role may do: one table, and no more than it needs."""

from __future__ import annotations

from typing import Any

import pytest

from kai.install import access
from kai.install.access import RULES, Rule

EVERY_ROLE = (*access.ROLES, access.ALL)


def granted(objects: list[dict[str, Any]], kind: str) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for each in objects
        if each["kind"] == kind
        for rule in each.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_the_rules_are_granted_and_nothing_else(role: str) -> None:
    made = access.objects(role, "kai", "gpu")
    rules = access.rules_of(role)
    for kind, own in (("ClusterRole", False), ("Role", True)):
        assert granted(made, kind) == {
            (rule.group, rule.resource, verb)
            for rule in rules
            if rule.own is own
            for verb in rule.verbs
        }


def test_all_may_do_what_each_role_may_and_no_more() -> None:
    together = {
        (rule.group, rule.resource, rule.own, verb)
        for rules in RULES.values()
        for rule in rules
        for verb in rule.verbs
    }
    of_all = access.rules_of(access.ALL)
    assert {(r.group, r.resource, r.own, verb) for r in of_all for verb in r.verbs} == together
    assert len({(rule.group, rule.resource, rule.own) for rule in of_all}) == len(of_all)


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_no_role_has_wildcards_reads_secrets_or_makes_pods(role: str) -> None:
    for rule in access.rules_of(role):
        assert "*" not in (rule.group, rule.resource, *rule.verbs)
        assert rule.resource != "secrets"
        assert not (rule.resource == "pods" and "create" in rule.verbs)
        assert rule.verbs


def test_one_verb_can_be_taken_away() -> None:
    without = [
        rule
        for rule in access.rules_of("scheduler")
        if rule != Rule("", "pods/binding", ("create",))
    ]
    made = access.objects("scheduler", "kai", "gpu", without)
    lost = granted(access.objects("scheduler", "kai", "gpu"), "ClusterRole") - granted(
        made, "ClusterRole"
    )
    assert lost == {("", "pods/binding", "create")}


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_leases_are_those_of_the_own_namespace(role: str) -> None:
    [role_object] = [each for each in access.objects(role, "kai", "gpu") if each["kind"] == "Role"]
    assert role_object["metadata"]["namespace"] == "gpu"
    [rule] = role_object["rules"]
    assert rule["resources"] == ["leases"]


def test_an_administrator_may_add_owners() -> None:
    [more] = [
        each for each in access.objects("pod-grouper", "kai", "gpu") if "aggregationRule" in each
    ]
    [selector] = more["aggregationRule"]["clusterRoleSelectors"]
    assert selector == {"matchLabels": {"kai.scheduler/pod-owners": "true"}}
    assert not any(
        "aggregationRule" in each for each in access.objects("queue-controller", "kai", "gpu")
    )
