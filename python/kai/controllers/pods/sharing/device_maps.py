"""The ConfigMaps that name the devices of a pod with shared devices (spec 6 C53, spec 3 B18-B22).

    maps = DeviceMaps(devices.of)           # a reserver of kai.controllers.pods.course

Runs after the devices are known. Both ConfigMaps are owned by the pod and are deleted with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kai.api.writes import Lane, Outcome, Read, Result, Verb, Write
from kai.controllers.courses import All, Find, Send
from kai.controllers.pods.course import Pod, PodCourse, Refused, answer_of, check_lease
from kai.controllers.pods.decisions import PART_OF_A_GPU, Binding
from kai.controllers.pods.sharing.shared_pod import config_map_bodies, needs_memory_of_node
from kai.errors import NotFoundError

TRIES = 3
"""The number of tries for a write without an answer."""
_FAILED = "plugin gpusharing failed in PreBind: failed to create capabilities configmap: "
_NO_NAME = "failed to get capabilities configmap name: "


class DeviceMaps:
    """A reserver. `devices_of`: the UUIDs of a binding's devices. `cdi`: devices have the names of
    the device plugin's CDI files. `hami`: adds the memory limit that HAMi-core reads. The node is
    read for it, and for pods whose limit of MPS depends on it."""

    what = PART_OF_A_GPU

    def __init__(
        self,
        devices_of: Callable[[Binding], Sequence[str]],
        *,
        cdi: bool = False,
        hami: bool = False,
    ) -> None:
        self.devices_of, self.cdi, self.hami = devices_of, cdi, hami

    def needs(self, binding: Binding) -> bool:
        return PART_OF_A_GPU in binding.needs

    def step(self, course: PodCourse, pod: Pod) -> MapsOfPod:
        return MapsOfPod(self, course, pod)


class MapsOfPod:
    """A step."""

    def __init__(self, settings: DeviceMaps, course: PodCourse, pod: Pod) -> None:
        self._settings, self._course, self._binding = settings, course, course.binding
        self._pod: Pod | None = pod  # until its maps are known
        self._names: list[str] = []
        self._left: set[str] = set()  # those that do not exist yet

    @property
    def waits_for(self) -> str:
        return f"the ConfigMap {min(self._left, default='')}" if self._names else "its node"

    async def reserve(self) -> None:
        labels: Mapping[str, str] = {}
        if self._settings.hami or self._needs_memory_of_node():
            node = await Find(Read("Node", "", self._binding.node))
            labels = {} if node is None else node["metadata"].get("labels") or {}
        bodies = self._bodies(labels)
        self._names = [body["metadata"]["name"] for body in bodies]
        self._left = set(self._names)
        todo: list[tuple[Verb, Mapping[str, Any]]] = [("create", body) for body in bodies]
        tries = 1
        while todo:
            outcomes = await All([Send(self._write(*each)) for each in todo])
            judged = zip(todo, outcomes, strict=True)
            again = [self._next(*each, outcome, tries) for each, outcome in judged]
            todo = [each for each in again if each is not None]
            tries += 1

    def _needs_memory_of_node(self) -> bool:
        try:
            return self._pod is not None and needs_memory_of_node(self._pod)
        except NotFoundError:
            return False  # `_bodies` refuses it

    def _bodies(self, labels: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        settings, binding = self._settings, self._binding
        portion = (binding.spec.get("receivedGPU") or {}).get("portion", "")
        assert self._pod is not None
        pod, self._pod = self._pod, None
        try:
            return config_map_bodies(
                *(pod, settings.devices_of(binding), portion),
                cdi=settings.cdi,
                hami=settings.hami,
                node_labels=labels,
            )
        except NotFoundError as error:
            raise Refused(f"{_FAILED}{_NO_NAME}{error}") from None

    def _next(
        self, verb: Verb, body: Mapping[str, Any], outcome: Outcome, tries: int
    ) -> tuple[Verb, Mapping[str, Any]] | None:
        """What follows the answer to this write; None: nothing."""
        if outcome.result is Result.DONE:
            self._left.discard(body["metadata"]["name"])
            return None
        if outcome.result is Result.CONFLICT and verb == "create":
            return "patch", body  # exists from an earlier try
        if outcome.result is Result.LOST and tries < TRIES:
            return "create", body
        check_lease(outcome)
        raise Refused(f"{_FAILED}{answer_of(outcome)}")

    async def unreserve(self) -> None:
        """As in KAI, also if the pod was deleted and takes them with it."""
        namespace = self._binding.namespace
        await All([Send(_deletion(namespace, name)) for name in self._names])

    def leave(self) -> None:
        pass

    def keep(self) -> None:
        pass

    def _write(self, verb: Verb, body: Mapping[str, Any]) -> Write:
        metadata = body["metadata"]
        where = metadata["namespace"], metadata["name"]
        return Write(
            *(Lane.BINDING, verb, "ConfigMap", *where, body), key=_key(*where), about=self._course
        )


def _deletion(namespace: str, name: str) -> Write:
    key = _key(namespace, name)
    return Write(Lane.BINDING, "delete", "ConfigMap", namespace, name, key=key)


def _key(namespace: str, name: str) -> str:
    """A deletion follows a creation that is under way, and replaces one that waits."""
    return f"config-map/{namespace}/{name}"
