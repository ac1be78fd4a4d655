"""The webhooks: their program, Service and registrations (spec 6 C16).

The registrations have no certificate authorities, and the failure policy Ignore: the program writes
both once it answers, so that nothing is refused before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys, webhooks
from kai.api.resources import new_object, resource
from kai.install import running

ADMISSION = "admission"
TIMEOUT_S = 10
TIMEOUT_AT_URL_S = 3
"""A laptop is often away: until then the API server waits with each object."""
_NOT_REVIEWED = "kube-system"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Which objects are reviewed. `scheduler`: only its pods. `namespaces`, `pods`: labels that the
    namespaces and the pods must have. `queue_key`: a label that the namespaces must have; "": none.
    """

    scheduler: str = keys.SCHEDULER_NAME
    namespaces: Mapping[str, str] = field(default_factory=dict)
    pods: Mapping[str, str] = field(default_factory=dict)
    queue_key: str = ""


def deployment(
    name: str, namespace: str, image: str, arguments: Sequence[str] = ()
) -> dict[str, Any]:
    """Two replicas of `kai run admission`. An update starts a new pod before it stops an old one:
    there is always one that answers. `arguments`: further ones."""
    labels = {"app.kubernetes.io/name": "kai-sched", "app.kubernetes.io/component": ADMISSION}
    container = running.container(
        image,
        *("run", ADMISSION, "--namespace", "$(NAMESPACE)"),
        *("--webhook-addr", f":{webhooks.PORT}"),
        *("--listen-address", f":{running.PORT}"),
        *arguments,
        resources={"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "256Mi"}},
    )
    container["ports"].append({"name": "webhooks", "containerPort": webhooks.PORT})
    made = running.pods_of(name, namespace, labels, container)
    # KAI's Service of the same name selects this label.
    made["spec"]["template"]["metadata"]["labels"] = {**labels, keys.APP_LABEL: webhooks.SERVICE}
    made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 30  # 10 s still answering
    update = {"maxUnavailable": 0, "maxSurge": 1}
    made["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": update}
    return made


def service(namespace: str) -> dict[str, Any]:
    port = {"name": "webhooks", "port": webhooks.SERVICE_PORT, "targetPort": webhooks.PORT}
    spec = {"selector": {keys.APP_LABEL: webhooks.SERVICE}, "ports": [port]}
    return new_object("Service", {"name": webhooks.SERVICE, "namespace": namespace}, spec=spec)


def objects(
    name: str, namespace: str, image: str, arguments: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The Deployment with these arguments, its disruption budget, the Service and the
    registrations."""
    program = deployment(name, namespace, image, arguments)
    return [program, running.budget(program), service(namespace), *registrations(namespace)]


def registrations(
    namespace: str, reviewed: Reviewed | None = None, url: str = ""
) -> list[dict[str, Any]]:
    """The webhook configurations. `url`: "https://host:port", which is called instead of the
    Service."""
    made: dict[str, dict[str, Any]] = {}
    for each in webhooks.WEBHOOKS:
        empty = new_object(each.registration, {"name": each.configuration}, webhooks=[])
        configuration = made.setdefault(each.configuration, empty)
        configuration["webhooks"].append(_webhook(each, namespace, reviewed or Reviewed(), url))
    return list(made.values())


def _webhook(
    webhook: webhooks.Webhook, namespace: str, reviewed: Reviewed, url: str
) -> dict[str, Any]:
    of = resource(webhook.kind)
    rule = {
        "apiGroups": [of.group],
        "apiVersions": [of.version],
        "resources": [of.plural],
        "operations": list(webhook.operations),
    }
    service = {"name": webhooks.SERVICE, "namespace": namespace, "path": webhook.path}
    made: dict[str, Any] = {
        "name": webhook.name_in(namespace),
        "clientConfig": {"url": url + webhook.path} if url else {"service": service},
        "rules": [rule],
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": TIMEOUT_AT_URL_S if url else TIMEOUT_S,
    }
    if webhook.kind == "Pod":
        made |= _of_pods(namespace, reviewed)
    if webhook.mutates:
        made["reinvocationPolicy"] = "IfNeeded"
    return made


def _of_pods(namespace: str, reviewed: Reviewed) -> dict[str, Any]:
    """Pods of other schedulers, and those that kai needs itself, never wait for the webhook."""
    outside = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": [_NOT_REVIEWED, namespace],
    }
    expressions = [outside]
    if reviewed.queue_key:
        expressions.append({"key": reviewed.queue_key, "operator": "Exists"})
    selector: dict[str, Any] = {"matchExpressions": expressions}
    if reviewed.namespaces:
        selector["matchLabels"] = dict(reviewed.namespaces)
    condition = {
        "name": "scheduler-name-match",
        "expression": f"object.spec.schedulerName == '{reviewed.scheduler}'",
    }
    made: dict[str, Any] = {"namespaceSelector": selector, "matchConditions": [condition]}
    if reviewed.pods:
        made["objectSelector"] = {"matchLabels": dict(reviewed.pods)}
    return made
