"""Resources: the API server's path for the objects of each kind.

    resource("Node").path()                      # /api/v1/nodes
    resource("Pod").path("team", "p", "status")  # /api/v1/namespaces/team/pods/p/status

One table of the kinds that kai reads or writes in a cluster. kai.k8s finds other kinds, and other
versions of these kinds, by discovery.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kai.api.keys import KAI_GROUP, SCHEDULING_GROUP
from kai.api.kinds import CLUSTER_SCOPED, KINDS
from kai.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class Resource:
    """The objects of one kind on an API server."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of all objects, those of a namespace, one object, or its subresource."""
        parts = [f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"]
        if namespace and self.namespaced:
            parts.append(f"namespaces/{namespace}")
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


# Versions and plurals of the kinds in kai.api.kinds; groups and scopes are there.
_OF_KINDS = {
    "Pod": ("v1", "pods"),
    "Node": ("v1", "nodes"),
    "Queue": ("v2", "queues"),
    "PodGroup": ("v2alpha2", "podgroups"),
    "BindRequest": ("v1alpha2", "bindrequests"),
    "PriorityClass": ("v1", "priorityclasses"),
    "ConfigMap": ("v1", "configmaps"),
    "Namespace": ("v1", "namespaces"),
    "PersistentVolume": ("v1", "persistentvolumes"),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims"),
    "CSIStorageCapacity": ("v1", "csistoragecapacities"),
    "StorageClass": ("v1", "storageclasses"),
    "CSIDriver": ("v1", "csidrivers"),
    "CSINode": ("v1", "csinodes"),
    "ResourceClaim": ("v1", "resourceclaims"),
    "ResourceSlice": ("v1", "resourceslices"),
    "DeviceClass": ("v1", "deviceclasses"),
    "Topology": ("v1alpha1", "topologies"),
    "NodeResourceTopology": ("v1alpha2", "noderesourcetopologies"),
    "Job": ("v1", "jobs"),
    "CronJob": ("v1", "cronjobs"),
    "Deployment": ("v1", "deployments"),
    "StatefulSet": ("v1", "statefulsets"),
    "ReplicaSet": ("v1", "replicasets"),
    "DaemonSet": ("v1", "daemonsets"),
    "ReplicationController": ("v1", "replicationcontrollers"),
    "ControllerRevision": ("v1", "controllerrevisions"),
    "JobSet": ("v1alpha2", "jobsets"),
    "TrainJob": ("v1alpha1", "trainjobs"),
    "TrainingRuntime": ("v1alpha1", "trainingruntimes"),
    "ClusterTrainingRuntime": ("v1alpha1", "clustertrainingruntimes"),
    "LeaderWorkerSet": ("v1", "leaderworkersets"),
    "PyTorchJob": ("v1", "pytorchjobs"),
    "TFJob": ("v1", "tfjobs"),
    "XGBoostJob": ("v1", "xgboostjobs"),
    "JAXJob": ("v1", "jaxjobs"),
    "PaddleJob": ("v1", "paddlejobs"),
    "MPIJob": ("v1", "mpijobs"),
    "Notebook": ("v1", "notebooks"),
    "RayCluster": ("v1", "rayclusters"),
    "RayJob": ("v1", "rayjobs"),
    "RayService": ("v1", "rayservices"),
    "SparkApplication": ("v1beta2", "sparkapplications"),
    "ScheduledSparkApplication": ("v1beta2", "scheduledsparkapplications"),
    "InferenceService": ("v1beta1", "inferenceservices"),
    "DynamoGraphDeployment": ("v1alpha1", "dynamographdeployments"),
    "PodCliqueSet": ("v1alpha1", "podcliquesets"),
    "PodGangSet": ("v1alpha1", "podgangsets"),
    "PodGang": ("v1alpha1", "podgangs"),
    "Workflow": ("v1alpha1", "workflows"),
    "WorkflowTemplate": ("v1alpha1", "workflowtemplates"),
    "ClusterWorkflowTemplate": ("v1alpha1", "clusterworkflowtemplates"),
    "CronWorkflow": ("v1alpha1", "cronworkflows"),
    "PodTemplate": ("v1", "podtemplates"),
    "Service": ("v1", "services"),
    "Endpoints": ("v1", "endpoints"),
    "Event": ("v1", "events"),
    "LimitRange": ("v1", "limitranges"),
    "ResourceQuota": ("v1", "resourcequotas"),
    "Secret": ("v1", "secrets"),
    "ServiceAccount": ("v1", "serviceaccounts"),
    "Config": ("v1", "configs"),
    "SchedulingShard": ("v1", "schedulingshards"),
    "VolumeAttachment": ("v1", "volumeattachments"),
    "VolumeAttributesClass": ("v1", "volumeattributesclasses"),
    "ResourceClaimTemplate": ("v1", "resourceclaimtemplates"),
    "DeviceTaintRule": ("v1alpha3", "devicetaintrules"),
    "Workload": ("v1alpha1", "workloads"),
}

NOT_SERVED = frozenset({"Binding", "ComponentStatus"})
"""Kinds of kai.api.kinds whose objects a cluster does not store."""

# Cluster-scoped kinds that do not affect plans; kai.api.kinds has no scope for them.
_ALSO_CLUSTER_SCOPED = frozenset(
    {"ClusterTrainingRuntime", "ClusterWorkflowTemplate", "Config", "SchedulingShard"}
)

_REGISTRATION, _RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"
_OTHERS = (
    Resource("Lease", "coordination.k8s.io", "v1", "leases"),
    Resource("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets"),
    Resource(
        "CustomResourceDefinition", "apiextensions.k8s.io", "v1", "customresourcedefinitions", False
    ),
    Resource("Role", _RBAC, "v1", "roles"),
    Resource("RoleBinding", _RBAC, "v1", "rolebindings"),
    Resource("ClusterRole", _RBAC, "v1", "clusterroles", False),
    Resource("ClusterRoleBinding", _RBAC, "v1", "clusterrolebindings", False),
    Resource("FlowSchema", _FLOW, "v1", "flowschemas", False),
    Resource("PriorityLevelConfiguration", _FLOW, "v1", "prioritylevelconfigurations", False),
    Resource(
        "ValidatingWebhookConfiguration", _REGISTRATION, "v1",
        "validatingwebhookconfigurations", False,
    ),
    Resource(
        "MutatingWebhookConfiguration", _REGISTRATION, "v1",
        "mutatingwebhookconfigurations", False,
    ),
)  # fmt: skip


def _of_kind(kind: str) -> Resource:
    version, plural = _OF_KINDS[kind]
    namespaced = kind not in CLUSTER_SCOPED and kind not in _ALSO_CLUSTER_SCOPED
    return Resource(kind, KINDS[kind].group, version, plural, namespaced)


VERSIONED = frozenset({"ResourceClaim", "ResourceSlice", "DeviceClass"})
"""Kinds whose API version differs between servers (spec 3 D1)."""

RESOURCES: Mapping[str, Resource] = {kind: _of_kind(kind) for kind in _OF_KINDS} | {
    each.kind: each for each in _OTHERS
}

OURS = tuple(each for each in RESOURCES.values() if each.group in (SCHEDULING_GROUP, KAI_GROUP))
"""The resources that kai's own definitions create."""


def new_object(
    kind: str, metadata: Mapping[str, Any], *, api_version: str = "", **members: Any
) -> dict[str, Any]:
    """An object of a kind, at the version in the table unless another one is given. Raises KeyError
    for a kind that is not in the table.

    >>> new_object("ConfigMap", {"name": "kai-config"}, data={})
    {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'kai-config'}, 'data': {}}
    """
    version = api_version or RESOURCES[kind].api_version
    return {"apiVersion": version, "kind": kind, "metadata": dict(metadata), **members}


def resource(kind: str) -> Resource:
    """The resource of a kind of the table. Raises NotFoundError for other kinds."""
    found = RESOURCES.get(kind)
    if found is None:
        raise NotFoundError(f"kai does not know the kind {kind!r}")
    return found
