"""The kinds of workloads: where their pods are described, and who owns them for KAI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kai.api import rules
from kai.integrations.workloads.shapes import ARGO, CLIQUE, PREDICTOR, SERVICE, Shape, spark

DEFAULT_QUEUE = "default-queue"  # the one that KAI's chart makes


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of one description in a workload.

    `path` has ``[name]`` for each item of a list, known by that key, and ``{}`` for each entry of a
    mapping. `role`: what they are called, where the path does not name them.
    """

    path: str
    role: str = ""
    gpu: bool = True  # they are the ones that GPUs are asked for
    no_gpu: tuple[str, ...] = ()  # roles and types among them that are not
    type_field: str = ""  # what says their type, in the description or beside it
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of workload.

    `owner`: metadata of the object that KAI takes for the owner. `owns_itself`: there is none that
    it reads, so that the pod says everything. `gang`: how `gang_min` is said: "owner" in an
    annotation there, "leaf" on each replicated job, else the path of a field; None: not at all, and
    `gang_hint` says what to do. `container`: what the operator calls the main one. `parts`: where
    KAI looks for the topology of one role: "pod", the template, or "job", the replicated job.
    """

    pods: tuple[Pods, ...]
    owner: str = "metadata"
    owns_itself: bool = False
    container: str | None = None
    parts: str | None = None
    gang: str | None = None
    gang_hint: str = "use a Job, a JobSet or a PyTorchJob for pods that have to start together"
    native: str | None = None  # class of the kubernetes client
    topology: bool = True
    ray: bool = False  # its groups have rayStartParams
    queue_annotation: str | None = None  # in which its operator looks for the queue


_TEMPLATE = (Pods("spec.template"),)
MIN_AVAILABLE = "spec.runPolicy.schedulingPolicy.minAvailable"
_REPLICATED = "replicatedJobs[name].template.spec.template"
_RAY_HINT = "set minReplicas of the worker groups: KAI waits for the head and that many workers"


def _training(family: str, container: str, *no_gpu: str) -> Kind:
    pods = Pods(f"spec.{family}ReplicaSpecs{{}}.template", no_gpu=no_gpu)
    return Kind((pods,), container=container, gang=MIN_AVAILABLE)


def _ray(path: str) -> Kind:
    return Kind(
        (
            Pods(f"{path}.headGroupSpec.template", role="head", gpu=False),
            Pods(f"{path}.workerGroupSpecs[groupName].template"),
        ),
        parts="pod",
        gang_hint=_RAY_HINT,
        ray=True,
    )


def _service(native: str | None = None) -> Kind:
    hint = "use a Job, JobSet or LeaderWorkerSet: KAI starts each of these pods by itself"
    return Kind(_TEMPLATE, native=native, gang_hint=hint)


_NO_ENGINES = ("Frontend", "Planner", "frontend", "planner", "epp")

_WORKFLOW = Kind((Pods("spec.templates[name]", shape=ARGO),), owns_itself=True, container="main")

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "Pod": Kind((Pods(""),), owner="", owns_itself=True, native="V1Pod"),
        "PodTemplate": Kind(
            (Pods("template"),), owner="", topology=False, native="V1PodTemplate"
        ),
        "Job": Kind(_TEMPLATE, gang="owner", native="V1Job"),
        "CronJob": Kind(  # J3: KAI groups by the Job
            (Pods("spec.jobTemplate.spec.template"),),
            owner="spec.jobTemplate.metadata",
            gang_hint="use a JobSet: KAI reads the number from Jobs that no CronJob made",
            native="V1CronJob",
        ),
        "Deployment": _service("V1Deployment"),
        "StatefulSet": _service("V1StatefulSet"),
        "ReplicaSet": _service("V1ReplicaSet"),
        "DaemonSet": _service("V1DaemonSet"),
        "JobSet": Kind((Pods(f"spec.{_REPLICATED}"),), parts="job", gang="leaf"),
        "TrainingRuntime": Kind(
            (Pods(f"spec.template.spec.{_REPLICATED}"),),
            owner="spec.template.metadata", parts="job", gang="leaf",
        ),
        "ClusterTrainingRuntime": Kind(
            (Pods(f"spec.template.spec.{_REPLICATED}"),),
            owner="spec.template.metadata", parts="job", gang="leaf",
        ),
        "LeaderWorkerSet": Kind(
            (
                Pods("spec.leaderWorkerTemplate.leaderTemplate", role="leader"),
                Pods("spec.leaderWorkerTemplate.workerTemplate", role="worker"),
            ),
            gang_hint="leave it out: KAI waits for spec.leaderWorkerTemplate.size pods",
        ),
        "PyTorchJob": _training("pytorch", "pytorch"),
        "TFJob": _training("tf", "tensorflow", "PS"),
        "XGBoostJob": _training("xgb", "xgboost"),
        "JAXJob": _training("jax", "jax"),
        "PaddleJob": _training("paddle", "paddle"),
        "MPIJob": _training("mpi", "mpi", "Launcher"),
        "RayCluster": _ray("spec"),
        "RayJob": _ray("spec.rayClusterSpec"),
        "RayService": _ray("spec.rayClusterConfig"),
        "SparkApplication": Kind(
            (
                Pods("spec.driver", "driver", False, shape=spark("driver")),
                Pods("spec.executor", "executor", shape=spark("executor")),
            ),
            owner="", owns_itself=True,
            gang_hint="leave it out: KAI starts the pods of an application one by one",
        ),
        "InferenceService": Kind(
            tuple(
                Pods(f"spec.{each}", each, each == "predictor", shape=PREDICTOR)
                for each in ("predictor", "transformer", "explainer")
            ),
            container="kserve-container", topology=False,
            gang_hint="use a LeaderWorkerSet: KAI starts each of these pods by itself",
        ),
        "DynamoGraphDeployment": Kind(
            (
                Pods(
                    "spec.services{}",
                    no_gpu=_NO_ENGINES, type_field="componentType", shape=SERVICE,
                ),
                Pods(
                    "spec.components[name].podTemplate", no_gpu=_NO_ENGINES, type_field="type"
                ),
            ),
            queue_annotation="nvidia.com/kai-scheduler-queue",
            container="main",
            gang_hint="set replicas of the services: Grove says how many pods start together",
        ),
        "PodCliqueSet": Kind(
            (Pods("spec.template.cliques[name]", shape=CLIQUE),),
            gang_hint="set minAvailable of the cliques: Grove says how many pods start together",
        ),
        "Workflow": _WORKFLOW,
        "WorkflowTemplate": _WORKFLOW,
        "ClusterWorkflowTemplate": _WORKFLOW,
    }
)  # fmt: skip


def kind_of(name: str) -> Kind:
    if name == "TrainJob":
        raise rules.refuse("a TrainJob has no pod template: use kai.integrations.trainer.build()")
    rules.one_of("kind", name, KINDS)
    return KINDS[name]
