"""The hooks of the Helm chart: pods of `kai run chart-hook`, their accounts and rights.

    made = objects("kai", "kai-sched:1", release="kai")
    [each["metadata"]["name"] for each in made if each["kind"] == "Job"]
    # ['kai-hook-check', 'kai-hook-crds', 'kai-hook-webhooks']

Helm creates the objects before the phases in their annotations and deletes them afterwards, so none
of them is part of the release.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from itertools import chain
from typing import Any

from kai.api import webhooks
from kai.api.resources import OURS, new_object, resource
from kai.install import access, running
from kai.install.access import Rule

ACCOUNT, TEST_ACCOUNT = "kai-hooks", "kai-hooks-test"
"""Two accounts: Helm shows the objects of `helm test` as test suites after each installation, if
they are created in other phases too."""
_DEFINITION = resource("CustomResourceDefinition")
_DEFINITIONS = (_DEFINITION.group, _DEFINITION.plural)
RULES = (
    Rule(*_DEFINITIONS, ("create",)),
    Rule(*_DEFINITIONS, ("get", "patch"), names=tuple(f"{e.plural}.{e.group}" for e in OURS)),
    *(
        Rule(resource(kind).group, resource(kind).plural, ("get", "delete"), names=(name,))
        for name, kind in webhooks.CONFIGURATIONS.items()
    ),
)
TEST_RULES = (
    Rule("coordination.k8s.io", "leases", ("get",), own=True),
    Rule("apps", "deployments", ("get",), own=True),
)

CHECK, TEST = "check", "test"
PHASES = {
    CHECK: ("pre-install", "pre-upgrade"),
    "crds": ("pre-install", "pre-upgrade"),
    "webhooks": ("pre-delete",),
    TEST: ("test",),
}
"""When Helm runs each step of `kai run chart-hook`."""
_ANNOTATION, _WEIGHT = "helm.sh/hook", "helm.sh/hook-weight"
_RIGHTS_WEIGHT, _CHECK_WEIGHT, _OTHER_WEIGHT = -2, -1, 0
_POLICIES = {
    "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",  # a failed one stays
    "helm.sh/hook-output-log-policy": "hook-failed",
}
"""Helm prints the log of a pod that fails, since version 3.18; older ones ignore it."""


def objects(namespace: str, image: str, release: str) -> list[dict[str, Any]]:
    """The accounts with their rights, a Job for each step that belongs to a change, and a Pod for
    `helm test`. `release`: the name of the Helm release. The chart adds options
    `--program` to CHECK and TEST."""
    of_changes = (phases for step, phases in PHASES.items() if step != TEST)
    changing = dict.fromkeys(chain.from_iterable(of_changes))
    made = []
    for account, rules, phases in (
        (ACCOUNT, RULES, changing),
        (TEST_ACCOUNT, TEST_RULES, PHASES[TEST]),
    ):
        for each in access.objects("chart-hook", account, namespace, rules):
            _annotate(each, phases, weight=_RIGHTS_WEIGHT)
            made.append(each)
    for step, phases in PHASES.items():
        labels = {"app.kubernetes.io/name": "kai-sched", "app.kubernetes.io/component": "hook"}
        metadata = {"name": f"kai-hook-{step}", "namespace": namespace, "labels": labels}
        pod = _pod(step, image, release)
        if step == TEST:
            one = new_object("Pod", metadata, spec=pod)
        else:
            template = {"metadata": {"labels": dict(labels)}, "spec": pod}
            # A second try covers a lost connection, which CHECK does not need; a mistake stays one.
            spec = {
                "backoffLimit": int(step != CHECK),
                "activeDeadlineSeconds": 300,
                "template": template,
            }
            one = new_object("Job", metadata, spec=spec)
        _annotate(one, phases, weight=_CHECK_WEIGHT if step == CHECK else _OTHER_WEIGHT)
        made.append(one)
    return made


def _annotate(manifest: dict[str, Any], phases: Iterable[str], *, weight: int) -> None:
    hook = {_ANNOTATION: ",".join(phases), _WEIGHT: str(weight), **_POLICIES}
    manifest["metadata"] = {**manifest["metadata"], "annotations": hook}


def _pod(step: str, image: str, release: str) -> dict[str, Any]:
    container = {
        "name": "kai",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": [
            *("run", "chart-hook", step),
            *("--namespace", "$(NAMESPACE)"),
            *("--release", release),
        ],
        "env": [running.from_field("NAMESPACE", "metadata.namespace")],
        "resources": {
            "requests": {"cpu": "50m", "memory": "64Mi"},
            "limits": {"memory": "256Mi"},
        },
        "securityContext": copy.deepcopy(dict(running.CONTAINER_SECURITY)),
        "terminationMessagePolicy": "FallbackToLogsOnError",  # kubectl describe shows the sentence
    }
    return {
        "serviceAccountName": TEST_ACCOUNT if step == TEST else ACCOUNT,
        "restartPolicy": "Never",
        "securityContext": copy.deepcopy(dict(running.POD_SECURITY)),
        "containers": [container],
    }
