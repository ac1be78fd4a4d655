"""Keys that ZenML keeps, or drops, and never acts on (spec 7 Z2, Z3)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kai.integrations.zenml import builder, versions
from kai.integrations.zenml.values import plain

POD_FIELDS = frozenset(
    (
        "additional_pod_spec_args", "affinity", "annotations", "env", "env_from", "host_ipc",
        "image_pull_secrets", "labels", "node_selectors", "resources", "scheduler_name",
        "tolerations", "volume_mounts", "volumes",
    )
)  # fmt: skip
LATER_POD_FIELDS = frozenset(("container_security_context",))

# Of what was meant by keys that look right.
_MEANT = {
    "node_selector": "node_selectors",
    "container_environment": "env, a list of {'name': ..., 'value': ...}",
    "environment": "env, a list of {'name': ..., 'value': ...}",
    "security_context": "privileged=True beside pod_settings",
    "privileged": "privileged=True beside pod_settings",
    "runtime_class_name": "additional_pod_spec_args={'runtime_class_name': ...}",
    "priority_class_name": "the label priorityClassName",
    "schedulerName": "scheduler_name",
    "scheduler": "scheduler_name",
}


def lint(settings: Any, *, zenml_version: str | None = None) -> tuple[str, ...]:
    """What ZenML would ignore, or KAI refuse, in settings written by hand; a sentence for each.

    Takes the settings of a step or pipeline ({"orchestrator": ..., "docker": ...}), those of the
    orchestrator or step operator, or pod settings; as mappings or ZenML's own objects. It needs
    what was written: DockerSettings has forgotten already what it does not know (7a Z3).
    """
    version = versions.read(zenml_version)
    return tuple(_of(plain(settings), version))


def _of(settings: dict[str, Any], version: versions.Version) -> Iterator[str]:
    nested = [key for key in settings if key.split(".")[0].split(":")[0] in builder.TARGETS]
    if nested or "docker" in settings or "kubernetes" in settings:
        for key in nested:
            yield from _of_component(plain(settings[key]), version)
        if "kubernetes" in settings:
            yield "kubernetes is no key of settings: write orchestrator"
        yield from _of_docker(plain(settings.get("docker")))
    elif _is_of_pod(settings):
        yield from _of_pod(settings, version)
    else:
        yield from _of_component(settings, version)


def _is_of_pod(settings: Mapping[str, Any]) -> bool:
    known = POD_FIELDS | LATER_POD_FIELDS
    return "pod_settings" not in settings and any(key in known for key in settings)


def _of_component(settings: Mapping[str, Any], version: versions.Version) -> Iterator[str]:
    for name in ("pod_settings", "orchestrator_pod_settings"):
        if settings.get(name) is not None:
            yield from _of_pod(plain(settings[name]), version)
    for key in settings:
        if key in POD_FIELDS | LATER_POD_FIELDS or (key in _MEANT and key != "privileged"):
            yield f"{key} is no setting of a component: write it in pod_settings"


def _of_pod(settings: Mapping[str, Any], version: versions.Version) -> Iterator[str]:
    late = version < versions.OWNERS_CAN_BE_SKIPPED
    known = POD_FIELDS if late else POD_FIELDS | LATER_POD_FIELDS
    for key in settings:
        if key not in known:
            yield f"pod_settings ignores {key}: write {_instead(key, known)}"
    annotations = settings.get("annotations") or {}
    limits = (settings.get("resources") or {}).get("limits") or {}
    if builder.is_shared(annotations) and any(builder.is_gpu(key) for key in limits):
        yield "KAI refuses a part of a GPU beside whole ones: leave them out of resources"


def _of_docker(settings: Mapping[str, Any]) -> Iterator[str]:
    if "env" in settings:
        yield "DockerSettings drops env: write the variables in env of pod_settings"


def _instead(key: str, known: Iterable[str]) -> str:
    if key in _MEANT:
        return _MEANT[key]
    near = difflib.get_close_matches(key, sorted(known), n=1)
    return near[0] if near else f"one of {', '.join(sorted(known))}"
