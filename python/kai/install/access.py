"""What each role may do in a cluster: one table, from which the ClusterRoles are made (spec 6 C65).

    [rule.verbs for rule in RULES["scheduler"] if rule.resource == "pods/binding"]   # [("create",)]

A verb stands in USED because the role fails without it, and in LATER because a role that is under
way will: tests/cluster/test_rights.py takes each of them away. No role may read a Secret, or create
pods elsewhere than in the namespace of reservation pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kai.api.keys import KAI_GROUP, RESERVATION, SCHEDULING_GROUP

ROLES = ("scheduler", "binder", "pod-grouper", "pod-group-controller", "queue-controller")
"""What `kai run` runs."""
ALL = "all"
"""All of them in one process."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on one resource of one API group. `own`: only in the namespace that kai runs in;
    `reserving`: only in that of reservation pods."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    own: bool = False
    reserving: bool = False


_SEE = ("list", "watch")
_STORAGE, _DEVICES = "storage.k8s.io", "resource.k8s.io"

_LEASES = Rule("coordination.k8s.io", "leases", ("create", "get", "update"), own=True)
_EVENTS = Rule("", "events", ("create", "patch"))
_PRIORITIES = Rule("scheduling.k8s.io", "priorityclasses", _SEE)

_GIVES = (
    Rule("", "persistentvolumes", ("get", *_SEE, "patch")),
    Rule("", "persistentvolumeclaims", ("get", *_SEE, "patch")),
    Rule(_STORAGE, "storageclasses", ("get",)),
    # create, delete: for extended resources that device classes stand for; patch: a finalizer.
    Rule(_DEVICES, "resourceclaims", ("get", "create", "patch", "delete")),
    Rule(_DEVICES, "resourceclaims/status", ("patch",)),
    # Where the server asks for it beside the status.
    Rule(_DEVICES, "resourceclaims/binding", ("patch",)),
    Rule(_DEVICES, "deviceclasses", ("get",)),
)
"""What pods are given before they are bound: volumes and devices."""

OWNERS = {
    "apps": ("deployments", "replicasets", "statefulsets"),
    "batch": ("cronjobs", "jobs"),
    "amlarc.azureml.com": ("amljobs",),
    "argoproj.io": ("workflows",),
    "egx.nvidia.io": ("spotrequests",),
    "grove.io": ("podcliques", "podcliquesets", "podgangsets"),
    "jobset.x-k8s.io": ("jobsets",),
    "kubeflow.org": (
        "jaxjobs", "mpijobs", "notebooks", "pytorchjobs", "scheduledworkflows", "tfjobs",
        "xgboostjobs",
    ),
    "kubevirt.io": ("virtualmachineinstances",),
    "leaderworkerset.x-k8s.io": ("leaderworkersets",),
    "machinelearning.seldon.io": ("seldondeployments",),
    "nvidia.com": ("dynamographdeployments",),
    "ray.io": ("rayclusters", "rayjobs", "rayservices"),
    "run.ai": (
        "distributedinferenceworkloads", "distributedworkloads", "inferenceworkloads",
        "interactiveworkloads", "kartas", "runaijobs", "trainingworkloads",
    ),
    "scheduler.grove.io": ("podgangs",),
    "serving.knative.dev": ("configurations", "revisions", "services"),
    "sparkoperator.k8s.io": ("scheduledsparkapplications", "sparkapplications"),
    "tekton.dev": ("pipelineruns", "taskruns"),
    "trainer.kubeflow.org": ("trainjobs",),
    "workspace.devfile.io": ("devworkspaces",),
}  # fmt: skip
"""What pods are owned by, directly or not (spec 6 C28): read to group them. Of any other kind an
administrator may allow `get`; until then the owners below it count."""

OWNERS_LABEL = "kai.scheduler/pod-owners"
"""A ClusterRole with this label adds owners that the grouper may read."""

