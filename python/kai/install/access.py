"""The rights of each role: one table, from which the ClusterRoles are generated (spec 6 C65).

    [rule.verbs for rule in RULES["scheduler"] if rule.resource == "pods/binding"]   # [("create",)]

USED has the verbs without which a role fails; tests/cluster/test_rights.py removes each of them.
LATER has the verbs for some options, older servers or planned features. No role may read Secrets,
except that the webhooks read their own, or create pods outside the namespace of reservation pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kai.api import webhooks
from kai.api.keys import KAI_GROUP, RESERVATION, SCHEDULING_GROUP
from kai.api.resources import new_object, resource

ROLES = ("scheduler", "binder", "pod-grouper", "pod-group-controller", "queue-controller")
"""The roles of `kai run`."""
ALL = "all"
"""All roles in one process."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on one resource of one API group.

    `own`: only in kai's namespace; `reserving`: only in the namespace of reservation pods. `names`:
    only the objects with these names; empty: all.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    own: bool = False
    reserving: bool = False
    names: tuple[str, ...] = ()


_SEE = ("list", "watch")
_STORAGE, _DEVICES = "storage.k8s.io", "resource.k8s.io"

_LEASES = Rule("coordination.k8s.io", "leases", ("create", "get", "update"), own=True)
_EVENTS = Rule("", "events", ("create", "patch"))
_PRIORITIES = Rule("scheduling.k8s.io", "priorityclasses", _SEE)

_GIVES = (
    Rule("", "persistentvolumes", ("get", *_SEE, "patch")),
    Rule("", "persistentvolumeclaims", ("get", *_SEE, "patch")),
    Rule(_STORAGE, "storageclasses", ("get",)),
    # create, delete: for extended resources of device classes; patch: a finalizer.
    Rule(_DEVICES, "resourceclaims", ("get", "create", "patch", "delete")),
    Rule(_DEVICES, "resourceclaims/status", ("patch",)),
    # For servers that require it in addition to the status.
    Rule(_DEVICES, "resourceclaims/binding", ("patch",)),
    Rule(_DEVICES, "deviceclasses", ("get",)),
)
"""For what pods get before they are bound: volumes and devices."""

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
"""Kinds that own pods, directly or indirectly (spec 6 C28); the grouper reads them. Administrators
may allow `get` for other kinds; until then pods are grouped by the owners below such a kind."""

OWNERS_LABEL = "kai.scheduler/pod-owners"
"""A ClusterRole with this label adds owners that the grouper may read."""

_SHARING = (
    Rule("", "pods", ("create",), reserving=True),
    Rule("", "configmaps", ("create", "patch", "delete")),  # for pods that share GPUs
)
"""For roles that bind pods with shared GPUs."""

USED: Mapping[str, tuple[Rule, ...]] = {
    "scheduler": (
        _LEASES,
        _EVENTS,
        _PRIORITIES,
        # get: labels, for the volumes of a pod.
        Rule("", "nodes", ("get", *_SEE)),
        # Only names and labels are needed, but rights cannot be that narrow.
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
        # get: the result of a binding without an answer.
        Rule("", "pods", ("get", *_SEE, "delete")),
        Rule("", "pods/binding", ("create",)),
        Rule("", "pods/eviction", ("create",)),
        # Also labels and annotations: the pod group, and before Kubernetes 1.35 the GPU groups.
        Rule("", "pods/status", ("patch",)),
        Rule(SCHEDULING_GROUP, "podgroups", (*_SEE, "patch")),
        Rule(SCHEDULING_GROUP, "podgroups/status", ("patch",)),
        *_GIVES,
        # create: with --binding bind-requests; delete: also those of other schedulers.
        Rule(SCHEDULING_GROUP, "bindrequests", ("get", *_SEE, "create", "delete")),
        *_SHARING,
    ),
    "binder": (
        _LEASES,
        _EVENTS,
        # get: a node of a BindRequest that no watch has delivered yet.
        Rule("", "nodes", ("get", *_SEE)),
        # delete: reservations, and pods whose reservation no longer exists.
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
        # get: a pod whose group was deleted, and a group that already exists.
        Rule("", "pods", ("get", *_SEE)),
        # The annotation and the label that name the group; `patch pods` would also allow to change
        # the images of any pod.
        Rule("", "pods/status", ("patch",)),
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
        Rule(SCHEDULING_GROUP, "podgroups", _SEE),
        Rule(SCHEDULING_GROUP, "queues", _SEE),
        Rule(SCHEDULING_GROUP, "queues/status", ("patch",)),
    ),
}
"""The rules that a role uses, by role."""

LATER: Mapping[str, tuple[Rule, ...]] = {
    "scheduler": (Rule("policy", "poddisruptionbudgets", _SEE),),
    "binder": (),
    "pod-grouper": (Rule("", "configmaps", ("get",)),),
    "pod-group-controller": (),
    "queue-controller": (),
}
"""Rules for planned features, some options or older servers, by role."""

