"""For any request and any orchestrator, the resulting pod requests exactly the same from the
engine. An invalid request gives a message, and never a pod.

The pods of a thousand requests are planned in one cluster with room for all of them, so the
engine's own parser determines the request of each.
"""

import copy
import json
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from random_requests import GPU_MIB, QUEUES, REQUESTS, invalid, of_seed, valid

import kai
from kai import PodRequest
from kai.api import quantities
from kai.integrations import ORCHESTRATORS
from kai.settings import Built

MIG_NODE = "sliced"


# ---- what the engine reads -----------------------------------------------------------------------


def cluster(pods: list[Mapping[str, Any]]) -> kai.Cluster:
    """A cluster with room for all, on nodes that match every request's selector."""
    labels = {
        "zone": "a",
        "cloud.google.com/gke-accelerator": "model",
        "nvidia.com/gpu.product": "model",
        "cloud.google.com/gke-nodepool": "pool",
        "eks.amazonaws.com/nodegroup": "pool",
        "kubernetes.azure.com/agentpool": "pool",
        "example.com/rack": "r1",
        "nvidia.com/gpu.memory": str(GPU_MIB),
    }
    plenty = {"cpu": "1000000", "memory": "1000000Gi", "pods": "100000"}
    plenty["ephemeral-storage"] = "1000000Gi"
    slices = {f"nvidia.com/mig-{each}": "5000" for each in ("1g.5gb", "3g.20gb", "1g.5gb.me")}
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"resources": dict.fromkeys(("gpu", "cpu", "memory"), free)}
    items: list[Mapping[str, Any]] = [
        {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"name": "whole", "labels": labels},
            "status": {"capacity": plenty | {"nvidia.com/gpu": str(8 * REQUESTS)}},
        },
        {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {
                "name": MIG_NODE,
                "labels": labels | {"nvidia.com/mig.strategy": "mixed"},
            },
            "status": {"capacity": plenty | slices},
        },
        {
            "kind": "Topology",
            "apiVersion": "kai.scheduler/v1alpha1",
            "metadata": {"name": "cluster"},
            "spec": {"levels": [{"nodeLabel": "example.com/rack"}]},
        },
        *(
            {
                "kind": "Queue",
                "apiVersion": "scheduling.run.ai/v2",
                "metadata": {"name": name},
                "spec": resources | ({} if name == "root" else {"parentQueue": "root"}),
            }
            for name in ("root", "default-queue", *QUEUES)
        ),
        *pods,
    ]
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": items})
    return kai.load(text.encode(), strict=True)


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def pod_of(built: Built, name: str) -> dict[str, Any]:
    pod = copy.deepcopy(plain(built.pod))
    pod["kind"], pod["apiVersion"] = "Pod", "v1"
    pod["metadata"] = {**pod.get("metadata", {}), "name": name, "namespace": "default"}
    pod["metadata"].pop("ownerReferences", None)
    return pod  # type: ignore[no-any-return]


def asked_of(request: PodRequest) -> tuple[Any, ...]:
    """Devices, portion and MiB of each, whole GPUs, and whether it is placed on nodes with
    slices."""
    if request.gpu_kind == "fraction":
        return (request.devices, float(str(request.gpu_fraction)), None, None, False)
    if request.gpu_kind == "memory":
        return (request.devices, None, int(str(request.gpu_memory)), None, False)
    return (None, None, None, request.gpus or 0, request.gpu_kind == "mig")


def placed_as(decision: Any, request: PodRequest) -> tuple[Any, ...]:
    shares = request.shares_gpus
    return (
        decision.devices,
        decision.portion if request.gpu_kind == "fraction" else None,
        decision.gpu_memory_mib if request.gpu_kind == "memory" else None,
        None if shares else (0 if request.gpu_kind == "mig" else decision.gpus),
        decision.node == MIG_NODE if request.gpu_kind == "mig" else False,
    )


# ---- what has to hold ----------------------------------------------------------------------------

