"""Repeats KAI's actions of a recording on a test cluster: a scheduler's writes without a scheduler.

    play = Play(api, recording)
    await play.run()
    await play.end()

Objects are created, changed and deleted in the recorded order, with the recorded times between them
except long ones. The server, its controllers and kwok do their own part.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from recordings import Recording, apply
from testcluster import ApiError, Client, Object, path_of

from kai.api.times import SECOND_NS, to_text

LONGEST_GAP_S = 1.2
"""A longer gap means that the recorder waited until nothing happened any more."""
RESERVATIONS = "kai-resource-reservation"
OURS = ("Queue", "PodGroup", "BindRequest", "Pod", "Node")


class Play:
    """In a separate namespace; names of nodes and queues begin with the number of the recording.
    `as_recorded`: keeps long gaps, for recordings in which a time has to pass."""

    def __init__(self, api: Client, recording: Recording, *, as_recorded: bool = False) -> None:
        self._api, self._longest_s = api, 3600.0 if as_recorded else LONGEST_GAP_S
        self.number = recording.name.partition("-")[0]
        self.namespace = f"p-{self.number}"
        text = json.dumps(recording.content)
        nodes = [each["metadata"]["name"] for each in recording.content["nodes"]]
        nodes += [each["metadata"]["name"] for each in _of(recording, "Node")]
        self._own = [*nodes, *(each["metadata"]["name"] for each in _of(recording, "Queue"))]
        for name in self._own:
            text = text.replace(json.dumps(name), json.dumps(f"{self.number}-{name}"))
        text = re.sub(r"<(uuid-|hash|rnd)(\d+)>", rf"{self.number}\2", text)
        self._content: dict[str, Any] = json.loads(text)
        self._nodes = {each["metadata"]["name"]: each for each in self._content["nodes"]}
        self._nodes |= {
            each["metadata"]["name"]: each
            for each in self._content["manifests"]
            if each["kind"] == "Node"
        }
        self._uids: dict[str, str] = {}
        self._objects: dict[tuple[str, str], Object] = {}

    @property
    def bind_requests(self) -> int:
        """The number that KAI made."""
        return sum(
            (entry.get("kind"), entry.get("event")) == ("BindRequest", "ADDED")
            for entry in self._content["timeline"]
        )

    async def run(self) -> None:
        await self._api.create_namespace(self.namespace)
        loop = asyncio.get_running_loop()
        before_ms, at = 0, loop.time()
        for entry in self._content["timeline"]:
            is_patch = entry.get("do", "").startswith("patch ")
            if not is_patch and (entry.get("kind") not in OURS or "event" not in entry):
                continue
            at += min((entry["t"] - before_ms) / 1000, self._longest_s)
            before_ms = entry["t"]
            await asyncio.sleep(max(0.0, at - loop.time()))
            await (self._person(entry) if is_patch else self._do(entry))
            at = max(at, loop.time() - 0.05)  # a slow machine is late, and does not catch up

    async def end(self) -> None:
        """Deletes everything; the deletion of the namespace itself is not awaited."""
        for place in (self.namespace, RESERVATIONS):
            for each in await self._api.items(path_of("Pod", place)):
                path = path_of("Pod", place, each["metadata"]["name"])
                await self._api.status_of(self._api.patch(path, {"metadata": {"finalizers": None}}))
                await self._api.status_of(self._api.delete(path, gracePeriodSeconds=0))
        for kind in ("BindRequest", "PodGroup"):
            await self._api.delete(path_of(kind, self.namespace))
        for name in self._own:
            for kind in ("Node", "Queue"):
                path = path_of(kind, name=f"{self.number}-{name}")
                await self._api.status_of(self._api.delete(path))
        await self._api.delete(path_of("Namespace", name=self.namespace))

    # ---- one entry -------------------------------------------------------------------------------

    async def _person(self, entry: Mapping[str, Any]) -> None:
        """A person's action: cordons a node, releases a pod, or changes a queue."""
        kind, _, name = entry["do"].removeprefix("patch ").partition("/")
        if kind in ("Node", "Queue"):
            await self._patch(path_of(kind, name=f"{self.number}-{name}"), entry["patch"])
        elif kind == "Pod":
            await self._patch(path_of(kind, self.namespace, name), entry["patch"])

    async def _do(self, entry: Mapping[str, Any]) -> None:
        key = (entry["kind"], entry["name"])
        what = entry["event"]
        if what == "ADDED":
            self._objects[key] = json.loads(json.dumps(entry.get("object") or {}))
            await self._added(entry)
        elif what == "MODIFIED":
            apply(entry, self._objects.setdefault(key, {}))
            await self._changed(entry)
        else:
            self._objects.pop(key, None)
            path = self._path(entry)
            await self._api.status_of(self._api.delete(path))
            if entry["kind"] == "Pod":
                await self._api.until(f"{entry['name']} is gone", self._api.is_gone(path))

    async def _added(self, entry: Mapping[str, Any]) -> None:
        kind, name = entry["kind"], entry["name"]
        if kind == "Node":
            await self._api.create_one(self._nodes[name])
            return
        made = self._real(entry["object"])
        made.setdefault("kind", kind)
        node = made["spec"].pop("nodeName", "") if kind == "Pod" else ""
        for member in ("status", "priority"):
            made.pop(member, None)
        if kind == "Pod":
            made["spec"].pop("priority", None)
        if kind != "Queue":
            made["metadata"]["namespace"] = self._place(entry)
        created = await self._api.create_one(made)
        if kind == "Pod":
            self._uids[f"<uid:Pod/{name}>"] = created["metadata"]["uid"]
        if node:
            await self._api.bind(self._place(entry), name, node)

    async def _changed(self, entry: Mapping[str, Any]) -> None:
        kind, changed = entry["kind"], entry.get("changed") or {}
        removed = entry.get("removed") or ()
        path = self._path(entry)
        if kind == "Pod" and "spec.nodeName" in changed:
            await self._api.bind(self._place(entry), entry["name"], changed["spec.nodeName"])
        if kind == "Pod" and "metadata.deletionTimestamp" in changed:
            await self._api.status_of(self._api.delete(path))
        if kind == "BindRequest" and "status.phase" in changed:
            status = {"phase": changed["status.phase"]}
            await self._patch(f"{path}/status", {"status": status})
        if kind == "PodGroup" and any(each.startswith("spec.") for each in changed):
            await self._patch(path, {"spec": self._objects[kind, entry["name"]]["spec"]})
        metadata = self._metadata(changed, removed) if kind in ("Pod", "PodGroup") else {}
        if metadata:
            await self._patch(path, {"metadata": metadata})

    def _metadata(self, changed: Mapping[str, Any], removed: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path, value in [*changed.items(), *((each, None) for each in removed)]:
            for member in ("labels", "annotations"):
                prefix = f"metadata.{member}."
                if path.startswith(prefix):
                    found.setdefault(member, {})[path.removeprefix(prefix)] = value
        return self._real(found)

    async def _patch(self, path: str, patch: Mapping[str, Any]) -> None:
        try:
            await self._api.patch(path, patch)
        except ApiError as error:
            if error.status != 404:  # its owner was deleted a moment earlier than in the recording
                raise

    def _path(self, entry: Mapping[str, Any]) -> str:
        kind = entry["kind"]
        place = "" if kind in ("Node", "Queue") else self._place(entry)
        return path_of(kind, place, self._real(entry["name"]))

    def _place(self, entry: Mapping[str, Any]) -> str:
        return RESERVATIONS if entry.get("namespace") == RESERVATIONS else self.namespace

    def _real(self, found: Any) -> Any:
        """The value with the UIDs and the time of this cluster."""
        text = json.dumps(found)
        for recorded, uid in self._uids.items():
            text = text.replace(recorded, uid)
        now = to_text(int(self._api_time()) * SECOND_NS)
        return json.loads(text.replace("<time>", now))

    def _api_time(self) -> float:
        import time

        return time.time()


def _of(recording: Recording, kind: str) -> list[Object]:
    return [each for each in recording.content["manifests"] if each["kind"] == kind]
