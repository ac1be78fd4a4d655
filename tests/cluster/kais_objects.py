"""Objects that KAI leaves at the end of a recording: running pods, their reservation pods,
BindRequests, pod groups, queues, config maps; with separate nodes and queues.

    left = Left(api, recording)
    await left.make()
    left.namespace, left.running
"""

import json
import re
from typing import Any

from recordings import Recording
from testcluster import Client, Object, path_of

RESERVATIONS = "kai-resource-reservation"
NOW = "2026-01-01T00:00:00Z"


class Left:
    """Names of nodes and queues begin with the number of the recording."""

    def __init__(self, api: Client, recording: Recording) -> None:
        self._api = api
        self.number = recording.name.partition("-")[0]
        self.namespace = f"k-{self.number}"
        content = recording.content
        own = [
            each["metadata"]["name"] for each in (*content["nodes"], *content["after"]["queues"])
        ]
        text = json.dumps({"nodes": content["nodes"], **content["after"]}).replace("<time>", NOW)
        for name in own:
            text = text.replace(json.dumps(name), json.dumps(f"{self.number}-{name}"))
        text = re.sub(r"<(uuid-|hash|rnd)(\d+)>", rf"{self.number}\2", text)
        self._objects: dict[str, list[Object]] = json.loads(text)
        self._uids: dict[str, str] = {}

    @property
    def running(self) -> list[str]:
        """Paths of the pods that have a node, including reservation pods."""
        return [
            path_of("Pod", self._place(each), self._name(each))
            for each in self._objects["pods"]
            if each["spec"].get("nodeName")
        ]

    def paths(self, kind: str, members: str) -> list[str]:
        found = (self._real(each) for each in self._objects[members])
        return [path_of(kind, self.namespace, self._name(each)) for each in found]

    async def make(self) -> None:
        await self._api.create_namespace(self.namespace)
        await self._api.create(*self._objects["nodes"])
        queues = sorted(self._objects["queues"], key=lambda each: "parentQueue" in each["spec"])
        for each in queues:
            await self._api.create_one({**each, "status": {}})
        for each in self._objects["pods"]:
            await self._pod(each)
        for each in self._objects["pods"]:  # whose annotations name UIDs of others and their own
            annotations = self._real(each)["metadata"].get("annotations")
            patch = {"metadata": {"annotations": annotations}}
            await self._api.patch(path_of("Pod", self._place(each), self._name(each)), patch)
        for kind, members in (("PodGroup", "podgroups"), ("BindRequest", "bindrequests")):
            for each in self._objects[members]:
                made = self._real(each)
                made["metadata"]["namespace"] = self.namespace
                await self._api.create_one(made)
                if "status" in made:
                    path = path_of(kind, self.namespace, self._name(made), "status")
                    await self._api.patch(path, {"status": made["status"]})
        for each in self._objects["configmaps"]:
            made = self._real(each)
            made["metadata"]["namespace"] = self.namespace
            await self._api.create_one(made)

    async def _pod(self, pod: Object) -> None:
        made = json.loads(json.dumps(pod))
        place, name, status = self._place(pod), self._name(pod), made.pop("status")
        node = made["spec"].pop("nodeName", "")
        made["metadata"] |= {"namespace": place}
        made["metadata"].pop("annotations", None)
        made["spec"].pop("priority", None)
        created = await self._api.create_one(made)
        self._uids[f"<uid:Pod/{name}>"] = created["metadata"]["uid"]
        if node:
            await self._api.bind(place, name, node)
            phase = status["phase"]
            await self._api.until(f"{name} runs", self._api.has_phase(place, name, phase))

    def _place(self, pod: Object) -> str:
        is_reservation = pod["metadata"]["namespace"] == RESERVATIONS
        return RESERVATIONS if is_reservation else self.namespace

    def _name(self, found: Object) -> str:
        return str(found["metadata"]["name"])

    def _real(self, found: Object) -> Object:
        """The object with the UIDs of this cluster."""
        text = json.dumps(found)
        for recorded, uid in self._uids.items():
            text = text.replace(recorded, uid)
        made: dict[str, Any] = json.loads(text)
        return made


async def prepare(api: Client) -> None:
    """Creates the objects that the pods of all recordings need."""
    await api.create_namespace(RESERVATIONS)
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    await api.create_one({**account, "metadata": {"name": RESERVATIONS, "namespace": RESERVATIONS}})
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "nvidia"}
    await api.create_one({**runtime, "metadata": {"name": "nvidia"}})
