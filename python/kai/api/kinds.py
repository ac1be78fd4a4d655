"""Kinds of objects: one table with all facts about each kind.

    kinds.KINDS["CronJob"].group     # "batch"
    kinds.KINDS["CronJob"].owner     # "spec.jobTemplate.metadata"

File reading, grouping, builders and lint all use these rows. Rules that need code, such as the gang
of a PyTorchJob, are in the modules that apply them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kai.api import defaults, keys
from kai.api.keys import KAI_GROUP, SCHEDULING_GROUP


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of a workload that share one description.

    `path` has ``[name]`` for the items of a list that are identified by that key, and ``{}`` for
    each entry of a mapping. `role`: the name of the pods, if the path does not contain it. `shape`:
    the format of the description, if it is not a pod template (kai.integrations.workloads.shapes).
    """

    path: str
    role: str = ""
    gpu: bool = True  # these pods request GPUs
    no_gpu: tuple[str, ...] = ()  # roles and types that request no GPUs
    type_field: str = ""  # field with their type, in the description or beside it
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of objects. The fields about pods and gangs apply to workloads.

    `group`: its API group. `listed`: the list of a snapshot that holds its objects (spec 2 L7).
    `read`: plans depend on objects of this kind. `makes_pods`: True: kai creates the pods if a
    manifest has none; False: the manifest must contain them; None: it runs no pods itself.
    `priority`: the class of its pod groups if nothing names one (spec 6 C28).

    `pods`: where the pods are described. `owner`: metadata of the object that KAI uses as the
    owner; `owns_itself`: KAI reads no owner, and the pod has all the settings. `gang`: where
    `gang_min` is set: "owner": in an annotation of the owner, "leaf": on each replicated job,
    otherwise the path of a field; None: nowhere, and `gang_hint` gives advice. `container`: the
    operator's name for the main container. `parts`: where KAI looks for the topology of one role:
    "pod": the template, "job": the replicated job. `ray`: path of the Ray cluster that it
    describes. `looked_through`: pods are grouped by the objects it owns, and by its own labels and
    annotations (spec 6 C28f). `through`: kinds of the objects between it and its pods.
    `pod_labels`: labels with its name that all its pods have. `copies_metadata`: its operator gives
    its labels and annotations to its pods.
    """

    group: str
    listed: str = ""
    cluster_scoped: bool = False
    read: bool = True
    makes_pods: bool | None = None
    priority: str = defaults.TRAIN
    pods: tuple[Pods, ...] = ()
    owner: str = "metadata"
    owns_itself: bool = False
    container: str | None = None
    parts: str | None = None
    gang: str | None = None
    gang_hint: str = "use a Job, a JobSet or a PyTorchJob for pods that must start together"
    segments: bool = False  # its workers can be split into segments
    native: str | None = None  # class in the kubernetes client
    topology: bool = True
    ray: str = ""
    queue_annotation: str | None = None  # annotation from which its operator reads the queue
    looked_through: bool = False
    scheduled_by_operator: bool = False  # its operator may name the scheduler
    through: tuple[str, ...] = ()
    pod_labels: tuple[str, ...] = ()
    copies_metadata: bool = False


_TEMPLATE = (Pods("spec.template"),)
MIN_AVAILABLE = "spec.runPolicy.schedulingPolicy.minAvailable"
_REPLICATED = "replicatedJobs[name].template.spec.template"
_RAY_HINT = "set minReplicas of the worker groups: KAI waits for the head and that many workers"
_NO_ENGINES = ("Frontend", "Planner", "frontend", "planner", "epp")
_STORAGE, _DEVICES = "storage.k8s.io", "resource.k8s.io"
_IGNORED = Kind("", read=False)


def _service(group: str, native: str | None = None, **more: Any) -> Kind:
    hint = "use a Job, JobSet or LeaderWorkerSet: KAI starts each of these pods separately"
    return Kind(group, pods=_TEMPLATE, native=native, gang_hint=hint, **more)


def _training(family: str, container: str, *no_gpu: str, **more: Any) -> Kind:
    pods = Pods(f"spec.{family}ReplicaSpecs{{}}.template", no_gpu=no_gpu)
    return Kind(
        "kubeflow.org", pods=(pods,), container=container, gang=MIN_AVAILABLE,
        pod_labels=(keys.KUBEFLOW_JOB_LABEL,),
        **{"makes_pods": False, **more},
    )  # fmt: skip


def _runtime() -> Kind:
    """A template of JobSets."""
    return Kind(
        "trainer.kubeflow.org", read=False, pods=(Pods(f"spec.template.spec.{_REPLICATED}"),),
        owner="spec.template.metadata", parts="job", gang="leaf",
    )  # fmt: skip


def _ray(path: str, **more: Any) -> Kind:
    return Kind(
        "ray.io",
        makes_pods=False,
        pods=(
            Pods(f"{path}.headGroupSpec.template", role="head", gpu=False),
            Pods(f"{path}.workerGroupSpecs[groupName].template"),
        ),
        parts="pod",
        gang_hint=_RAY_HINT,
        ray=path,
        scheduled_by_operator=True,
        **more,
    )


def _spark(path: str, **more: Any) -> Kind:
    return Kind(
        "sparkoperator.k8s.io",
        pods=(
            Pods(f"{path}.driver", "driver", False, shape="spark-driver"),
            Pods(f"{path}.executor", "executor", shape="spark-executor"),
        ),
        owner="", owns_itself=True,
        gang_hint="remove it: KAI starts the pods of an application one by one",
        scheduled_by_operator=True,
        **more,
    )  # fmt: skip


def _workflow(path: str = "spec", **more: Any) -> Kind:
    return Kind(
        "argoproj.io", pods=(Pods(f"{path}.templates[name]", shape="argo"),), owns_itself=True,
        container="main", scheduled_by_operator=True, **more,
    )  # fmt: skip


KINDS: Mapping[str, Kind] = {
    # Kinds that a snapshot contains.
    "Pod": Kind("", "pods", pods=(Pods(""),), owner="", owns_itself=True, native="V1Pod"),
    "Node": Kind("", "nodes", cluster_scoped=True),
    "Queue": Kind(SCHEDULING_GROUP, "queues", cluster_scoped=True),
    "PodGroup": Kind(SCHEDULING_GROUP, "podGroups"),
    "BindRequest": Kind(SCHEDULING_GROUP, "bindRequests"),
    "PriorityClass": Kind("scheduling.k8s.io", "priorityClasses", cluster_scoped=True),
    "ConfigMap": Kind("", "configMaps"),
    "Namespace": Kind("", "namespaces", cluster_scoped=True),
    "PersistentVolume": Kind("", "persistentVolumes", cluster_scoped=True),
    "PersistentVolumeClaim": Kind("", "persistentVolumeClaims"),
    "CSIStorageCapacity": Kind(_STORAGE, "csiStorageCapacities"),
    "StorageClass": Kind(_STORAGE, "storageClasses", cluster_scoped=True),
    "CSIDriver": Kind(_STORAGE, "csiDrivers", cluster_scoped=True),
    # Not in KAI's snapshots: KAI does not read them.
    "CSINode": Kind(_STORAGE, "csiNodes", cluster_scoped=True),
    "ResourceClaim": Kind(_DEVICES, "resourceClaims"),
    "ResourceSlice": Kind(_DEVICES, "resourceSlices", cluster_scoped=True),
    "DeviceClass": Kind(_DEVICES, "deviceClasses", cluster_scoped=True),
    "Topology": Kind(KAI_GROUP, "topologies", cluster_scoped=True),
    "NodeResourceTopology": Kind(
        "topology.node.k8s.io", "nodeResourceTopologies", cluster_scoped=True
    ),
    # Workloads of Kubernetes itself.
    "Job": Kind(
        "batch", makes_pods=True, pods=_TEMPLATE, gang="owner", native="V1Job",
        pod_labels=(keys.JOB_NAME_LABEL, keys.OLD_JOB_NAME_LABEL),
    ),
    "CronJob": Kind(  # spec 7 J3: KAI groups by the Job
        "batch", pods=(Pods("spec.jobTemplate.spec.template"),),
        owner="spec.jobTemplate.metadata",
        gang_hint="use a JobSet: KAI does not read the number from Jobs of a CronJob",
        native="V1CronJob", through=("Job",),
    ),
    "Deployment": _service(
        "apps", "V1Deployment", makes_pods=True, priority=defaults.INFERENCE,
        through=("ReplicaSet",),
    ),
    "StatefulSet": _service("apps", "V1StatefulSet", makes_pods=True),
    "ReplicaSet": _service("apps", "V1ReplicaSet", makes_pods=True),
    "DaemonSet": _service("apps", "V1DaemonSet", makes_pods=False),
    "ReplicationController": Kind("", makes_pods=True),
    # Workloads of other projects.
    "JobSet": Kind(
        "jobset.x-k8s.io", makes_pods=False, pods=(Pods(f"spec.{_REPLICATED}"),),
        parts="job", gang="leaf", through=("Job",), pod_labels=(keys.JOBSET_NAME_LABEL,),
    ),
    "TrainJob": Kind(  # its JobSet has its name
        "trainer.kubeflow.org", makes_pods=False, looked_through=True,
        through=("JobSet", "Job"), pod_labels=(keys.JOBSET_NAME_LABEL,),
    ),
    "TrainingRuntime": _runtime(),
    "ClusterTrainingRuntime": _runtime(),
    "LeaderWorkerSet": Kind(
        "leaderworkerset.x-k8s.io", makes_pods=True, segments=True,
        pods=(
            Pods("spec.leaderWorkerTemplate.leaderTemplate", role="leader"),
            Pods("spec.leaderWorkerTemplate.workerTemplate", role="worker"),
        ),
        gang_hint="remove it: KAI waits for spec.leaderWorkerTemplate.size pods",
        through=("StatefulSet", "Pod"), pod_labels=(keys.LWS_NAME_LABEL,),
    ),
    "PyTorchJob": _training("pytorch", "pytorch", makes_pods=True, segments=True),
    "TFJob": _training("tf", "tensorflow", "PS"),
    "XGBoostJob": _training("xgb", "xgboost"),
    "JAXJob": _training("jax", "jax"),
    "PaddleJob": _training("paddle", "paddle"),
    "MPIJob": _training("mpi", "mpi", "Launcher", through=("Job",)),
    "Notebook": Kind(
        "kubeflow.org", makes_pods=False, priority=defaults.BUILD,
        through=("StatefulSet",), pod_labels=(keys.NOTEBOOK_LABEL,),
    ),
    "RayCluster": _ray("spec", pod_labels=(keys.RAY_CLUSTER_LABEL,)),
    "RayJob": _ray("spec.rayClusterSpec", through=("RayCluster", "Job")),
    "RayService": _ray("spec.rayClusterConfig", through=("RayCluster",)),
    "SparkApplication": _spark(
        "spec", makes_pods=False,
        through=("Pod",), pod_labels=(keys.SPARK_APPLICATION_LABEL,),
    ),
    "ScheduledSparkApplication": _spark("spec.template", read=False),
    "InferenceService": Kind(
        "serving.kserve.io", read=False,
        pods=tuple(
            Pods(f"spec.{each}", each, each == "predictor", shape="predictor")
            for each in ("predictor", "transformer", "explainer")
        ),
        container="kserve-container", topology=False, copies_metadata=True,
        gang_hint="use a LeaderWorkerSet: KAI starts each of these pods separately",
    ),
    "DynamoGraphDeployment": Kind(
        "nvidia.com", read=False,
        pods=(
            Pods(
                "spec.services{}",
                no_gpu=_NO_ENGINES, type_field="componentType", shape="service",
            ),
            Pods("spec.components[name].podTemplate", no_gpu=_NO_ENGINES, type_field="type"),
        ),
        queue_annotation="nvidia.com/kai-scheduler-queue",
        container="main", looked_through=True,
        gang_hint="set replicas of the services: Grove determines which pods start together",
    ),
    "PodCliqueSet": Kind(
        "grove.io", makes_pods=False,
        pods=(Pods("spec.template.cliques[name]", shape="clique"),),
        gang_hint="set minAvailable of the cliques: Grove determines which pods start together",
        scheduled_by_operator=True,
        through=("PodClique", "PodCliqueScalingGroup"), pod_labels=(keys.GROVE_SET_LABEL,),
    ),
    "PodGangSet": Kind("grove.io", makes_pods=False),
    "PodGang": Kind("scheduler.grove.io", read=False),
    "Workflow": _workflow(makes_pods=False, looked_through=True),
    "WorkflowTemplate": _workflow(read=False),
    "ClusterWorkflowTemplate": _workflow(read=False),
    "CronWorkflow": _workflow("spec.workflowSpec", read=False),
    # Kinds of Kubernetes and KAI that do not affect plans.
    "PodTemplate": Kind(
        "", read=False, pods=(Pods("template"),), owner="", topology=False,
        native="V1PodTemplate",
    ),
    "Service": Kind("", read=False, priority=defaults.INFERENCE),  # pods of a Knative Service
    "Binding": _IGNORED,
    "ComponentStatus": _IGNORED,
    "Endpoints": _IGNORED,
    "Event": _IGNORED,
    "LimitRange": _IGNORED,
    "ResourceQuota": _IGNORED,
    "Secret": _IGNORED,
    "ServiceAccount": _IGNORED,
    "ControllerRevision": Kind("apps", read=False),
    "VolumeAttachment": Kind(_STORAGE, cluster_scoped=True, read=False),
    "VolumeAttributesClass": Kind(_STORAGE, cluster_scoped=True, read=False),
    "ResourceClaimTemplate": Kind(_DEVICES, read=False),
    "DeviceTaintRule": Kind(_DEVICES, cluster_scoped=True, read=False),
    "Workload": Kind("scheduling.k8s.io", read=False),
    "Config": Kind(KAI_GROUP, read=False),
    "SchedulingShard": Kind(KAI_GROUP, read=False),
}  # fmt: skip

_UNKNOWN = Kind("")

LISTS = {name: kind.listed for name, kind in KINDS.items() if kind.listed}
CLUSTER_SCOPED = frozenset(name for name, kind in KINDS.items() if kind.cluster_scoped)
WORKLOADS = {name: kind for name, kind in KINDS.items() if kind.pods}
"""Kinds whose manifests describe pods in a format that kai reads."""
WHOLE_GROUPS = frozenset((*(KINDS[name].group for name in LISTS), "apps", "batch"))
"""API groups with all of their kinds in the table: any other kind of these groups is a typing
mistake."""


def known(kind: str) -> Kind:
    """The row of a kind; a row with the defaults for unknown kinds."""
    return KINDS.get(kind, _UNKNOWN)


def row_of_manifest(manifest: Mapping[str, Any]) -> Kind | None:
    """The row of the object's kind; None for another kind, also for one of the same name in
    another API group. Without an apiVersion the name decides."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    row = KINDS.get(kind) if isinstance(kind, str) else None
    is_other = row is not None and isinstance(version, str) and group_of(version) != row.group
    return None if is_other else row


def group_of(api_version: str) -> str:
    """ "apps" of "apps/v1", "" of "v1"."""
    return api_version.rpartition("/")[0]


def items_of(manifest: Mapping[str, Any]) -> list[Any] | None:
    """The items of a List, a PodList and so on; None for other objects.

    Clients in Go write a list without items as null. An object that has a name is no list.
    """
    kind, items = manifest.get("kind"), manifest.get("items")
    if not isinstance(kind, str) or not kind.endswith("List"):
        return None
    if items is None and not full_name(manifest):
        return []
    return items if isinstance(items, list) else None


def full_name(manifest: Mapping[str, Any], *, cluster_scoped: bool = False) -> str:
    """ "namespace/name", or the name alone; "" for an object without a name."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    name = str(metadata.get("name") or "")
    if cluster_scoped or not name:
        return name
    return f"{metadata.get('namespace') or 'default'}/{name}"
