"""Objects of a cluster in the form of the recordings of KAI's control plane: without the fields of
the server and of simulated kubelets, and with placeholders for random parts.

    names = Names()
    names.know(pod)                         # each object that was seen, for its UID and its name
    state = cleaned_state(objects, names)   # {"pods": [...], ..., "events": [...]}

Placeholders are `<r1>`, `<uuid-1>`, `<rnd1>`, `<hash1>`, with other numbers than in the recording;
`compared` finds out which objects belong together.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .client import Object

KINDS = {
    "pods": "Pod",
    "podgroups": "PodGroup",
    "bindrequests": "BindRequest",
    "queues": "Queue",
    "configmaps": "ConfigMap",
}
"""The objects that a recording shows at its end, besides events."""

METADATA = frozenset(
    (
        "managedFields",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "selfLink",
        "deletionTimestamp",  # pods being deleted are gone soon, or kept by a finalizer
        "deletionGracePeriodSeconds",
    )
)
POD_SPEC: Mapping[str, Any] = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "restartPolicy": "Always",
    "securityContext": {},
    "serviceAccount": ...,
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
    "tolerations": ...,
}
"""The server's defaults of pods; `...` matches any value."""
CONTAINER: Mapping[str, Any] = {
    "imagePullPolicy": ...,
    "terminationMessagePath": ...,
    "terminationMessagePolicy": ...,
    "volumeMounts": ...,
}
POD_STATUS = frozenset(
    (
        "phase",
        "conditions",
        "qosClass",
        "nominatedNodeName",
        "reason",
        "message",
        "resourceClaimStatuses",
    )
)
CONDITION = ("type", "status", "reason", "message")
TOKENS = "kube-api-access-"  # the volume of the service account
UNORDERED = ("childQueues",)
"""Lists whose order in KAI is random."""
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
RESERVATION = r"(?<=gpu-reservation-)[a-z0-9][a-z0-9-]*"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"


class Names:
    """UIDs and random names of a cluster, and their placeholders in a recording."""

    def __init__(self) -> None:
        self._uids = dict[str, str]()
        self._drawn = dict[str, str]()
        self._numbers = Counter[str]()

    def know(self, each: Object, kind: str = "") -> None:
        metadata = each["metadata"]
        kind, name = each.get("kind") or kind, metadata["name"]
        self._uids[metadata["uid"]] = f"<uid:{kind}/{name}>"
        prefix = metadata.get("generateName", "")
        if prefix and name.startswith(prefix) and name not in self._drawn:
            self.call(name, f"{prefix}<r{self._next(prefix)}>")

    def call(self, drawn: str, placeholder: str) -> None:
        """Sets the placeholder of a random text."""
        self._drawn[drawn] = placeholder

    def in_words(self, text: str) -> str:
        for uid, name in self._uids.items():
            text = text.replace(uid, name)
        for drawn in sorted(self._drawn, key=len, reverse=True):
            text = text.replace(drawn, self._drawn[drawn])
        for pattern, placeholder in ((UUID, "uuid-"), (RESERVATION, "hash")):
            for drawn in sorted(set(re.findall(pattern, text))):
                number = self._drawn.setdefault(drawn, f"<{placeholder}{self._next(placeholder)}>")
                text = text.replace(drawn, number)
        return re.sub(TIME, "<time>", text)

    def _next(self, prefix: str) -> int:
        self._numbers[prefix] += 1
        return self._numbers[prefix]


def cleaned_state(
    objects: Mapping[str, Iterable[Object]], names: Names, marked: Iterable[str] = ()
) -> dict[str, list[Any]]:
    """`objects`: by the kinds of a recording, "pods" and so on, and "events". `marked`: names of
    pods that were unschedulable at some time."""
    state: dict[str, list[Any]] = {
        kind: [cleaned(each, KINDS[kind]) for each in found]
        for kind, found in objects.items()
        if kind in KINDS
    }
    state["events"] = [cleaned_event(each) for each in objects.get("events", ())]
    state["marked"] = list(marked)
    result: dict[str, list[Any]] = json.loads(names.in_words(json.dumps(state)))
    return result


def cleaned(each: Object, kind: str) -> Object:
    found = json.loads(json.dumps(each))
    found.setdefault("kind", kind)
    metadata = found["metadata"]
    for key in METADATA:
        metadata.pop(key, None)
    if kind == "Pod":
        _clean_pod(found)
    status = found.get("status") or {}
    for condition in status.get("schedulingConditions") or ():
        condition.pop("lastTransitionTime", None)
    result: Object = without_nothing(found)
    return result


def _clean_pod(pod: Object) -> None:
    spec, status = pod["spec"], pod["status"]
    _drop(spec, POD_SPEC)
    spec["volumes"] = [v for v in spec.get("volumes", ()) if not v["name"].startswith(TOKENS)]
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        mounts = [
            each
            for each in container.get("volumeMounts", ())
            if not each["name"].startswith(TOKENS)
        ]
        _drop(container, CONTAINER)
        if mounts:
            container["volumeMounts"] = mounts
    pod["status"] = {key: value for key, value in status.items() if key in POD_STATUS}
    pod["status"]["conditions"] = [
        {key: each[key] for key in CONDITION if each.get(key)}
        for each in status.get("conditions", ())
    ]
    hide_drawn(pod)


def hide_drawn(pod: dict[str, Any]) -> None:
    """Hides the random ends of the names of claims that were created for the pod; the recorder kept
    them."""
    for claim in pod["status"].get("resourceClaimStatuses", ()):
        claim["resourceClaimName"] = "<r>"


def _drop(target: dict[str, Any], defaults: Mapping[str, Any]) -> None:
    for key, default in defaults.items():
        if default is ... or target.get(key) == default:
            target.pop(key, None)


def cleaned_event(event: Object) -> Object:
    about = event["involvedObject"]
    return {
        "type": event["type"],
        "reason": event["reason"],
        "message": event.get("message", ""),
        "involvedObject": f"{about['kind']}/{about['name']}",
        "involvedApiVersion": about.get("apiVersion", ""),
        "source": event.get("source", {}).get("component", ""),
        "reportingController": event.get("reportingComponent", ""),
        "namespace": event["metadata"]["namespace"],
    }


def without_nothing(value: Any) -> Any:
    """Removes empty fields, and sorts lists without an order."""
    if isinstance(value, dict):
        found = {
            key: sorted(each) if key in UNORDERED else without_nothing(each)
            for key, each in value.items()
        }
        return {key: each for key, each in found.items() if each not in ({}, [], None)}
    if isinstance(value, list):
        return [without_nothing(each) for each in value]
    return value
