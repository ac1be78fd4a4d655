"""Kubernetes' own controllers beside the simulated API server, as far as pods on their way need
them.

    server = ApiServer(*nodes)
    controllers = Controllers(server, devices={"n1": 2}, delay=lambda: 0.1)

Kubelets start and end pods, programs of reservations report a device, provisioners create volumes,
claims get the volumes that are reserved for them, and nothing stays of pods that are gone. Each
reacts after `delay()` seconds of the server's clock, and looks at the objects as they are then.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fakes.api_server import ApiServer, Event, Object
from kai.api import keys
from kai.controllers.pods.volumes.matching import BIND_COMPLETED, SELECTED_NODE

Reaction = Callable[[str, str], None]
WAITS, LOCAL, AT_ONCE = "waits", "local", "at-once"
"""Storage classes: a volume is created on the node of its pod, exists on a node, or is created
without a pod."""


def storage_classes() -> list[Object]:
    modes = {WAITS: "WaitForFirstConsumer", LOCAL: "WaitForFirstConsumer", AT_ONCE: "Immediate"}
    return [
        {
            "kind": "StorageClass",
            "metadata": {"name": name},
            "volumeBindingMode": mode,
            "provisioner": "kubernetes.io/no-provisioner" if name == LOCAL else "disks.test",
        }
        for name, mode in modes.items()
    ]


def volume(name: str, storage_class: str, node: str = "", **spec: Any) -> Object:
    """`node`: the only one that can reach it; "": all can."""
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchFields": [here]}]}}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": storage_class,
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            **({"nodeAffinity": affinity} if node else {}),
            **spec,
        },
        "status": {"phase": "Available"},
    }


class Controllers:
    """`devices`: of each node, their number. `fails`: whether a provisioner fails now. `problems`:
    what must never happen."""

    def __init__(
        self,
        server: ApiServer,
        *,
        devices: Mapping[str, int],
        delay: Callable[[], float],
        fails: Callable[[], bool] = lambda: False,
    ) -> None:
        self.server, self.delay, self.fails = server, delay, fails
        self.problems: list[str] = []
        self._devices = devices
        self._reactions: Mapping[str, Reaction] = {
            "Pod": self._pod,
            "PersistentVolume": self._volume,
            "PersistentVolumeClaim": self._volume_claim,
            "ResourceClaim": self._resource_claim,
        }
        server.listeners.append(self._changed)

    def _changed(self, event: Event) -> None:
        react = self._reactions.get(event.kind)
        if event.kind == "Pod" and event.type == "DELETED":
            self.server.clock.later(self.delay(), self._forget_pods)
        elif react is not None:
            metadata = event.item["metadata"]
            where = metadata.get("namespace", ""), metadata["name"]
            self.server.clock.later(self.delay(), lambda: react(*where))

    # ---- pods ------------------------------------------------------------------------------------

    def _pod(self, namespace: str, name: str) -> None:
        pod = self.server.stored("Pod", namespace, name)
        if pod is None:
            return
        if "deletionTimestamp" in pod["metadata"]:
            self.server.remove("Pod", namespace, name)
        elif not pod["spec"].get("nodeName"):
            return
        elif pod["status"].get("phase") == "Pending":
            is_full = namespace == keys.RESERVATION and not self._free_devices(pod)
            phase = {"phase": "Failed" if is_full else "Running"}
            self.server.change("Pod", namespace, name, {"status": phase})
        elif namespace == keys.RESERVATION and pod["status"].get("phase") == "Running":
            self._report_device(pod)

    def _reservations_on(self, node: str) -> list[Object]:
        return [
            each
            for each in self.server.all("Pod")
            if each["metadata"]["namespace"] == keys.RESERVATION
            and each["spec"]["nodeName"] == node
            and each["status"]["phase"] == "Running"
        ]

    def _free_devices(self, pod: Object) -> list[str]:
        node = pod["spec"]["nodeName"]
        running = self._reservations_on(node)
        held = [device for each in running if (device := device_of(each))]
        if len(held) != len(set(held)):
            self.problems.append(f"a device of {node} is held twice: {held}")
        if len(running) >= self._devices[node] and pod["status"]["phase"] == "Pending":
            return []
        return [each for n in range(self._devices[node]) if (each := f"{node}-{n}") not in held]

    def _report_device(self, pod: Object) -> None:
        if not device_of(pod):
            patch = {keys.RESERVED_DEVICE_ANNOTATION: self._free_devices(pod)[0]}
            where = pod["metadata"]["namespace"], pod["metadata"]["name"]
            self.server.change("Pod", *where, {"metadata": {"annotations": patch}})

    def _forget_pods(self) -> None:
        """Nothing stays of pods that are gone."""
        self.server.collect_garbage()
        for claim in list(self.server.all("ResourceClaim")):
            self._resource_claim(claim["metadata"]["namespace"], claim["metadata"]["name"])

    # ---- claims ----------------------------------------------------------------------------------

    def _resource_claim(self, namespace: str, name: str) -> None:
        """Users that are gone are removed; a claim without users ends if it is being deleted."""
        claim = self.server.stored("ResourceClaim", namespace, name)
        if claim is None:
            return
        users = claim.get("status", {}).get("reservedFor") or []
        uids = {each["metadata"]["uid"] for each in self.server.all("Pod")}
        left = [each for each in users if each["uid"] in uids]
        where = ("ResourceClaim", namespace, name)
        if len(left) < len(users):
            freed = {} if left else {"allocation": None}
            self.server.change(*where, {"status": {"reservedFor": left or None, **freed}})
        elif "deletionTimestamp" in claim["metadata"] and not users:
            if claim.get("status", {}).get("allocation"):
                self.server.change(*where, {"status": {"allocation": None}})
            else:
                self.server.remove(*where)

    def _volume(self, namespace: str, name: str) -> None:
        """A volume that is reserved for a claim."""
        found = self.server.stored("PersistentVolume", namespace, name)
        wanted = None if found is None else found["spec"].get("claimRef")
        if found is None or wanted is None:
            return
        claim = self.server.stored("PersistentVolumeClaim", wanted["namespace"], wanted["name"])
        if claim is not None and claim["metadata"]["uid"] == wanted["uid"]:
            self._volume_claim(wanted["namespace"], wanted["name"])
        elif found["spec"]["storageClassName"] == LOCAL:
            patch = {"spec": {"claimRef": None}, "status": {"phase": "Available"}}
            self.server.change("PersistentVolume", namespace, name, patch)
        else:
            self.server.remove("PersistentVolume", namespace, name)

    def _volume_claim(self, namespace: str, name: str) -> None:
        claim = self.server.stored("PersistentVolumeClaim", namespace, name)
        if claim is None:
            for each in list(self.server.all("PersistentVolume")):
                self._volume("", each["metadata"]["name"])
            return
        if claim["spec"].get("volumeName"):
            return
        uid = claim["metadata"]["uid"]
        for each in self.server.all("PersistentVolume"):
            if each["spec"].get("claimRef", {}).get("uid") == uid:
                return self._bind(claim, each)
        node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
        storage_class = claim["spec"]["storageClassName"]
        if storage_class == AT_ONCE or (node and storage_class == WAITS):
            self._provision(claim, node or "")

    def _provision(self, claim: Object, node: str) -> None:
        metadata = claim["metadata"]
        if self.fails():
            patch = {"metadata": {"annotations": {SELECTED_NODE: None}}}
            where = ("PersistentVolumeClaim", metadata["namespace"], metadata["name"])
            self.server.change(*where, patch)
            return
        reference = {each: metadata[each] for each in ("namespace", "name", "uid")}
        name = f"pv-{metadata['uid'][:8]}"
        self.server.put(volume(name, claim["spec"]["storageClassName"], node, claimRef=reference))

    def _bind(self, claim: Object, volume: Object) -> None:
        own, metadata = volume["metadata"]["name"], claim["metadata"]
        self.server.change("PersistentVolume", "", own, {"status": {"phase": "Bound"}})
        patch = {
            "metadata": {"annotations": {BIND_COMPLETED: "yes"}},
            "spec": {"volumeName": own},
            "status": {"phase": "Bound"},
        }
        where = ("PersistentVolumeClaim", metadata["namespace"], metadata["name"])
        self.server.change(*where, patch)


def device_of(reservation: Object) -> str:
    annotations = reservation["metadata"].get("annotations") or {}
    return str(annotations.get(keys.RESERVED_DEVICE_ANNOTATION, ""))
