"""Manifests that an administrator applies once, for what users cannot write (spec 7 C18-C20).

    scheduler_name_policy(PodRequest(queue="team-a"))               # Kubernetes from 1.36 on
    scheduler_name_policy(PodRequest(queue="team-a"), form="kyverno")

Some orchestrators have no field for a scheduler's name. There the cluster can write it: a policy
gives it to each new pod with a queue label and ``default-scheduler`` (spec 7 C18). Such
policies run before webhooks are called, and KAI's own webhooks look only at pods that name the
scheduler (spec 7 C14). Kyverno is a webhook itself; webhooks are called by name, and
``kyverno-...`` comes before KAI's ``mutating-kai-admission``.

With ``pin_queue=True`` a namespace has its queue: the one on its label, and nobody in it can take
another, or none (spec 7 KW18).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import rules
from kai.settings import PodRequest, Unsupported, filled, merge

POLICY_GROUP = "admissionregistration.k8s.io"
DEFAULT_SCHEDULER = "default-scheduler"
"""What the API server writes into a pod that names no scheduler, before any policy sees it."""

Manifest = Mapping[str, Any]


def scheduler_name_policy(
    request: PodRequest,
    *,
    form: str = "policy",
    pin_queue: bool = False,
    name: str | None = None,
    api_version: str = "v1",
) -> tuple[Manifest, ...]:
    """What sends pods with a queue label to the request's scheduler; of the request only its
    scheduler name and the key of its queue label count.

    form: ``policy``, Kubernetes' own MutatingAdmissionPolicy, or ``kyverno``.
    pin_queue: also send every pod of a namespace to the queue that is on the namespace's own label
      of the same key, and refuse objects there that name another one (from Kubernetes 1.30 on).
      Namespaces without such a label are free.
    api_version: of MutatingAdmissionPolicy; ``v1beta1`` on Kubernetes 1.34 and 1.35, where it has
      to be switched on.

    Raises InvalidRequestError for an unknown form or version, and for a name that no object can
    have.
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
    """For builders: the scheduler's name cannot be written, and what helps."""
    if request.queue is None:
        return Unsupported(
            "scheduler_name",
            reason,
            "write queue=, and let an administrator apply the policy in cluster_objects once: it"
            " finds pods by their queue label",
        )
    return Unsupported(
        "scheduler_name",
        reason,
        "let an administrator apply the policy in cluster_objects once: it writes the name into"
        " pods that have the queue label",
    )


def workflow_defaults(
    request: PodRequest,
    *,
    existing: str = "",
    namespace: str = "argo",
    name: str = "workflow-controller-configmap",
) -> Manifest:
    """A patch of Argo's ConfigMap after which every workflow's pods go to KAI (spec 7 C19, A6).

    existing: the text that is in `data.workflowDefaults` today, which is kept; Kubeflow Pipelines
    ships one (spec 7 K8). The request's queue, if any, is that of workflows that name none.

    Raises InvalidRequestError for an `existing` text that is no mapping.
    """
    import yaml

    try:
        before = yaml.safe_load(existing) or {}
    except yaml.YAMLError:
        before = None
    if not isinstance(before, dict):
        raise rules.refuse(
            "existing is no mapping: write the text of data.workflowDefaults of the ConfigMap"
        )
    added = filled(
        {
            "metadata": filled({"labels": request.queue_labels}),
            "spec": {"schedulerName": request.scheduler_name},
        }
    )
    text = yaml.safe_dump(merge(before, added), sort_keys=False)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"workflowDefaults": text},
    }


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
    # Of a request with a queue, so that none is needed to make the policy.
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
    api = f"{POLICY_GROUP}/{api_version}"
    policy = {
        "apiVersion": api,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": filled(
            {
                "failurePolicy": "Fail",
                "reinvocationPolicy": "IfNeeded",  # a webhook may add the queue label
                "matchConstraints": {"resourceRules": [dict(_NEW_PODS)]},
                "matchConditions": [
                    {"name": each, "expression": text} for each, text in conditions.items()
                ],
                "mutations": [
                    {
                        "patchType": "ApplyConfiguration",
                        "applyConfiguration": {"expression": expression},
                    }
                ],
            }
        ),
    }
    binding = {
        "apiVersion": api,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": filled(
            {
                "policyName": name,
                "matchResources": filled({"namespaceSelector": selector}),
            }
        ),
    }
    return policy, binding


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
    # A label on the top owner counts before the pod's (§1.3), so it has to be the same one.
    queue_keys = _queue_keys(request)
    of_namespace = _queue_of_namespace(queue_keys)
    api = f"{POLICY_GROUP}/v1"  # ValidatingAdmissionPolicy: from Kubernetes 1.30 on
    policy = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["*"],
                        "scope": "Namespaced",
                    }
                ]
            },
            "matchConditions": [{"name": "has-a-queue", "expression": _any_queue(request)}],
            "validations": [
                {
                    "expression": _is_pinned(key, of_namespace),
                    "messageExpression": f'"the queue of this namespace is " + {of_namespace}',
                }
                for key in queue_keys
            ],
        },
    }
    binding = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": _labelled(queue_keys[0])},
        },
    }
    return policy, binding


def _is_pinned(key: str, of_namespace: str) -> str:
    # What an object carried before may stay: its controllers have to be able to finish it.
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
    policy = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {
            "name": name,
            # Pods only: Kyverno would else change Jobs and Deployments as well.
            "annotations": {"pod-policies.kyverno.io/autogen-controllers": "none"},
        },
        "spec": {"background": False, "rules": policy_rules},
    }
    return (policy, *_refusal(request, f"{name}-and-queue")) if pin_queue else (policy,)


def _new_pods(**selectors: Any) -> dict[str, Any]:
    return {"resources": {"kinds": ["Pod"], "operations": ["CREATE"], **selectors}}
