"""The rights of each role: one table, with no more than the role needs."""

from typing import Any

import pytest

from kai.install import access
from kai.install.access import RULES, Rule

EVERY_ROLE = (*access.ROLES, access.ALL)
EVERYTHING = (*EVERY_ROLE, *access.PROGRAMS)


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


@pytest.mark.parametrize("role", EVERYTHING)
def test_exactly_the_rules_are_granted(role: str) -> None:
    made = access.objects(role, "kai", "gpu")
    rules = access.rules_of(role)
    where = {
        "": [rule for rule in rules if not (rule.own or rule.reserving)],
        "gpu": [rule for rule in rules if rule.own],
        "kai-resource-reservation": [rule for rule in rules if rule.reserving],
    }
    for namespace, chosen in where.items():
        inside = [each for each in made if each["metadata"].get("namespace", "") == namespace]
        assert granted(inside, "Role" if namespace else "ClusterRole") == {
            (rule.group, rule.resource, verb) for rule in chosen for verb in rule.verbs
        }


def test_the_role_all_has_the_union_of_the_rights() -> None:
    together = {
        (rule.group, rule.resource, rule.own, rule.reserving, verb)
        for rules in RULES.values()
        for rule in rules
        for verb in rule.verbs
    }
    of_all = access.rules_of(access.ALL)
    assert {
        (rule.group, rule.resource, rule.own, rule.reserving, verb)
        for rule in of_all
        for verb in rule.verbs
    } == together
    places = {(rule.group, rule.resource, rule.own, rule.reserving) for rule in of_all}
    assert len(places) == len(of_all)


@pytest.mark.parametrize("role", EVERYTHING)
def test_no_role_has_wildcards_reads_secrets_or_makes_pods_of_users(role: str) -> None:
    for rule in access.rules_of(role):
        assert "*" not in (rule.group, rule.resource, *rule.verbs)
        is_own_secret = rule.own and (rule.names or rule.verbs == ("create",))
        assert rule.resource != "secrets" or (role == "admission" and is_own_secret)
        assert rule.reserving or not (rule.resource == "pods" and "create" in rule.verbs)
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
def test_leases_are_in_the_own_namespace(role: str) -> None:
    made = access.objects(role, "kai", "gpu")
    leases = [
        each["metadata"]["namespace"]
        for each in made
        if each["kind"] == "Role" and ("coordination.k8s.io", "leases") in resources_of(each)
    ]
    assert leases == ["gpu"]
    assert not any(group == "coordination.k8s.io" for group, _, _ in granted(made, "ClusterRole"))
    [own] = [each for each in made if each["kind"] == "Role" and namespace_of(each) == "gpu"]
    assert resources_of(own) == {("coordination.k8s.io", "leases")}


def namespace_of(manifest: dict[str, Any]) -> str:
    return str(manifest["metadata"].get("namespace", ""))


def resources_of(manifest: dict[str, Any]) -> set[tuple[str, str]]:
    return {(group, resource) for group, resource, _ in granted([manifest], manifest["kind"])}


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_roles_that_bind_pods_may_create_reservations_in_their_namespace(role: str) -> None:
    beside = [
        each
        for each in access.objects(role, "kai", "gpu")
        if namespace_of(each) == "kai-resource-reservation"
    ]
    if role not in ("scheduler", "binder", access.ALL):
        assert beside == []
        return
    rights, binding = beside
    assert resources_of(rights) == {("", "pods")}
    assert binding["roleRef"]["name"] == rights["metadata"]["name"] == "gpu:kai"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "kai", "namespace": "gpu"}]


def test_a_reservation_pod_may_only_read_and_patch_pods_of_its_namespace() -> None:
    account, rights, binding = access.reservation_account()
    assert {namespace_of(each) for each in (account, rights, binding)} == {
        "kai-resource-reservation"
    }
    assert granted([rights], "Role") == {("", "pods", "get"), ("", "pods", "patch")}
    assert binding["roleRef"]["name"] == rights["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", **account["metadata"]}]


def test_rights_of_reservation_pods_do_not_have_the_name_of_kais_binding_of_another_role() -> None:
    account, *rights = access.reservation_account()
    assert {each["metadata"]["name"] for each in rights} == {"kai-sched:kai-resource-reservation"}
    assert account["metadata"]["name"] == "kai-resource-reservation"


def test_an_administrator_may_add_owners() -> None:
    [more] = [
        each for each in access.objects("pod-grouper", "kai", "gpu") if "aggregationRule" in each
    ]
    [selector] = more["aggregationRule"]["clusterRoleSelectors"]
    assert selector == {"matchLabels": {"kai.scheduler/pod-owners": "true"}}
    assert not any(
        "aggregationRule" in each for each in access.objects("queue-controller", "kai", "gpu")
    )
