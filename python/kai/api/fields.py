"""Checks the types of existing fields before settings are merged into them.

    check_fields("Job train", manifest)
    # InvalidRequestError: spec.template.spec.containers of Job train is 5: write a list

Only fields that merging reads are checked. Each of them has one type in Kubernetes and in every
orchestrator, in camelCase or snake_case. A null field counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kai.api import rules, spelling


def _in_both_spellings(names: Iterable[str]) -> frozenset[str]:
    return frozenset(spelled for name in names for spelled in (name, spelling.snake_name(name)))


_TEXTS = _in_both_spellings(  # mappings of texts; their keys are not checked
    (
        *("annotations", "labels", "limits", "nodeSelector", "nodeSelectors", "rayStartParams"),
        "requests",
    )
)
_OBJECTS = _in_both_spellings(
    (
        *("metadata", "spec", "template", "podTemplate", "jobTemplate", "podSpec", "resources"),
        *("securityContext", "extraPodSpec", "extraPodMetadata", "mainContainer", "container"),
        *("script", "headGroupSpec", "rayClusterSpec", "rayClusterConfig", "leaderWorkerTemplate"),
        *("leaderTemplate", "workerTemplate", "runPolicy", "schedulingPolicy", "driver"),
        *("executor", "predictor", "transformer", "explainer", "model", "services"),
        *("pytorchReplicaSpecs", "tfReplicaSpecs", "xgbReplicaSpecs", "jaxReplicaSpecs"),
        *("paddleReplicaSpecs", "mpiReplicaSpecs", "containerConfig", "podSpecConfig"),
        *("podTemplateSpecMetadata", "jobMetadata", "jobSpecConfig", "gpu", "basePodSpec"),
        *("basePodMeta", "podConfig", "kubernetes", "contextConfigs", "variables"),
        *("properties", "podSettings", "additionalPodSpecArgs", "workflowSpec", "containerSet"),
        *("orchestratorPodSettings", "containerSecurityContext"),
    )
)
_ROLES = frozenset(  # mappings of objects; the user chooses their keys
    name
    for name in _OBJECTS
    if name.endswith(("ReplicaSpecs", "replica_specs"))
    or name in ("services", "contextConfigs", "context_configs", "properties")
)
_LISTS = _in_both_spellings(
    (
        *("containers", "initContainers", "sidecars", "env", "tolerations", "volumes"),
        *("volumeMounts", "resourceClaims", "claims", "replicatedJobs", "workerGroupSpecs"),
        *("components", "cliques", "templates", "tasks"),
    )
)
_NUMBERS = _in_both_spellings(
    (
        *("replicas", "minReplicas", "maxReplicas", "parallelism", "minAvailable", "quantity"),
        *("maxRetry",),
    )
)
_TEXT = _in_both_spellings(("parentQueue",))
_SETTLED = ("containers", "initContainers", "limits", "requests")  # never placeholders
_TOLERATION = ("key", "operator", "value", "effect")


def check_fields(what: str, value: object, *, placeholders: bool = False) -> Mapping[str, Any]:
    """Returns the value itself. Raises InvalidRequestError for a field of the wrong type.

    placeholders: accept texts like ``{{ env }}`` where an orchestrator fills in values later.
    """
    given = rules.mapping(what, value)
    _Reader(what, placeholders).fields("", given)
    return given


def fields_at(what: str, value: Mapping[str, Any], *path: str) -> Any:
    """The object at a required path, after its fields were checked."""
    for at, step in enumerate(path, start=1):
        inner = value.get(step)
        if not isinstance(inner, Mapping):
            raise rules.refuse(f"{what} has no {'.'.join(path[:at])}: write it")
        value = inner
    return value


class _Reader:
    def __init__(self, what: str, placeholders: bool) -> None:
        self.what = what
        self.placeholders = placeholders

    def fields(self, path: str, fields: Mapping[Any, Any]) -> None:
        for name, value in fields.items():
            at = f"{path}.{name}" if path else str(name)
            if not isinstance(name, str):
                raise self.refuse(path, f"has the key {rules.shown(name)}: write a string")
            if value is None:
                continue
            if name in _OBJECTS:
                inner = self.object(at, value)
                if name not in _ROLES:
                    self.fields(at, inner)
                    continue
                for role, each in inner.items():
                    if each is not None:
                        self.fields(f"{at}.{role}", self.object(f"{at}.{role}", each))
            elif self.placeholders and name not in _SETTLED and _is_placeholder(value):
                continue
            elif name in _TEXTS:
                self.texts(at, value)
            elif name in _LISTS:
                self.entries(at, name, value)
            elif name in _TEXT and not isinstance(value, str):
                raise self.refuse(at, f"is {rules.shown(value)}: write a string")
            elif name in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int)):
                raise self.refuse(at, f"is {rules.shown(value)}: write a whole number")

    def entries(self, at: str, name: str, value: object) -> None:
        if not isinstance(value, (list, tuple)):
            raise self.refuse(at, f"is {rules.shown(value)}: write a list")
        for number, each in enumerate(value):
            entry = f"{at}[{number}]"
            fields = self.object(entry, each)
            for field in _TOLERATION if name == "tolerations" else ():
                if not isinstance(fields.get(field) or "", str):
                    problem = f"is {rules.shown(fields[field])}: write a string"
                    raise self.refuse(f"{entry}.{field}", problem)
            self.fields(entry, fields)

    def texts(self, at: str, value: object) -> None:
        for key, each in self.object(at, value).items():
            if not isinstance(key, str):
                raise self.refuse(at, f"has the key {rules.shown(key)}: write a string")
            if key == "custom" and each is not None:  # Dynamo: resources without a short name
                self.texts(f"{at}.custom", each)

    def object(self, at: str, value: object) -> Mapping[Any, Any]:
        return rules.mapping(f"{at} of {self.what}", value)

    def refuse(self, at: str, problem: str) -> Exception:
        return rules.refuse(f"{at} of {self.what} {problem}" if at else f"{self.what} {problem}")


def _is_placeholder(value: object) -> bool:
    return isinstance(value, str) and "{{" in value
