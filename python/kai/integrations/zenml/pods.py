"""The pod that ZenML makes of settings, and where in it each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import spelling
from kai.settings import filled, merge

CONTAINER = "main"
"""Where ZenML runs a step: the first container of its pod."""

_ON_POD = {
    "scheduler_name": "schedulerName",
    "node_selectors": "nodeSelector",
    "affinity": "affinity",
    "tolerations": "tolerations",
    "volumes": "volumes",
    "host_ipc": "hostIPC",
}
_ON_CONTAINER = {
    "env": "env",
    "env_from": "envFrom",
    "resources": "resources",
    "volume_mounts": "volumeMounts",
    "container_security_context": "securityContext",
}


def pod_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Without what ZenML adds of its own: image, command, its labels and variables, and a request
    of 400Mi where there is none for memory."""
    given = settings["pod_settings"]
    privileged = settings.get("privileged")
    container = {
        "name": CONTAINER,
        **filled({name: given.get(field) for field, name in _ON_CONTAINER.items()}),
    }
    if privileged is not None:
        container["securityContext"] = {
            "privileged": privileged,
            **container.get("securityContext", {}),
        }
    spec = filled({name: given.get(field) for field, name in _ON_POD.items()})
    if secrets := given.get("image_pull_secrets"):
        spec["imagePullSecrets"] = [{"name": name} for name in secrets]
    spec["containers"] = [container]
    # Lists are made longer, mappings are added to, everything else is set, as in merge (spec 7 Z1).
    spec = merge(spec, spelling.camel(given.get("additional_pod_spec_args") or {}))
    metadata = {"labels": given.get("labels"), "annotations": given.get("annotations")}
    return merge(
        {"apiVersion": "v1", "kind": "Pod", "metadata": filled(metadata), "spec": spec}, {}
    )


def placement_of(settings: Mapping[str, Any], *, has_job: bool) -> dict[str, str]:
    pod = settings["pod_settings"]
    # The labels reach the Job as well, since ZenML gives both the same ones (spec 7 Z8).
    placement = dict.fromkeys(pod.get("labels", {}), "Job and pod" if has_job else "pod")
    placement |= dict.fromkeys(pod.get("annotations", {}), "pod")
    placement |= {name: "pod" for field, name in _ON_POD.items() if field in pod}
    placement |= dict.fromkeys(spelling.camel(pod.get("additional_pod_spec_args", {})), "pod")
    container = f"container {CONTAINER}"
    placement |= {name: container for field, name in _ON_CONTAINER.items() if field in pod}
    if "privileged" in settings:
        placement["securityContext"] = container
    if "pod_failure_policy" in settings:
        placement["podFailurePolicy"] = "Job"
    return placement
