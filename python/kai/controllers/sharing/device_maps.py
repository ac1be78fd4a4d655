"""The ConfigMaps that name the devices of a pod with shared devices (spec 6 C53, spec 3 B18-B22).

    maps = DeviceMaps(devices.of)
    maps.give(now, binding, pod)            # a giver of kai.controllers.preparing

Runs after the devices are known. Both ConfigMaps are owned by the pod and are deleted with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kai.api.writes import NOT_LEADING, Lane, Outcome, Read, Result, Write
from kai.controllers.one_binding import PART_OF_A_GPU, Binding
from kai.controllers.preparing import Given, Pod
from kai.controllers.sharing.shared_pod import config_map_bodies
from kai.errors import NotFoundError

TRIES = 3
"""The number of tries for a write without an answer."""
_FAILED = "plugin gpusharing failed in PreBind: failed to create capabilities configmap: "
_NO_NAME = "failed to get capabilities configmap name: "


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """The ConfigMaps that a binding needs. `left`: those that do not exist yet."""

    binding: Binding
    names: Sequence[str]
    left: set[str]


@dataclass(frozen=True, slots=True, eq=False)
class _Map:
    """One ConfigMap of a pair. `tries`: how often it was sent."""

    pair: _Pair
    body: Mapping[str, Any]
    tries: int = 1

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pods that wait for the write (kai.api.writes)."""
        return self.pair.binding.pods


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """The purpose of a read of a node."""

    binding: Binding
    pod: Pod


class DeviceMaps:
    """A giver. `devices_of`: the UUIDs of a binding's devices. `cdi`: devices have the names of the
    device plugin's CDI files. `hami`: adds the memory limit that HAMi-core reads; the node is read
    for it."""

    what = PART_OF_A_GPU

    def __init__(
        self,
        devices_of: Callable[[Binding], Sequence[str]],
        *,
        cdi: bool = False,
        hami: bool = False,
    ) -> None:
        self._devices_of, self._cdi, self._hami = devices_of, cdi, hami
        self._pairs: dict[str, _Pair] = {}  # by pod
        self._looks: dict[str, _Node] = {}  # by pod, nodes that are being read

    def needs(self, binding: Binding) -> bool:
        return PART_OF_A_GPU in binding.needs

    def give(self, now: float, binding: Binding, pod: Pod) -> Given:
        if self._hami:
            about = self._looks[binding.pod] = _Node(binding, pod)
            return Given(reads=[Read("Node", "", binding.node, about=about)])
        return self._give(binding, pod, {})

    def read(self, now: float, read: Read, found: Any) -> Given:
        about = read.about
        if not isinstance(about, _Node) or self._looks.get(about.binding.pod) is not about:
            return Given()
        del self._looks[about.binding.pod]
        labels = {} if found is None else found["metadata"].get("labels") or {}
        return self._give(about.binding, about.pod, labels)

    def _give(self, binding: Binding, pod: Pod, node_labels: Mapping[str, str]) -> Given:
        portion = (binding.spec.get("receivedGPU") or {}).get("portion", "")
        devices = self._devices_of(binding)
        try:
            bodies = config_map_bodies(
                *(pod, devices, portion), cdi=self._cdi, hami=self._hami, node_labels=node_labels
            )
        except NotFoundError as error:
            return Given(failed=[(binding, f"{_FAILED}{_NO_NAME}{error}")])
        names = [body["metadata"]["name"] for body in bodies]
        pair = self._pairs[binding.pod] = _Pair(binding, names, set(names))
        return Given(writes=[_creation(_Map(pair, body)) for body in bodies])

    def answered(self, now: float, write: Write, outcome: Outcome) -> Given:
        about, result = write.about, outcome.result
        if not isinstance(about, _Map) or result is Result.REPLACED:
            return Given()
        pair, binding = about.pair, about.pair.binding
        if self._pairs.get(binding.pod) is not pair:
            return Given()  # from an earlier try
        if result is Result.DONE:
            pair.left.discard(write.name)
            return Given(ready=[] if pair.left else [binding])
        if result is Result.CONFLICT and write.verb == "create":
            return Given(writes=[_patch(about)])  # exists from an earlier try
        if result is Result.LOST and about.tries < TRIES:
            return Given(writes=[_creation(replace(about, tries=about.tries + 1))])
        if outcome.reason == NOT_LEADING:
            return Given(failed=[(binding, "")])
        why = outcome.message or "the API server did not answer"
        return Given(failed=[(binding, f"{_FAILED}{why}")])

    def waits_for(self, binding: Binding) -> str:
        pair = self._pairs.get(binding.pod)
        return "its node" if pair is None else f"the ConfigMap {min(pair.left, default='')}"

    def take_back(self, binding: Binding) -> Given:
        """As in KAI, also if the pod was deleted and takes them with it."""
        self._looks.pop(binding.pod, None)
        pair = self._pairs.pop(binding.pod, None)
        names = () if pair is None else pair.names
        return Given(writes=[_deletion(binding.namespace, name) for name in names])

    def keep(self, binding: Binding) -> None:
        self._pairs.pop(binding.pod, None)

    def tick(self, now: float) -> Given:
        return Given()

    def next_tick(self) -> float | None:
        return None


def _creation(about: _Map) -> Write:
    return _write("create", about)


def _patch(about: _Map) -> Write:
    return _write("patch", about)


def _write(verb: Any, about: _Map) -> Write:
    metadata = about.body["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    key = _key(namespace, name)
    return Write(
        *(Lane.BINDING, verb, "ConfigMap", namespace, name, about.body), key=key, about=about
    )


def _deletion(namespace: str, name: str) -> Write:
    key = _key(namespace, name)
    return Write(Lane.BINDING, "delete", "ConfigMap", namespace, name, key=key)


def _key(namespace: str, name: str) -> str:
    """A deletion follows a creation that is under way, and replaces one that waits."""
    return f"config-map/{namespace}/{name}"
