"""Kinds of objects: their API group, and which list of a snapshot holds them (spec 2 L7)."""

from collections.abc import Mapping
from typing import Any

from kai.api.keys import KAI_GROUP, SCHEDULING_GROUP

LISTS = {
    "Pod": "pods",
    "Node": "nodes",
    "Queue": "queues",
    "PodGroup": "podGroups",
    "BindRequest": "bindRequests",
    "PriorityClass": "priorityClasses",
    "ConfigMap": "configMaps",
    "Namespace": "namespaces",
    "PersistentVolume": "persistentVolumes",
    "PersistentVolumeClaim": "persistentVolumeClaims",
    "CSIStorageCapacity": "csiStorageCapacities",
    "StorageClass": "storageClasses",
    "CSIDriver": "csiDrivers",
    "CSINode": "csiNodes",  # in no snapshot of KAI's: it does not look at them
    "ResourceClaim": "resourceClaims",
    "ResourceSlice": "resourceSlices",
    "DeviceClass": "deviceClasses",
    "Topology": "topologies",
    "NodeResourceTopology": "nodeResourceTopologies",
}

GROUPS = {
    "Pod": "",
    "Node": "",
    "ConfigMap": "",
    "Namespace": "",
    "PersistentVolume": "",
    "PersistentVolumeClaim": "",
    "ReplicationController": "",
    "Deployment": "apps",
    "StatefulSet": "apps",
    "ReplicaSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
    "CronJob": "batch",
    "Queue": SCHEDULING_GROUP,
    "PodGroup": SCHEDULING_GROUP,
    "BindRequest": SCHEDULING_GROUP,
    "Topology": KAI_GROUP,
    "PriorityClass": "scheduling.k8s.io",
    "CSIStorageCapacity": "storage.k8s.io",
    "StorageClass": "storage.k8s.io",
    "CSIDriver": "storage.k8s.io",
    "CSINode": "storage.k8s.io",
    "ResourceClaim": "resource.k8s.io",
    "ResourceSlice": "resource.k8s.io",
    "DeviceClass": "resource.k8s.io",
    "NodeResourceTopology": "topology.node.k8s.io",
}
"""The group of every kind kai reads. Others have a Queue, a Job and a PodGroup too."""

GANG_WORKLOADS = {
    "PyTorchJob": "kubeflow.org",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io",
}
"""Kinds of other projects, with their groups, whose gangs have parts that kai knows."""

WORKLOADS = frozenset(
    ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", *GANG_WORKLOADS)
)
"""Kinds whose pods kai makes when a manifest gives none."""

OTHER_WORKLOADS = {
    "DaemonSet": "apps",
    "TFJob": "kubeflow.org",
    "MPIJob": "kubeflow.org",
    "XGBoostJob": "kubeflow.org",
    "JAXJob": "kubeflow.org",
    "PaddleJob": "kubeflow.org",
    "Notebook": "kubeflow.org",
    "TrainJob": "trainer.kubeflow.org",
    "RayJob": "ray.io",
    "RayCluster": "ray.io",
    "RayService": "ray.io",
    "JobSet": "jobset.x-k8s.io",
    "SparkApplication": "sparkoperator.k8s.io",
    "Workflow": "argoproj.io",
    "PodCliqueSet": "grove.io",
    "PodGangSet": "grove.io",
}
"""Kinds that would run pods, but whose pods have to be given."""

IRRELEVANT = frozenset(
    (
        "Binding",
        "ComponentStatus",
        "Config",
        "ControllerRevision",
        "Endpoints",
        "Event",
        "LimitRange",
        "PodTemplate",
        "ResourceQuota",
        "SchedulingShard",
        "Secret",
        "Service",
        "ServiceAccount",
    )
)
"""Kinds of the groups above that no plan depends on. Other groups are not looked into at all."""

CLUSTER_SCOPED = frozenset(
    (
        "Node",
        "Namespace",
        "Queue",
        "PriorityClass",
        "PersistentVolume",
        "StorageClass",
        "CSIDriver",
        "CSINode",
        "ResourceSlice",
        "DeviceClass",
        "Topology",
        "NodeResourceTopology",
    )
)


def group_of(api_version: str) -> str:
    """ "apps" of "apps/v1", "" of "v1"."""
    return api_version.rpartition("/")[0]


def full_name(manifest: Mapping[str, Any], *, cluster_scoped: bool = False) -> str:
    """ "namespace/name", or the name alone; "" for an object without a name."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    name = str(metadata.get("name") or "")
    if cluster_scoped or not name:
        return name
    return f"{metadata.get('namespace') or 'default'}/{name}"
