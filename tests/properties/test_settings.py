"""Whatever a request asks for, and whichever orchestrator it goes through: the pod that comes of it
asks the engine for exactly that. And what makes no sense is a sentence, and never a pod.

The pods of a thousand requests are planned in one cluster that has room for all of them, so the
engine's own parser says what each asks for. The seed is printed; KAI_SEED runs another one.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

import kai
from kai import PodRequest
from kai.api import quantities
from kai.integrations import ORCHESTRATORS
from kai.settings import Built

SEED = int(os.environ.get("KAI_SEED", "20260807"))
REQUESTS = 1000
GPU_MIB = 81920
CAPACITY = GPU_MIB - GPU_MIB % 100
QUEUES = ("team-a", "team-b", "1e3")
MIG_NODE = "sliced"

Arguments = dict[str, Any]


# ---- requests ------------------------------------------------------------------------------------


def gpus(rng: random.Random) -> Arguments:
    kind = rng.choice(("none", "whole", "fraction", "fraction", "memory", "memory", "mig"))
    if kind == "whole":
        return {"gpus": rng.randint(1, 8)}
    if kind == "mig":
        return {"mig": rng.choice(("1g.5gb", "3g.20gb", "1g.5gb.me"))}
    if kind == "none":
        return {"gpus": 0} if rng.random() < 0.3 else {}
    asked: Arguments = {}
    if kind == "fraction":
        part = Fraction(rng.randint(5, 999), 1000)
        asked["gpu_fraction"] = rng.choice((part, float(part), f"{float(part):.3f}"))
    else:
        mib = rng.randint(1, 79)
        asked["gpu_memory"] = rng.choice((f"{mib}Gi", mib * 1024, mib * 1000 + 7, f"{mib}000"))
    if rng.random() < 0.3:
        asked["devices"] = rng.randint(2, 4)
    if rng.random() < 0.1:
        asked["mps"] = True
    return asked


def is_large(asked: Arguments) -> bool:
    """Enough for a framework beside what CUDA takes."""
    if "gpu_fraction" in asked:
        return float(asked["gpu_fraction"]) > 0.2
    return "gpu_memory" in asked and PodRequest(**asked).gpu_memory > 4000  # type: ignore[operator]


def valid(rng: random.Random) -> Arguments:
    asked = gpus(rng)

    def sometimes(**choices: Any) -> None:
        for name, values in choices.items():
            if rng.random() < 0.25:
                asked[name] = rng.choice(values)

    sometimes(
        priority=("train", "build", "inference"),
        preemptible=(True, False),
        preemption_delay=("5m", "90s"),
        staleness_grace_period=("5m", "-1s"),
        gang_min=(1, 4),
        platform=("gke", "eks", "aks", "generic"),
        gpu_type=("model",),
        node_selector=({"zone": "a"}, {}),
        tolerations=([{"key": "x", "operator": "Exists"}], [{"key": "y", "value": "z"}]),
        env=({"A": "1"}, {"B": "on", "C": 5}),
        cpu=("500m", 2, "1.5"),
        memory=("1Gi", "2000Mi"),
        labels=({"team": "vision"}, {"number": "1e3"}),
        annotations=({"own": "0.5"}, {"example.com/x": "y"}),
        runtime_class=("nvidia",),
        privileged=(True, False),
        headroom=(256, 512),
        container=("trainer", "main"),
        gpu_memory_total=(GPU_MIB,),
        kai_version=("0.17", "0.18"),
        workaround_stale_gang=(True,),
    )
    if rng.random() < 0.95:
        asked["queue"] = rng.choice(QUEUES)
    if rng.random() < 0.1:
        asked[rng.choice(("both", "legacy"))] = True
    if "platform" in asked and asked["platform"] != "generic" and rng.random() < 0.5:
        asked["node_pool"] = "pool"
    if rng.random() < 0.1:
        level = rng.choice(("required_level", "preferred_level"))
        asked |= {"topology": "cluster", level: "example.com/rack"}
    if is_large(asked) and rng.random() < 0.5:
        asked["framework"] = rng.sample(("torch", "tensorflow", "jax", "vllm", "cupy"), 2)
        asked["isolation"] = rng.choice(("none", "hamicore", "mps"))
    return asked


def invalid(rng: random.Random) -> Arguments:
    """A valid request with one thing in it that makes no sense."""
    asked = valid(rng)
    plain = {k: v for k, v in asked.items() if k not in ("gpu_fraction", "gpu_memory", "devices",
             "mps", "gpus", "mig", "framework", "isolation", "gpu_memory_total")}  # fmt: skip
    text = "".join(rng.choice("aZ9 /:é_=") for _ in range(rng.randint(1, 8))) + "!"
    wrong: tuple[Callable[[], Arguments], ...] = (
        lambda: plain | {"gpu_fraction": rng.choice((0, -rng.random(), "nan", "0x1p-1", text, ""))},
        lambda: plain | {"gpu_fraction": 1 + rng.random() + 0.001},
        lambda: plain | {"gpu_fraction": rng.randint(2, 9)},
        lambda: plain | {"gpu_fraction": Fraction(1, 3)},
        lambda: plain | {"gpu_memory": rng.choice((0, -5, "5GB", "1500k", 2.5, text, True))},
        lambda: plain | {"gpu_memory": CAPACITY + 1, "gpu_memory_total": GPU_MIB},
        lambda: plain | {"gpu_fraction": 0.5, "gpus": 1},
        lambda: plain | {"gpu_fraction": 0.5, "gpu_memory": 5},
        lambda: plain | {"gpus": rng.choice((-1, 0.5, "2", True))},
        lambda: plain | {"devices": rng.randint(2, 4)},
        lambda: plain | {"gpus": 1, "mps": True},
        lambda: plain | {"gpu_fraction": 0.5, "devices": rng.choice((0, -1, 1.5))},
        lambda: plain | {"gpu_fraction": 0.5, "env": {"NVIDIA_VISIBLE_DEVICES": "all"}},
        lambda: plain | {"mig": text},
        lambda: asked | {"queue": rng.choice((text, "", "a" * 64, 5))},
        lambda: asked | {"container": text},
        lambda: asked | {"labels": {"a": rng.choice((text, 5, None))}},
        lambda: asked | {"annotations": {"gpu-fraction": "0.5"}},
        lambda: asked | {"annotations": {"own": rng.choice((5, None, ["a"]))}},
        lambda: asked | {"node_selector": {text: "a"}},
        lambda: asked | {"tolerations": [rng.choice(({}, {"key": "a", "operator": text}, 5))]},
        lambda: asked | {"platform": text},
        lambda: asked | {"topology": None, "required_level": "rack", "preferred_level": None},
        lambda: asked | {"cpu": rng.choice((text, 0, -1))},
        lambda: asked | {"memory": "2Gi", "memory_limit": "1Gi"},
        lambda: asked | {"preemption_delay": rng.choice(("5", "", text))},
        lambda: asked | {"framework": text},
        lambda: asked | {"gang_min": rng.choice((0, -1, "2"))},
    )
    return rng.choice(wrong)()


def of_seed(make: Callable[[random.Random], Arguments], salt: int) -> Iterator[Arguments]:
    print(f"seed {SEED}")
    for number in range(REQUESTS):
        yield make(random.Random(SEED * 1_000_003 + salt * REQUESTS + number))


# ---- what the engine reads -----------------------------------------------------------------------


def cluster(pods: list[Mapping[str, Any]]) -> kai.Cluster:
    """One with room for all, on nodes that every request's selector fits."""
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
    """Devices, portion and MiB of each, whole GPUs, and whether it goes where slices are."""
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