THERE = [
    name
    for name, module in ORCHESTRATORS.items()
    if find_spec(f"kai.integrations.{module}") is not None
    and hasattr(import_module(f"kai.integrations.{module}"), "build")
]


def test_every_orchestrator_has_a_builder() -> None:
    assert sorted(THERE) == sorted(ORCHESTRATORS)


@pytest.mark.parametrize("orchestrator", THERE)
def test_the_pod_has_the_request(orchestrator: str) -> None:
    build = import_module(f"kai.integrations.{ORCHESTRATORS[orchestrator]}").build
    requests: dict[str, PodRequest] = {}
    pods: list[Mapping[str, Any]] = []
    refused: list[str] = []
    for number, given in enumerate(of_seed(valid, 1)):
        request = PodRequest(**given)
        try:
            try:
                built = build(request, as_native=False)
            except kai.InvalidRequestError:
                # Most orchestrators name their container themselves, and one pod is not a gang of
                # four.
                request = request.with_changes(container=None, gang_min=None)
                built = build(request, as_native=False)
        except kai.InvalidRequestError as error:
            refused.append(f"{given}: {error}")
            continue
        found = {each.setting for each in built.unsupported}
        if found & {"gpus", "gpu_fraction", "gpu_memory", "mig", "devices"}:
            refused.append(f"{given}: unsupported {found}")
            continue
        name = f"p{number}"
        pod = pod_of(built, name)
        check_pod(pod, request, built)
        requests[name], pods = request, [*pods, pod]
    assert refused == []
    plan = kai.Scheduler().plan(cluster(pods), now="2026-01-01T00:00:00Z")
    decided = {each.pod.removeprefix("default/"): each for each in plan.decisions}
    missing = [name for name in requests if name not in decided]
    assert missing == [], [plan.why(f"default/{name}") for name in missing[:3]]
    differ = {
        name: (requests[name], asked_of(requests[name]), placed_as(each, requests[name]))
        for name, each in decided.items()
        if placed_as(each, requests[name]) != asked_of(requests[name])
    }
    assert differ == {}


def check_pod(pod: Mapping[str, Any], request: PodRequest, built: Built) -> None:
    """Checks what the engine does not report: keys that are texts, and the container that gets the
    settings."""
    json.dumps(built.settings)
    spec = pod["spec"]
    if "schedulerName" in spec:
        assert spec["schedulerName"] == request.scheduler_name
    else:
        # Set by a policy, which uses the queue label.
        assert request.queue is None
        reported = (*built.warnings, *map(str, built.unsupported))
        assert any("scheduler" in each for each in reported), reported
    for part in ("labels", "annotations"):
        values = pod["metadata"].get(part, {})
        assert all(isinstance(each, str) for each in values.values()), values
    containers = {each["name"]: each for each in spec["containers"]}
    named = pod["metadata"].get("annotations", {}).get("gpu-fraction-container-name")
    assert named is None or named in containers
    for each in (*spec["containers"], *spec.get("initContainers", ())):
        assert each.get("resources", True), "empty resources"
        limits = each.get("resources", {}).get("limits", {})
        assert not (request.shares_gpus and any(key.startswith("nvidia.com/") for key in limits))
    unsupported = {each.setting for each in built.unsupported}
    for resource, rounding in (("cpu", 0), ("memory", 10**6)):  # Metaflow has whole megabytes
        wanted = getattr(request, resource)
        if wanted is not None and resource not in unsupported:
            least = quantities.parse(wanted)
            found = [
                quantities.parse(each["resources"]["requests"][resource])
                for each in spec["containers"]
                if resource in each.get("resources", {}).get("requests", {})
            ]
            assert any(least <= each <= least + rounding for each in found), (wanted, found)


def test_an_invalid_request_raises_one_sentence() -> None:
    for request in of_seed(invalid, 2):
        with pytest.raises(kai.InvalidRequestError) as caught:
            PodRequest(**request)
        sentence = str(caught.value)
        assert len(sentence) > 20, request
        assert "\n" not in sentence, request
        with pytest.raises(kai.InvalidRequestError):
            kai.pod_settings(**request)
