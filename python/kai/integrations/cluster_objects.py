"""Manifests that an administrator applies once, for settings that users cannot write (spec 7
C18-C20).

    scheduler_name_policy(PodRequest(queue="team-a"))               # Kubernetes 1.36 and later
    scheduler_name_policy(PodRequest(queue="team-a"), form="kyverno")

Some orchestrators have no field for a scheduler's name. The cluster can set it instead: a policy
sets it on each new pod with a queue label and ``default-scheduler`` (spec 7 C18). Such policies run
before webhooks, and KAI's own webhooks only process pods that name the scheduler (spec 7 C14).
Kyverno is itself a webhook; webhooks run in the order of their names, and ``kyverno-...`` comes
before KAI's ``mutating-kai-admission``.

``pin_queue=True`` fixes the queue of a namespace to the one on its label: users in the namespace
cannot use another queue, or none (spec 7 KW18).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import rules
from kai.api.resources import new_object
from kai.settings import PodRequest, Unsupported, filled, merge

POLICY_GROUP = "admissionregistration.k8s.io"
DEFAULT_SCHEDULER = "default-scheduler"
"""The API server sets this name on a pod without a scheduler, before any policy runs."""

Manifest = Mapping[str, Any]


def named_by_policy(request: PodRequest) -> bool:
    """Whether such a policy sets the scheduler: it finds pods by their queue label."""
    return request.queue is not None and request.scheduler_name != DEFAULT_SCHEDULER


def scheduler_name_policy(
    request: PodRequest,
    *,
    form: str = "policy",
    pin_queue: bool = False,
    name: str | None = None,
    api_version: str = "v1",
) -> tuple[Manifest, ...]:
    """Policies that set the request's scheduler on pods with a queue label.

    Only the scheduler name and the key of the queue label of the request are used.

    form: ``policy``, Kubernetes' own MutatingAdmissionPolicy, or ``kyverno``.
    pin_queue: also set the queue of every pod in a namespace to the one in the namespace's label of
      the same key, and refuse objects there with another queue (Kubernetes 1.30 and later).
      Namespaces without this label are not affected.
    api_version: version of MutatingAdmissionPolicy; ``v1beta1`` on Kubernetes 1.34 and 1.35, where
      it must be enabled.

    Raises InvalidRequestError for an unknown form or version, and for an invalid name.
    """
    rules.one_of("form", form, ("policy", "kyverno"))
    rules.one_of("api_version", api_version, ("v1", "v1beta1"))
    named = rules.object_name("name", name or f"{request.scheduler_name}-name")
    if form == "kyverno":
        return _kyverno(request, named, pin_queue)
    made = _mutation(
        named,
        api_version,
        conditions={"has-a-queue": _any_queue(request), "names-no-scheduler": _NAMES_NO_SCHEDULER},
        expression=f'Object{{spec: Object.spec{{schedulerName: "{request.scheduler_name}"}}}}',
    )
    return (*made, *_pins(request, f"{named}-and-queue", api_version)) if pin_queue else made


def scheduler_name_unsupported(request: PodRequest, reason: str) -> Unsupported:
    """For builders: the scheduler's name cannot be expressed, with the workaround."""
    if request.queue is None:
        return Unsupported(
            "scheduler_name",
            reason,
            "write queue=, and let an administrator apply the policy in cluster_objects once: it"
            " selects pods by their queue label",
        )
    return Unsupported(
        "scheduler_name",
        reason,
        "let an administrator apply the policy in cluster_objects once: it sets the name on pods"
        " with the queue label",
    )


def workflow_defaults(
    request: PodRequest,
    *,
    existing: str = "",
    namespace: str = "argo",
    name: str = "workflow-controller-configmap",
) -> Manifest:
    """A patch of Argo's ConfigMap that makes KAI schedule the pods of all workflows (spec 7 C19,
    A6).

    existing: the present text of `data.workflowDefaults`, which is kept; Kubeflow Pipelines ships
    one (spec 7 K8). The request's queue, if any, becomes the default queue of workflows.

    Raises InvalidRequestError for an `existing` text that is not a mapping.
    """
    import yaml

    try:
        before = yaml.safe_load(existing) or {}
    except yaml.YAMLError:
        before = None
    if not isinstance(before, dict):
        raise rules.refuse(
            "existing is not a mapping: write the text of data.workflowDefaults of the ConfigMap"
        )
    added = filled(
        metadata=filled({"labels": request.queue_labels}),
        spec={"schedulerName": request.scheduler_name},
    )
    text = yaml.safe_dump(merge(before, added), sort_keys=False)
    metadata = {"name": name, "namespace": namespace}
    return new_object("ConfigMap", metadata, data={"workflowDefaults": text})


# ---- Kubernetes' own policies ------------------------------------------------------------------

_NAMES_NO_SCHEDULER = (
    f'!has(object.spec.schedulerName) || object.spec.schedulerName == "{DEFAULT_SCHEDULER}"'
)
_NEW_PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods"],
}


def _queue_keys(request: PodRequest) -> tuple[str, ...]:
    # With any queue, so that the request does not need one.
    return tuple(request.with_changes(queue="any").queue_labels)


def _queue_of_namespace(queue_keys: tuple[str, ...]) -> str:
    return f'namespaceObject.metadata.labels["{queue_keys[0]}"]'