_SHARING = (
    Rule("", "pods", ("create",), reserving=True),
    Rule("", "configmaps", ("create", "patch", "delete")),  # of pods that share GPUs
)
"""Of what binds pods that share GPUs."""

USED: Mapping[str, tuple[Rule, ...]] = {
    "scheduler": (
        _LEASES,
        _EVENTS,
        _PRIORITIES,
        # get: labels, for the volumes of a pod.
        Rule("", "nodes", ("get", *_SEE)),
        # Names and labels alone; no right is as narrow as that.
        *(Rule("", each, _SEE) for each in ("configmaps", "namespaces")),
        Rule(SCHEDULING_GROUP, "queues", _SEE),
        Rule(KAI_GROUP, "topologies", _SEE),
        Rule("topology.node.k8s.io", "noderesourcetopologies", _SEE),  # plugin numa
        *(
            Rule(_STORAGE, each, _SEE)
            for each in (
                "storageclasses",
                "csidrivers",
                "csinodes",
                "csistoragecapacities",
            )
        ),
        *(
            Rule(_DEVICES, each, _SEE)
            for each in (
                "resourceclaims",
                "resourceslices",
                "deviceclasses",
            )
        ),
        # get: what became of a binding without an answer.
        Rule("", "pods", ("get", *_SEE, "delete")),
        Rule("", "pods/binding", ("create",)),
        Rule("", "pods/eviction", ("create",)),
        Rule("", "pods/status", ("patch",)),
        Rule(SCHEDULING_GROUP, "podgroups", (*_SEE, "patch")),
        Rule(SCHEDULING_GROUP, "podgroups/status", ("patch",)),
        *_GIVES,
        # create: with --binding bind-requests; delete: also those that others left.
        Rule(SCHEDULING_GROUP, "bindrequests", ("get", *_SEE, "create", "delete")),
        *_SHARING,
    ),
    "binder": (
        _LEASES,
        _EVENTS,
        # get: what a BindRequest names and no watch has shown.
        Rule("", "nodes", ("get", *_SEE)),
        # delete: reservations, and pods whose reservation is gone.
        Rule("", "pods", ("get", *_SEE, "delete")),
        Rule("", "pods/binding", ("create",)),
        Rule("", "pods/status", ("patch",)),
        *_GIVES,
        Rule(SCHEDULING_GROUP, "bindrequests", _SEE),
        Rule(SCHEDULING_GROUP, "bindrequests/status", ("patch",)),
        *_SHARING,
    ),
    "pod-grouper": (
        _LEASES,
        _EVENTS,
        _PRIORITIES,
        # get: a pod whose group was deleted, and a group that is there already.
        Rule("", "pods", ("get", *_SEE, "patch")),
        Rule(SCHEDULING_GROUP, "podgroups", ("get", *_SEE, "create", "patch")),
        *(Rule(group, each, ("get",)) for group, kinds in OWNERS.items() for each in kinds),
    ),
    "pod-group-controller": (
        _LEASES,
        _PRIORITIES,
        Rule("", "pods", _SEE),
        Rule(SCHEDULING_GROUP, "podgroups", _SEE),
        Rule(SCHEDULING_GROUP, "podgroups/status", ("patch",)),
        Rule(_DEVICES, "resourceclaims", _SEE),
    ),
    "queue-controller": (
        _LEASES,
        _PRIORITIES,
        Rule("", "pods", _SEE),
        Rule(_DEVICES, "resourceclaims", _SEE),
        Rule(SCHEDULING_GROUP, "podgroups", _SEE),
        Rule(SCHEDULING_GROUP, "queues", _SEE),
        Rule(SCHEDULING_GROUP, "queues/status", ("patch",)),
    ),
}
"""By role: what it does."""

LATER: Mapping[str, tuple[Rule, ...]] = {
    "scheduler": (
        Rule("", "pods", ("patch",)),  # before Kubernetes 1.35: labels of pods that share GPUs
        Rule("policy", "poddisruptionbudgets", _SEE),
    ),
    "binder": (Rule("", "pods", ("patch",)),),  # as the scheduler
    "pod-grouper": (Rule("", "configmaps", ("get",)),),
    "pod-group-controller": (),
    "queue-controller": (),
}
"""By role: what it does not use yet; and what it needs with some options, or on older servers."""

