"""Merging settings into any object gives the object with the settings or an error message, and
never a traceback.

Objects from the builders are broken in one to three places. The seed is printed; KAI_SEED runs
another one.
"""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from manifests import CORE, CUSTOM, GPUS, request_with
from random_requests import SEED

import kai
from kai import queues
from kai.integrations import (
    airflow,
    argo,
    convert,
    dagster,
    dynamo,
    flyte,
    kserve,
    kubernetes,
    metaflow,
    mlflow,
    prefect,
    ray,
    skypilot,
    spark,
    trainer,
    zenml,
)

ROUNDS = 150
REQUESTS = (
    kai.PodRequest(queue="a", gpu_fraction=0.5),
    kai.PodRequest(
        queue="a",
        gpus=2,
        env={"A": "b"},
        topology="t",
        required_level="l",
        node_selector={"a": "b"},
    ),
)
NONSENSE: tuple[Any, ...] = (
    *(None, 0, -1, 1.5, True, "", [], {}, "x" * 300, ["a", None], {"a": None}, {1: 2}, [[]], [{}]),
    *("0.5", "nan", float("nan"), 10**30, "é", b"x", "{{ placeholder }}"),
)
POD = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"gpu-memory": "5"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "i",
                "env": [{"name": "A", "value": "1"}],
                "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "1"}},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            }
        ],
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "volumes": [{"name": "v"}],
        "nodeSelector": {"a": "b"},
    },
}
VOLCANO = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "x", "labels": {"volcano.sh/a": "b"}},
    "spec": {
        "minAvailable": 2,
        "queue": "q",
        "maxRetry": 3,
        "tasks": [{"name": "w", "replicas": 2, "minAvailable": 1, "template": POD}],
    },
}
WORKFLOW = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "metadata": {"generateName": "x-"},
    "spec": {"templates": [{"name": "t", "container": POD["spec"]["containers"][0]}]},
}
KUEUE = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "x", "labels": {"kueue.x-k8s.io/queue-name": "l"}},
    "spec": {"suspend": True, "parallelism": 2, "template": POD},
}


def plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def made(built: Any, *path: str) -> Any:
    value = plain(built.settings)
    for step in path:
        value = value[step]
    return value


def runtime() -> Any:
    built = trainer.build(REQUESTS[1], as_native=False)
    (found,) = [each for each in built.cluster_objects if each["kind"].endswith("Runtime")]
    return plain(found)


ASKED = REQUESTS[1]
MANIFESTS = [
    plain(make(request_with(gpus))) for make in {**CORE, **CUSTOM}.values() for gpus in GPUS[1:4]
]
# Functions that are called with a request and an object, and valid objects for them.
TAKERS: dict[str, tuple[Callable[[kai.PodRequest, Any], Any], list[Any]]] = {
    "manifests": (lambda r, e: kubernetes.patch(e, r, as_native=False), MANIFESTS),
    "workflows": (lambda r, e: kubernetes.patch(e, r, as_native=False), [WORKFLOW]),
    "dynamo": (lambda r, e: dynamo.build(r, manifest=e), MANIFESTS),
    "argo": (lambda r, e: argo.patch(e, r, templates=["t"]), [WORKFLOW]),
    "ray": (lambda r, e: ray.patch(e, r), MANIFESTS),
    "spark": (lambda r, e: spark.patch(e, r), MANIFESTS),
    "airflow": (lambda r, e: airflow.build(r, pod_template=e, as_native=False), [POD]),
    "apply_to": (lambda _, e: kai.pod_settings(gpu_fraction=0.5).apply_to(e), [POD]),
    "dagster": (
        lambda r, e: dagster.build(r, existing=e, as_native=False),
        [made(dagster.build(ASKED, as_native=False))],
    ),
    "dagster pipes": (
        lambda r, e: dagster.build(r, existing=e, pipes=True, as_native=False),
        [made(dagster.build(ASKED, pipes=True, as_native=False))],
    ),
    "flyte": (
        lambda r, e: flyte.build(r, existing=e, as_native=False),
        [made(flyte.build(ASKED, as_native=False))],
    ),
    "kserve": (
        lambda r, e: kserve.build(r, existing=e, as_native=False),
        [made(kserve.build(ASKED, as_native=False))],
    ),
    "metaflow": (
        lambda r, e: metaflow.build(r, existing=e, as_native=False),
        [
            {
                **made(metaflow.build(ASKED, as_native=False)),
                "resources": {"gpu": 1},
                "environment": {"vars": {"A": "b"}},
            }
        ],
    ),
    "mlflow": (
        lambda r, e: mlflow.build(r, template=e, as_native=False),
        [made(mlflow.build(ASKED, as_native=False), "kube-job-template")],
    ),
    "prefect": (
        lambda r, e: prefect.build(r, template=e, as_native=False),
        [made(prefect.build(ASKED, as_native=False), "base_job_template")],
    ),
    "skypilot": (
        lambda r, e: skypilot.build(r, existing=e, as_native=False),
        [made(skypilot.build(ASKED, as_native=False))],
    ),
    "trainer": (lambda r, e: trainer.build(r, base=e, as_native=False), [runtime()]),
    "zenml": (
        lambda r, e: zenml.build(r, existing=e, as_native=False),
        [made(zenml.build(ASKED, as_native=False))],
    ),
    "volcano": (lambda _, e: convert.volcano(e), [VOLCANO]),
    "kueue": (lambda _, e: convert.kueue(e), [KUEUE]),
    "queues": (
        lambda _, e: queues.ensure(*2 * [e if isinstance(e, list) else [e]]),
        [plain(queues.unlimited("test"))],
    ),
    "lint": (lambda _, e: kai.lint([e, e]), MANIFESTS),
    "load": (
        lambda _, e: kai.load(json.dumps({"kind": "List", "items": [e]}, default=str).encode()),
        MANIFESTS,
    ),
}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(each, (*path, key))


def broken(rng: random.Random, value: Any) -> Any:
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        known = list(paths(value))
        if not known:
            return value
        *steps, last = rng.choice(known)
        holder = value
        for step in steps:
            holder = holder[step]
        if rng.random() < 0.8:
            holder[last] = copy.deepcopy(rng.choice(NONSENSE))
        else:
            del holder[last]
    return value


@pytest.mark.parametrize("taker", TAKERS)
def test_random_invalid_input_raises_one_sentence(taker: str) -> None:
    take, objects = TAKERS[taker]
    print(f"seed {SEED}")
    answers: list[str] = []
    for number in range(ROUNDS):
        rng = random.Random(SEED * 1_000_003 + number)
        given = broken(rng, rng.choice(objects))
        if rng.random() < 0.02:
            given = rng.choice([each for each in NONSENSE if each is not None])
        try:
            take(rng.choice(REQUESTS), given)
        except kai.KaiError as error:
            answers.append(str(error))
        except Exception as error:
            raise AssertionError(f"number {number}: {given!r}") from error
    assert [each for each in answers if len(each) < 15 or "\n" in each] == []
    assert answers or taker in ("lint", "load")
