"""Fixes of the labels that pods require, in their node affinity and node selector."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from proven import fixes, plan_of

import kai

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def expression(label: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": label, "operator": operator} | ({"values": list(values)} if values else {})


def requiring(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    """The `spec` of a pod for nodes that meet all expressions of one of these terms."""
    made = {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}}
    return {"affinity": {"nodeAffinity": made}}


def cluster_with(spec: dict[str, Any], **options: Any) -> kai.Cluster:
    cluster = kai.Cluster().queue("a")
    for name, team, zone in (("n1", "b", "z1"), ("n2", "b", "z2"), ("n3", "c", "z2")):
        labels = {"team": team, "topology.kubernetes.io/zone": zone, "size": "3"}
        cluster.node(name, gpus=4, labels=labels)
    return cluster.pending("a/new", gpus=4, pod_spec=spec, **options)


def terms_of(how: tuple[str, ...]) -> Any:
    return yaml.safe_load("\n".join(how))["spec"]["affinity"]["nodeAffinity"][REQUIRED]


def test_another_value_that_nodes_have_is_accepted() -> None:
    cluster = cluster_with(requiring([expression("team", "In", "a", "d")]))
    found = fixes(cluster, "a/new")
    assert found["affinity"].changes == ("accept team=b too in the node affinity of Job a/new",)
    assert terms_of(found["affinity"].how) == {
        "nodeSelectorTerms": [{"matchExpressions": [expression("team", "In", "a", "d", "b")]}]
    }
    assert found["label"].changes == ("label node n1 with team=a",)


@pytest.mark.parametrize(
    ("unmet", "text", "of_nodes"),
    [
        (expression("gold", "Exists"), "gold exists", "label node n1 with gold=true"),
        (
            expression("team", "DoesNotExist"),
            "team does not exist",
            "remove the label team from node n1",
        ),
        (
            expression("team", "NotIn", "b", "c"),
            "team not in (b, c)",
            "remove the label team from node n1",
        ),
        (expression("size", "Gt", "5"), "size > 5", None),
    ],
)
def test_an_expression_that_no_node_meets_is_dropped(
    unmet: dict[str, Any], text: str, of_nodes: str | None
) -> None:
    """A term without expressions would match no node."""
    found = fixes(cluster_with(requiring([unmet])), "a/new")
    assert found["affinity"].changes == (f"drop {text} from the node affinity of Job a/new",)
    assert terms_of(found["affinity"].how) is None
    assert ([*found["label"].changes] if "label" in found else [None]) == [of_nodes]


def test_the_other_expressions_of_the_term_stay() -> None:
    term = [expression("gold", "Exists"), expression("team", "In", "c")]
    fix = fixes(cluster_with(requiring(term)), "a/new")["affinity"]
    assert terms_of(fix.how) == {
        "nodeSelectorTerms": [{"matchExpressions": [expression("team", "In", "c")]}]
    }
    assert fix.starts == "Then it is placed: 1 pod on n3."


def test_of_several_terms_the_nearest_is_relaxed() -> None:
    far = [expression("gold", "Exists"), expression("size", "Gt", "5")]
    near = [expression("silver", "Exists")]
    fix = fixes(cluster_with(requiring(far, near)), "a/new")["affinity"]
    assert fix.changes == ("drop silver exists from the node affinity of Job a/new",)


def test_two_expressions_are_dropped_together_where_one_is_not_enough() -> None:
    term = [expression("gold", "Exists"), expression("size", "Gt", "5")]
    fix = fixes(cluster_with(requiring(term)), "a/new")["affinity"]
    assert fix.changes == ("drop gold exists and size > 5 from the node affinity of Job a/new",)


def test_two_labels_of_a_selector_are_dropped_together() -> None:
    cluster = cluster_with({}, node_selector={"team": "a", "gold": "yes"})
    fix = fixes(cluster, "a/new")["selector"]
    assert fix.changes == ("drop the node selectors gold=yes and team=a of Job a/new",)


def test_a_selector_and_an_affinity_are_two_changes() -> None:
    cluster = cluster_with(requiring([expression("gold", "Exists")]), node_selector={"team": "a"})
    found = [fix.kinds for fix in plan_of(cluster).fix("a/new", most=20)]
    assert ("selector", "affinity") in found


def test_labels_that_describe_a_node_are_not_removed() -> None:
    zone = expression("topology.kubernetes.io/zone", "NotIn", "z1", "z2")
    found = fixes(cluster_with(requiring([zone])), "a/new")
    assert "affinity" in found
    assert "label" not in found


def test_as_many_nodes_are_labelled_as_the_gang_needs() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 3, gpus=4, labels={"team": "b"})
    cluster.pending("a/new", pods=2, gpus=4, min_member=2, node_selector={"team": "a"})
    fix = fixes(cluster, "a/new")["label"]
    assert fix.changes == ("label nodes n1, n2 with team=a",)
    assert fix.how == ("kubectl label nodes n1 n2 --overwrite team=a",)