RULES: Mapping[str, tuple[Rule, ...]] = {role: (*USED[role], *LATER[role]) for role in ROLES}
"""By role. Those of `all` are all of them together (`rules_of`)."""

PROGRAMS: Mapping[str, tuple[Rule, ...]] = {
    # list: annotations that others changed are repaired.
    "numa-exporter": (Rule("", "pods", ("list", "patch")),),
}
"""By name: programs that are no role, and hold no lease; each has an account of its own."""


def rules_of(role: str) -> tuple[Rule, ...]:
    """The rules of a role or program, or of `all` roles; each resource once. Raises KeyError for
    another name."""
    roles, known = ROLES if role == ALL else (role,), {**RULES, **PROGRAMS}
    verbs: dict[tuple[str, str, bool, bool], set[str]] = {}
    for rule in (rule for each in roles for rule in known[each]):
        where = (rule.group, rule.resource, rule.own, rule.reserving)
        verbs.setdefault(where, set()).update(rule.verbs)
    return tuple(
        Rule(group, resource, tuple(sorted(of)), own, reserving)
        for (group, resource, own, reserving), of in verbs.items()
    )


def objects(
    role: str, name: str, namespace: str, rules: Sequence[Rule] | None = None
) -> list[dict[str, Any]]:
    """A service account of that name that may do what the role needs, or what `rules` say."""
    rules = rules_of(role) if rules is None else rules
    groups_pods = role in (ALL, "pod-grouper")
    metadata = {"name": name, "namespace": namespace}
    cluster_wide = f"{namespace}:{name}"  # two installations do not share one
    made: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    ]
    beside = {"name": cluster_wide, "namespace": RESERVATION}
    for kind, where, chosen in (
        ("ClusterRole", {"name": cluster_wide}, [r for r in rules if not (r.own or r.reserving)]),
        ("Role", metadata, [rule for rule in rules if rule.own]),
        ("Role", beside, [rule for rule in rules if rule.reserving]),
    ):
        if chosen:
            made.append(_rbac(kind, where, rules=_rules(chosen)))
            made.append(_binding(kind, where, where["name"], metadata))
    if groups_pods:
        added = {"name": f"{cluster_wide}:more-owners"}
        selector = {"matchLabels": {OWNERS_LABEL: "true"}}
        aggregation = {"clusterRoleSelectors": [selector]}
        # Without rules: those are the control plane's to write, and applying again would undo them.
        made.append(_rbac("ClusterRole", added, aggregationRule=aggregation))
        made.append(_binding("ClusterRole", added, added["name"], metadata))
    return made


def reservation_account() -> list[dict[str, Any]]:
    """The service account of reservation pods: their program writes on its own pod."""
    metadata = {"name": RESERVATION, "namespace": RESERVATION}
    rules = _rules([Rule("", "pods", ("get", "patch"))])
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        _rbac("Role", metadata, rules=rules),
        _binding("Role", metadata, RESERVATION, metadata),
    ]


def _rules(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Rules as Kubernetes writes them: resources of a group that have the same verbs together."""
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for rule in rules:
        together.setdefault((rule.group, rule.verbs), []).append(rule.resource)
    return [
        {"apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
        for (group, verbs), resources in sorted(together.items())
    ]


def _rbac(kind: str, metadata: Mapping[str, str], **members: Any) -> dict[str, Any]:
    api_version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": api_version, "kind": kind, "metadata": dict(metadata), **members}


def _binding(
    kind: str, metadata: Mapping[str, str], role: str, account: Mapping[str, str]
) -> dict[str, Any]:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
    subject = {"kind": "ServiceAccount", **account}
    return _rbac(f"{kind}Binding", metadata, roleRef=reference, subjects=[subject])