def _has(owner: str, key: str) -> str:
    return f'has({owner}.metadata.labels) && "{key}" in {owner}.metadata.labels'


def _any_queue(request: PodRequest) -> str:
    return " || ".join(f"({_has('object', key)})" for key in _queue_keys(request))


def _mutation(
    name: str,
    api_version: str,
    *,
    conditions: Mapping[str, str],
    expression: str,
    selector: Mapping[str, Any] | None = None,
) -> tuple[Manifest, ...]:
    mutation = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": expression},
    }
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",  # a webhook may add the queue label
        "matchConstraints": {"resourceRules": [dict(_NEW_PODS)]},
        "matchConditions": [
            {"name": each, "expression": text} for each, text in conditions.items()
        ],
        "mutations": [mutation],
    }
    matched = filled({"namespaceSelector": selector})
    binding = {"policyName": name, "matchResources": matched}
    return _with_binding("MutatingAdmissionPolicy", api_version, name, policy, binding)


def _with_binding(
    kind: str, version: str, name: str, policy: Mapping[str, Any], binding: Mapping[str, Any]
) -> tuple[Manifest, ...]:
    """A policy and its binding, from their specs."""
    return tuple(
        new_object(each, {"name": name}, api_version=f"{POLICY_GROUP}/{version}", spec=filled(spec))
        for each, spec in ((kind, policy), (f"{kind}Binding", binding))
    )


def _pins(request: PodRequest, name: str, api_version: str) -> tuple[Manifest, ...]:
    queue_keys = _queue_keys(request)
    of_namespace = _queue_of_namespace(queue_keys)
    labels = ", ".join(f'"{key}": {of_namespace}' for key in queue_keys)
    pods = _mutation(
        name,
        api_version,
        conditions={},
        expression=(
            f"Object{{metadata: Object.metadata{{labels: {{{labels}}}}},"
            f' spec: Object.spec{{schedulerName: "{request.scheduler_name}"}}}}'
        ),
        selector=_labelled(queue_keys[0]),
    )
    return (*pods, *_refusal(request, name))


def _refusal(request: PodRequest, name: str) -> tuple[Manifest, ...]:
    # KAI prefers a label on the top owner to the pod's (§1.3), so both must be the same.
    queue_keys = _queue_keys(request)
    of_namespace = _queue_of_namespace(queue_keys)
    anything = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["*"],
        "scope": "Namespaced",
    }
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [anything]},
        "matchConditions": [{"name": "has-a-queue", "expression": _any_queue(request)}],
        "validations": [
            {
                "expression": _is_pinned(key, of_namespace),
                "messageExpression": f'"the queue of this namespace is " + {of_namespace}',
            }
            for key in queue_keys
        ],
    }
    binding = {
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": _labelled(queue_keys[0])},
    }
    # Kubernetes 1.30 and later
    return _with_binding("ValidatingAdmissionPolicy", "v1", name, policy, binding)


def _is_pinned(key: str, of_namespace: str) -> str:
    # An existing label may stay, so that controllers can finish the object.
    mine, before = f'object.metadata.labels["{key}"]', f'oldObject.metadata.labels["{key}"]'
    return (
        f"!({_has('object', key)}) || {mine} == {of_namespace} || "
        f"(oldObject != null && {_has('oldObject', key)} && {before} == {mine})"
    )


def _labelled(key: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "Exists"}]}


# ---- Kyverno -----------------------------------------------------------------------------------


def _kyverno(request: PodRequest, name: str, pin_queue: bool) -> tuple[Manifest, ...]:
    queue_keys = _queue_keys(request)
    policy_rules: list[dict[str, Any]] = [
        {
            "name": "scheduler-name",
            "match": {"any": [_new_pods(selector=_labelled(key)) for key in queue_keys]},
            "preconditions": {
                "all": [
                    {
                        "key": "{{ request.object.spec.schedulerName || '' }}",
                        "operator": "AnyIn",
                        "value": ["", DEFAULT_SCHEDULER],
                    }
                ]
            },
            "mutate": {"patchStrategicMerge": {"spec": {"schedulerName": request.scheduler_name}}},
        }
    ]
    if pin_queue:
        of_namespace = {
            "urlPath": "/api/v1/namespaces/{{ request.namespace }}",
            "jmesPath": f'metadata.labels."{queue_keys[0]}"',
        }
        policy_rules.append(
            {
                "name": "queue-of-namespace",
                "match": {"any": [_new_pods(namespaceSelector=_labelled(queue_keys[0]))]},
                "context": [{"name": "queue", "apiCall": of_namespace}],
                "mutate": {
                    "patchStrategicMerge": {
                        "metadata": {"labels": dict.fromkeys(queue_keys, "{{ queue }}")},
                        "spec": {"schedulerName": request.scheduler_name},
                    }
                },
            }
        )
    # Only pods: otherwise Kyverno would also change Jobs and Deployments.
    annotations = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    policy = new_object(
        "ClusterPolicy",
        {"name": name, "annotations": annotations},
        api_version="kyverno.io/v1",
        spec={"background": False, "rules": policy_rules},
    )
    return (policy, *_refusal(request, f"{name}-and-queue")) if pin_queue else (policy,)


def _new_pods(**selectors: Any) -> dict[str, Any]:
    return {"resources": {"kinds": ["Pod"], "operations": ["CREATE"], **selectors}}