RULES: Mapping[str, tuple[Rule, ...]] = {role: (*USED[role], *LATER[role]) for role in ROLES}
"""All rules by role. `rules_of` joins them for `all`."""

PROGRAMS: Mapping[str, tuple[Rule, ...]] = {
    "admission": (
        # A right to create cannot be limited to names.
        Rule("", "secrets", ("create",), own=True),
        Rule("", "secrets", ("get", "patch"), own=True, names=(webhooks.SECRET,)),
        *(
            Rule(
                resource(kind).group,
                resource(kind).plural,
                ("get", "patch"),
                names=tuple(name for name, own in webhooks.CONFIGURATIONS.items() if own == kind),
            )
            for kind in dict.fromkeys(webhooks.CONFIGURATIONS.values())
        ),
        # For reviews of queues.
        Rule(SCHEDULING_GROUP, "queues", _SEE),
        Rule(SCHEDULING_GROUP, "podgroups", _SEE),
    ),
    # list: the shares of the pods of its node; patch: the count of an event.
    "gpu-auditor": (Rule("", "pods", ("list",)), _EVENTS),
    # list: to repair annotations that others have changed.
    "numa-exporter": (Rule("", "pods", ("list",)), Rule("", "pods/status", ("patch",))),
}
"""Programs that are not roles and hold no lease, by name; each has its own account."""


def rules_of(role: str) -> tuple[Rule, ...]:
    """The rules of a role or program, or of `all` roles; each resource occurs once.

    Raises KeyError for another name.
    """
    roles, known = ROLES if role == ALL else (role,), {**RULES, **PROGRAMS}
    verbs: dict[Rule, set[str]] = {}
    for rule in (rule for each in roles for rule in known[each]):
        verbs.setdefault(replace(rule, verbs=()), set()).update(rule.verbs)
    return tuple(replace(rule, verbs=tuple(sorted(of))) for rule, of in verbs.items())


def objects(
    role: str,
    name: str,
    namespace: str,
    rules: Sequence[Rule] | None = None,
    *,
    reserving: str = RESERVATION,
) -> list[dict[str, Any]]:
    """A service account of that name with the rights of the role, or with `rules`.

    `reserving`: the namespace of reservation pods.
    """
    rules = rules_of(role) if rules is None else rules
    groups_pods = role in (ALL, "pod-grouper")
    metadata = {"name": name, "namespace": namespace}
    cluster_wide = f"{namespace}:{name}"  # unique for each installation
    made = [new_object("ServiceAccount", metadata)]
    beside = {"name": cluster_wide, "namespace": reserving}
    for kind, where, chosen in (
        ("ClusterRole", {"name": cluster_wide}, [r for r in rules if not (r.own or r.reserving)]),
        ("Role", metadata, [rule for rule in rules if rule.own]),
        ("Role", beside, [rule for rule in rules if rule.reserving]),
    ):
        if chosen:
            made.append(new_object(kind, where, rules=in_kubernetes(chosen)))
            made.append(_binding(kind, where, where["name"], metadata))
    if groups_pods:
        added = {"name": f"{cluster_wide}:more-owners"}
        selector = {"matchLabels": {OWNERS_LABEL: "true"}}
        aggregation = {"clusterRoleSelectors": [selector]}
        # Without rules: the control plane writes them, and applying again would remove them.
        made.append(new_object("ClusterRole", added, aggregationRule=aggregation))
        made.append(_binding("ClusterRole", added, added["name"], metadata))
    return made


def reservation_account(
    name: str = RESERVATION, namespace: str = RESERVATION
) -> list[dict[str, Any]]:
    """The service account of reservation pods; their program writes to its own pod.

    It keeps the right to patch pods, in this namespace only: the image may be KAI's, whose program
    patches the pod itself. KAI's chart has a RoleBinding with the name of the account. It binds
    another role, and the role of a binding cannot be changed, so ours has a name of its own.
    """
    account = {"name": name, "namespace": namespace}
    own = {"name": f"kai-sched:{name}", "namespace": namespace}
    rules = in_kubernetes([Rule("", "pods", ("get", "patch"))])
    return [
        new_object("ServiceAccount", account),
        new_object("Role", own, rules=rules),
        _binding("Role", own, own["name"], account),
    ]


def in_kubernetes(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Rules in the form of a role of Kubernetes: resources of a group with the same verbs share
    a rule."""
    together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for rule in rules:
        together.setdefault((rule.group, rule.verbs, rule.names), []).append(rule.resource)
    return [
        {
            "apiGroups": [group],
            "resources": sorted(resources),
            **({"resourceNames": list(names)} if names else {}),
            "verbs": list(verbs),
        }
        for (group, verbs, names), resources in sorted(together.items())
    ]


def _binding(
    kind: str, metadata: Mapping[str, str], role: str, account: Mapping[str, str]
) -> dict[str, Any]:
    reference = {"apiGroup": resource(kind).group, "kind": kind, "name": role}
    subject = {"kind": "ServiceAccount", **account}
    return new_object(f"{kind}Binding", metadata, roleRef=reference, subjects=[subject])
