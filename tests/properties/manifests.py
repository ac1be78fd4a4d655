"""One manifest of each kind that the builders make, for tests that know the correct form: the
definitions of the kinds (test_schemas.py), an API server (tests/e2e)."""

from collections.abc import Callable, Mapping
from typing import Any

import kai
from kai.integrations import (
    dynamo,
    jobset,
    kubernetes,
    leaderworkerset,
    ray,
    spark,
    trainer,
    training_operator,
)

GPUS: list[dict[str, Any]] = [
    {},
    {"gpus": 2},
    {"gpu_fraction": 0.5},
    {"gpu_memory": "5Gi"},
    {"gpu_fraction": 0.5, "devices": 2},
    {"mig": "1g.5gb"},
    {"claim": "gpu"},
]


def request_with(gpus: Mapping[str, Any]) -> kai.PodRequest:
    """A request with all settings."""
    return kai.PodRequest(
        queue="team-a", env={"A": "b"}, cpu=1, memory="1Gi", memory_limit="2Gi", priority="train",
        preemptible=True, topology="net", required_level="zone", preferred_level="rack",
        node_selector={"pool": "gpu"}, runtime_class="nvidia", privileged=True,
        labels={"team": "vision"}, annotations={"example.com/note": "x"}, preemption_delay="5m",
        **gpus,
    )  # fmt: skip


SPARK_OWN = {"type": "Python", "sparkVersion": "4.0.0", "mainApplicationFile": "local:///x.py"}


def application(request: kai.PodRequest) -> Mapping[str, Any]:
    """With the fields that only its user knows."""
    built = spark.build(request, name="x", image="i", as_native=False)
    return {**built, "spec": {**built["spec"], **SPARK_OWN}}


CLIQUES = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "PodCliqueSet",
    "metadata": {"name": "x"},
    "spec": {
        "replicas": 1,
        "template": {
            "cliques": [
                {
                    "name": "p",
                    "spec": {
                        "roleName": "p",
                        "replicas": 2,
                        "podSpec": {"containers": [{"name": "main", "image": "i"}]},
                    },
                }
            ]
        },
    },
}

CORE: dict[str, Callable[[kai.PodRequest], Any]] = {
    "Pod": lambda r: kubernetes.pod(r, name="x", image="i", as_native=False),
    "Job": lambda r: kubernetes.job(r, name="x", image="i", as_native=False),
    "CronJob": lambda r: kubernetes.cron_job(
        r, name="x", image="i", schedule="@daily", as_native=False
    ),
    "Deployment": lambda r: kubernetes.deployment(r, name="x", image="i", as_native=False),
    "StatefulSet": lambda r: kubernetes.stateful_set(r, name="x", image="i", as_native=False),
    "DaemonSet": lambda r: kubernetes.daemon_set(r, name="x", image="i", as_native=False),
}

CUSTOM: dict[str, Callable[[kai.PodRequest], Any]] = {
    "RayCluster": lambda r: ray.build(r, name="x", image="i", as_native=False),
    "RayJob": lambda r: ray.build(
        r, kind="RayJob", name="x", image="i", entrypoint="python x.py", as_native=False
    ),
    "RayService": lambda r: ray.build(r, kind="RayService", name="x", image="i", as_native=False),
    "JobSet": lambda r: jobset.build(r, name="x", image="i", as_native=False),
    "LeaderWorkerSet": lambda r: leaderworkerset.build(
        r, name="x", image="i", size=4, as_native=False
    ),
    "SparkApplication": application,
    "TrainJob": lambda r: trainer.build(r, name="x", num_nodes=2, as_native=False),
    "PyTorchJob": lambda r: training_operator.build(r, name="x", image="i", as_native=False),
    "MPIJob": lambda r: training_operator.build(
        r, kind="MPIJob", name="x", image="i", as_native=False
    ),
    "PodCliqueSet": lambda r: dynamo.build(r, manifest=CLIQUES),
    "DynamoGraphDeployment": lambda r: dynamo.build(r, name="x", services=["Frontend", "Decode"]),
}
