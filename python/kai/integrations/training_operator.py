"""Training Operator v1: PyTorchJob and its relatives (spec 7 T2, T5).

    training_operator.build(
        request, name="train", image="pytorch/pytorch", replicas={"Master": 1, "Worker": 3}
    )

KAI waits for all replicas of a job, or for `gang_min` of them. The queue, the priority and the
topology are read from the job; the pods of every role have the schedulerName.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kai.api import kinds, rules
from kai.api.arguments import in_a_sentence
from kai.integrations.kubernetes import pod_template
from kai.integrations.workloads import head, patch, placed, segment_annotations
from kai.settings import Built, PodRequest, native_or
from kai.settings.native import to_native

API = "kubeflow.org/v1"

# Kind -> its roles by default.
_ROLES: Mapping[str, Mapping[str, int]] = {
    "PyTorchJob": {"Master": 1},
    "TFJob": {"Worker": 1},
    "XGBoostJob": {"Master": 1},
    "JAXJob": {"Worker": 1},
    "PaddleJob": {"Worker": 1},
    "MPIJob": {"Launcher": 1, "Worker": 1},
}


@in_a_sentence
def build(
    request: PodRequest,
    *,
    kind: str = "PyTorchJob",
    api_version: str = API,
    name: str | None = None,
    namespace: str | None = None,
    image: str | None = None,
    command: Sequence[str] | None = None,
    args: Sequence[str] | None = None,
    replicas: Mapping[str, int] | None = None,
    gpu_roles: Iterable[str] | None = None,
    requests: Mapping[str, PodRequest] | None = None,
    elastic: tuple[int, int] | None = None,
    segment_size: int | None = None,
    segment_required_level: str | None = None,
    segment_preferred_level: str | None = None,
    restart_policy: str | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A training job; native: of kubeflow.training.

    kind: PyTorchJob, TFJob, XGBoostJob, JAXJob, PaddleJob or MPIJob. replicas: role -> its pods.
    gpu_roles: the roles that get GPUs; None: all but parameter servers and launchers. requests:
    other settings for some roles. elastic: of a PyTorchJob, its fewest and most workers.
    segment_size, with the levels: parts of the workers of a PyTorchJob that get one domain each.

    Raises InvalidRequestError for an unknown kind or restart policy, for invalid
    numbers, for `elastic` or segments of another kind than PyTorchJob, for a role that the job does
    not have, with `as_native` if kubeflow.training is not installed, and with `strict` for
    settings that the job cannot express.
    """
    rules.one_of("kind", kind, _ROLES)
    known = kinds.KINDS[kind]
    field = known.pods[0].path.split(".")[1].removesuffix("{}")
    pods = dict(_ROLES[kind] if replicas is None else replicas)
    for role, count in pods.items():  # spec 7 T5: KAI groups no job that has an empty role
        rules.count(f"replicas[{role!r}]", count)
    container = known.container or ""
    words: dict[str, Any] = {"image": image, "command": command, "args": args}
    spec: dict[str, Any] = {
        "runPolicy": {},  # the API wants it, be it empty
        field: {
            role: {"replicas": count, "template": pod_template(container, **words)}
            for role, count in pods.items()
        },
    }
    if restart_policy is not None:
        rules.one_of("restart_policy", restart_policy, ("Always", "OnFailure", "Never", "ExitCode"))
        for each in spec[field].values():
            each["restartPolicy"] = restart_policy
    if elastic is not None:
        spec["elasticPolicy"] = _elastic(kind, elastic)
    segments: dict[str, str] = {}
    if segment_size is not None:
        if kind != "PyTorchJob" or "Worker" not in pods:
            raise rules.refuse("only a PyTorchJob's workers have segments: remove segment_size=")
        rules.count("segment_size", segment_size)
        levels = (segment_required_level, segment_preferred_level)
        segments = segment_annotations(request, segment_size, *levels)
        spec[field]["Worker"]["template"]["metadata"] = {"annotations": segments}
    elif segment_required_level is not None or segment_preferred_level is not None:
        raise rules.refuse("a level of segments needs a size: write segment_size=")
    if kind == "MPIJob" and api_version != API:
        spec = {"slotsPerWorker": request.gpus or request.devices, **spec}
    manifest = {**head(api_version, kind, name, namespace), "spec": spec}
    built = patch(
        manifest, request,
        roles=gpu_roles, requests=requests, strict=strict, orchestrator="training-operator",
    )  # fmt: skip
    values = built.settings
    native = native_or(
        values,
        lambda: to_native(_CLASSES.format(kind), values, library="kubeflow.training"),
        as_native=as_native,
        library="the package kubeflow-training",
    )
    return placed(replace(built, native=native), segments, "pod template of the workers")


_CLASSES = "KubeflowOrgV1{}"


def _elastic(kind: str, bounds: tuple[int, int]) -> dict[str, int]:
    if kind != "PyTorchJob":
        raise rules.refuse(f"a {kind} is not elastic: remove elastic=, or use a PyTorchJob")
    least, most = bounds
    rules.count("elastic[0]", least)
    rules.count("elastic[1]", most)
    if least > most:
        raise rules.refuse(f"elastic is {bounds}: write the smaller number first")
    return {"minReplicas": least, "maxReplicas": most}