def test_there_is_a_builder_for_every_orchestrator() -> None:
    assert sorted(THERE) == sorted(ORCHESTRATORS)


@pytest.mark.parametrize("orchestrator", THERE)
def test_the_pod_asks_for_what_was_requested(orchestrator: str) -> None:
    build = import_module(f"kai.integrations.{ORCHESTRATORS[orchestrator]}").build
    requests: dict[str, PodRequest] = {}
    pods: list[Mapping[str, Any]] = []
    refused: list[str] = []
    for number, asked in enumerate(of_seed(valid, 1)):
        request = PodRequest(**asked)
        try:
            try:
                built = build(request, as_native=False)
            except kai.InvalidRequestError:
                # Most name their container themselves, and one pod is no gang of four.
                request = request.with_changes(container=None, gang_min=None)
                built = build(request, as_native=False)
        except kai.InvalidRequestError as error:
            refused.append(f"{asked}: {error}")
            continue
        told = {each.setting for each in built.unsupported}
        if told & {"gpus", "gpu_fraction", "gpu_memory", "mig", "devices"}:
            refused.append(f"{asked}: unsupported {told}")
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
    """What the engine does not tell: keys that are texts, and the container that gets it all."""
    json.dumps(built.settings)
    spec = pod["spec"]
    if "schedulerName" in spec:
        assert spec["schedulerName"] == request.scheduler_name
    else:
        # Set by a policy, which goes by the queue label.
        assert request.queue is None
        said = (*built.warnings, *map(str, built.unsupported))
        assert any("scheduler" in each for each in said), said
    for part in ("labels", "annotations"):
        values = pod["metadata"].get(part, {})
        assert all(isinstance(each, str) for each in values.values()), values
    containers = {each["name"]: each for each in spec["containers"]}
    named = pod["metadata"].get("annotations", {}).get("gpu-fraction-container-name")
    assert named is None or named in containers
    for each in (*spec["containers"], *spec.get("initContainers", ())):
        assert each.get("resources", True), "resources that say nothing"
        limits = each.get("resources", {}).get("limits", {})
        assert not (request.shares_gpus and any(key.startswith("nvidia.com/") for key in limits))
    told = {each.setting for each in built.unsupported}
    for resource, rounding in (("cpu", 0), ("memory", 10**6)):  # Metaflow has whole megabytes
        wanted = getattr(request, resource)
        if wanted is not None and resource not in told:
            least = quantities.parse(wanted)
            found = [
                quantities.parse(each["resources"]["requests"][resource])
                for each in spec["containers"]
                if resource in each.get("resources", {}).get("requests", {})
            ]
            assert any(least <= each <= least + rounding for each in found), (wanted, found)


def test_what_makes_no_sense_is_a_sentence_and_never_a_pod() -> None:
    for asked in of_seed(invalid, 2):
        with pytest.raises(kai.InvalidRequestError) as caught:
            PodRequest(**asked)
        sentence = str(caught.value)
        assert len(sentence) > 20, asked
        assert "\n" not in sentence, asked
        with pytest.raises(kai.InvalidRequestError):
            kai.pod_settings(**asked)
