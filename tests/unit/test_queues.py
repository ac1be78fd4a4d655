"""The queue builder."""

import json
from typing import Any

import pytest

import kai
from kai import queues

FREE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def test_the_queues_of_the_reference_example() -> None:
    """The two queues of the ZenML example (spec 7 C11)."""
    assert kai.queues.unlimited("test", parent="default") == [
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": "default"},
            "spec": {"resources": {"cpu": FREE, "gpu": FREE, "memory": FREE}},
        },
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": "test"},
            "spec": {
                "parentQueue": "default",
                "resources": {"cpu": FREE, "gpu": FREE, "memory": FREE},
            },
        },
    ]


def test_amounts_are_in_the_units_of_a_queue() -> None:
    """Spec 5 A5: devices, millicores, megabytes."""
    _, vision = queues.tree(
        {
            "ml": {
                "queues": {
                    "vision": {
                        "gpus": 1.5,
                        "gpu_limit": "4",
                        "cpus": "2500m",
                        "memory": "4096Mi",
                        "memory_limit": "unlimited",
                        "weight": 3,
                        "priority": 200,
                        "reclaim_min_runtime": "5m",
                    }
                }
            }
        }
    )
    assert vision["spec"] == {
        "parentQueue": "ml",
        "priority": 200,
        "reclaimMinRuntime": "5m",
        "resources": {
            "gpu": {"quota": 1.5, "limit": 4, "overQuotaWeight": 3},
            "cpu": {"quota": 2500, "limit": -1, "overQuotaWeight": 3},
            "memory": {"quota": 4295, "limit": -1, "overQuotaWeight": 3},
        },
    }


def test_a_parent_deserves_the_sum_of_its_children() -> None:
    made = queues.tree(
        {"ml": {"queues": {"vision": {"gpus": 4}, "speech": {"gpus": 2, "cpus": "unlimited"}}}}
    )
    assert [each["metadata"]["name"] for each in made] == ["ml", "vision", "speech"]
    resources = made[0]["spec"]["resources"]
    assert (resources["gpu"]["quota"], resources["cpu"]["quota"]) == (6, -1)
    assert resources["memory"]["quota"] == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"alone": {}}, "no parent and no children"),
        ({"a": {"queues": {"b": {}, "a": {}}}}, "twice"),
        ({"a b": {"queues": {"c": {}}}}, "name of a Kubernetes object"),
        ({"q" * 70: {"queues": {"c": {}}}}, "63 letters"),
        ({"a": {"queues": {"b": {"gpu": 1}}}}, "gpus"),
        ({"a": {"queues": {"b": {"gpus": -2}}}}, "unlimited"),
        ({"a": {"queues": {"b": {"memory": "lots"}}}}, "64Gi"),
        ({"a": {"queues": {"b": {"gpus": True}}}}, "unlimited"),
        ({"a": {"queues": {"b": {"gpus": 4, "gpu_limit": 2}}}}, "write a larger limit"),
        ({"a": {"queues": {"b": {"gpus": "unlimited", "gpu_limit": 2}}}}, "write a larger limit"),
        ({"a": {"gpu_limit": 1, "queues": {"b": {"gpus": 2}}}}, "write a larger limit"),
        ({"a": {"queues": {"b": {"weight": -1}}}}, "of at least 0"),
        ({"a": {"queues": {"b": {"priority": "high"}}}}, "whole number"),
        ({"a": {"queues": {"b": {"preempt_min_runtime": 5}}}}, "with a unit"),
        ({"a": {"queues": ["b"]}}, "by name"),
        ({"a": {"queues": {"b": ["gpus"]}}}, "mapping"),
    ],
)
def test_invalid_queues_are_refused(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(kai.InvalidRequestError, match=sentence):
        queues.tree(words)


def test_pods_are_scheduled_from_the_built_queues() -> None:
    """The engine reads them, not only the test."""

    def planned(objects: list[dict[str, Any]]) -> dict[str, str]:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "labels": {"kai.scheduler/queue": "test"}},
            "spec": {
                "schedulerName": "kai-scheduler",
                "containers": [
                    {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2", "cpu": "1"}}}
                ],
            },
        }
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "status": {"capacity": {"nvidia.com/gpu": "4", "cpu": "8", "memory": "32Gi"}},
        }
        manifests = {"apiVersion": "v1", "kind": "List", "items": [*objects, pod, node]}
        cluster = kai.load(json.dumps(manifests).encode(), strict=True)
        plan = kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z")
        return {name: group.verdict for name, group in plan.pod_groups.items()}

    made = queues.unlimited("test")
    assert json.loads(json.dumps(made)) == made
    assert list(planned(made).values()) == ["placed"]
    tight = queues.tree({"default": {"queues": {"test": {"gpu_limit": 1}}}})
    assert list(planned(tight).values()) == ["unschedulable"]


def test_only_differences_are_changed() -> None:
    wanted = queues.unlimited("test")
    assert queues.ensure(wanted, wanted) == []
    changes = queues.ensure(wanted)
    assert [str(each) for each in changes] == ["create queue default", "create queue test"]
    assert [each.manifest for each in changes] == wanted

    existing = queues.unlimited("test")
    existing[1]["metadata"]["labels"] = {"own": "1"}
    existing[1]["spec"]["resources"]["gpu"]["quota"] = 4
    existing[1]["spec"]["displayName"] = "Test"
    (change,) = queues.ensure(wanted, existing)
    assert str(change) == "change queue test: spec.resources.gpu.quota: 4 -> -1"
    assert change.manifest["metadata"]["labels"] == {"own": "1"}
    assert change.manifest["spec"]["displayName"] == "Test"
    assert existing[1]["spec"]["resources"]["gpu"]["quota"] == 4


def test_a_missing_parent_is_refused() -> None:
    _, test = queues.unlimited("test")
    with pytest.raises(
        kai.InvalidRequestError, match="parent default of queue test does not exist"
    ):
        queues.ensure([test])
    parent, _ = queues.unlimited("test")
    assert [each.name for each in queues.ensure([test], [parent])] == ["test"]


def test_circular_parents_are_refused() -> None:
    a, b = queues.unlimited("a", parent="b")
    a["spec"]["parentQueue"] = "a"
    with pytest.raises(kai.InvalidRequestError, match="its own ancestor"):
        queues.ensure([a, b])


def test_other_objects_are_refused() -> None:
    with pytest.raises(kai.InvalidRequestError, match="Pod p is not a Queue"):
        queues.ensure([{"kind": "Pod", "metadata": {"name": "p"}}])
