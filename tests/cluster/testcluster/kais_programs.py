"""KAI's programs in a cluster, played: Deployments, their pods, the webhooks and the operator.

    async with KaisPrograms(cluster, services, api) as kai:
        ...                             # kubectl scale deployment -n kai-scheduler ...
        await kai.is_served("admission")

Registrations, names, labels and selectors are those of KAI's operator (spec 6 C16). A
webhook answers while a pod of its program runs. While a pod of the operator exists, also one that
ends, it creates missing registrations again and starts stopped programs. Nothing else is played:
the other programs do nothing.
"""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from typing import Any

from kai.controllers.admission import Known, Reviews, Rules

from .client import ApiError, Client, Object, path_of
from .objects import node
from .services import (
    Services,
    path_of_registration,
    registration,
    webhook,
)

NAMESPACE = "kai-scheduler"
OPERATOR = "kai-operator"
SCHEDULER = "kai-scheduler-default"
WITH_WEBHOOKS = ("admission", "podgroup-controller", "queue-controller")
PROGRAMS = (*WITH_WEBHOOKS, "binder", "pod-grouper", SCHEDULER)
LOOK_EVERY_S = 0.2
STOP_DELAY = "3s"
"""The operator needs this long to end: until then it undoes what is changed."""

MUTATE, VALIDATE = "/mutate--v1-pod", "/validate--v1-pod"
TOPOLOGIES = "/validate-kai-scheduler-v1alpha1-topology"
QUEUES = "/validate-scheduling-run-ai-v2-queue"
POD_GROUPS = "/validate-scheduling-run-ai-v2alpha2-podgroup"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class KaisPrograms:
    """`restored`: the names of registrations that the operator created again."""

    def __init__(self, api: Client, services: Services) -> None:
        self._api, self._services = api, services
        self._task: asyncio.Task[None] | None = None
        self.restored: list[str] = []
        self.registrations = self._registrations()

    async def __aenter__(self) -> KaisPrograms:
        await self._api.create_namespace(NAMESPACE)
        await self._api.create(node("system", 0))
        await self._api.until("the node is ready", self._has_node)
        kais = Reviews(Rules(runtime_class="", as_kai=True), draw=_draw, known=Known())
        paths = {
            "admission": (MUTATE, VALIDATE, TOPOLOGIES),
            "podgroup-controller": (POD_GROUPS,),
            "queue-controller": (QUEUES,),
        }
        for name, served in paths.items():
            reviews = {path: partial(kais.answer, path) for path in served}
            await self._services.serve(NAMESPACE, name, reviews)
            self._services.refuse(NAMESPACE, name)
        await self._api.create(*(_deployment(name) for name in (OPERATOR, *PROGRAMS)))
        self._task = asyncio.create_task(self._run())
        await self._api.until("KAI runs", lambda: self.runs(OPERATOR, *PROGRAMS), 60)
        await self._api.until("its registrations exist", self.are_registered, 30)
        self.restored.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def check(self) -> None:
        """Raises the error that ended the play."""
        assert self._task is not None
        if self._task.done():
            self._task.result()

    async def runs(self, *names: str) -> bool:
        """Whether a pod of each program runs."""
        self.check()
        return set(names) <= await self._apps("Running")

    async def have_ended(self) -> bool:
        """Whether no pod of a program exists, also none that ends: the operator works until its pod
        is gone."""
        self.check()
        return not await self._apps()

    async def are_registered(self) -> bool:
        self.check()
        paths = map(path_of_registration, self.registrations)
        return all([await self._api.status_of(self._api.get(each)) == 200 for each in paths])

    # ---- inside ----------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            running = await self._apps("Running")
            for name in WITH_WEBHOOKS:
                change = self._services.accept if name in running else self._services.refuse
                change(NAMESPACE, name)
            if OPERATOR in await self._apps():
                await self._operate()
            await asyncio.sleep(LOOK_EVERY_S)

    async def _operate(self) -> None:
        for each in self.registrations:
            if await self._api.status_of(self._api.get(path_of_registration(each))) == 404:
                try:
                    await self._api.create_one(each)
                except ApiError as error:
                    if error.status != 409:
                        raise
                self.restored.append(each["metadata"]["name"])
        for each in await self._api.items(path_of("Deployment", NAMESPACE)):
            name = each["metadata"]["name"]
            if name in PROGRAMS and each["spec"]["replicas"] == 0:
                path = path_of("Deployment", NAMESPACE, name)
                await self._api.patch(path, {"spec": {"replicas": 1}})

    async def _has_node(self) -> bool:
        found = await self._api.get(path_of("Node", name="system"))
        conditions = found["status"].get("conditions", ())
        return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)

    async def _apps(self, phase: str = "") -> set[str]:
        """The programs that have a pod."""
        return {
            each["metadata"]["labels"]["app"]
            for each in await self._api.items(path_of("Pod", NAMESPACE))
            if phase in ("", each["status"].get("phase"))
            and (not phase or "deletionTimestamp" not in each["metadata"])
            and "app" in each["metadata"].get("labels", {})
        }

    def _registrations(self) -> list[Object]:
        call = self._services.client_config
        of_pods: dict[str, Any] = {
            "matchConditions": [
                {
                    "name": "scheduler-name-match",
                    "expression": "object.spec.schedulerName == 'kai-scheduler'",
                }
            ],
            "namespaceSelector": {
                "matchExpressions": [
                    {
                        "key": "kubernetes.io/metadata.name",
                        "operator": "NotIn",
                        "values": ["kube-system", NAMESPACE],
                    }
                ]
            },
        }
        pods = f"admission.{NAMESPACE}.svc"
        topologies = ("topologies", "kai.scheduler", "v1alpha1")
        queues, groups = (
            (plural, "scheduling.run.ai", version)
            for plural, version in (("queues", "v2"), ("podgroups", "v2alpha2"))
        )

        def hook(name: str, service: str, path: str, *resource: Any, **more: Any) -> Object:
            return webhook(name, call(NAMESPACE, service, path), *resource, **more)

        return [
            registration(
                *("Mutating", "mutating-kai-admission"),
                hook(
                    *(pods, "admission", MUTATE, "pods", "", "v1", ("CREATE",)),
                    reinvocationPolicy="IfNeeded",
                    **of_pods,
                ),
                app="admission",
            ),
            registration(
                *("Validating", "validating-kai-admission"),
                hook(pods, "admission", VALIDATE, "pods", **of_pods),
                hook(f"topology.{pods}", "admission", TOPOLOGIES, *topologies),
                app="admission",
            ),
            registration(
                *("Validating", "kai-queue-validation-v2"),
                hook("queue-validation.kai.scheduler", "queue-controller", QUEUES, *queues),
            ),
            registration(
                *("Validating", "kai-podgroup-validation-v2alpha2"),
                hook(
                    "podgroup-validation.kai.scheduler", "podgroup-controller", POD_GROUPS, *groups
                ),
            ),
        ]


def _deployment(name: str) -> Object:
    labels = {"app": name}
    if name != OPERATOR:
        labels["app.kubernetes.io/managed-by"] = OPERATOR
    delay = {"sim/stop-delay": STOP_DELAY} if name == OPERATOR else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": labels, "annotations": delay},
                # No scheduler of Kubernetes runs in the test cluster.
                "spec": {"nodeName": "system", "containers": [{"name": "main", "image": "none"}]},
            },
        },
    }


def _draw(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))
