"""Plays recordings of KAI's control plane again.

    stage = Stage(api, hold=binder.freeze, release=binder.thaw)
    end = await stage.play(recording.content, is_right=lambda state: ...)
    for each in differences(end, end_of(recording.content), interchangeable(recording.content)):
        ...

The script's actions are carried out in their order. If the recording waited until nothing happened,
so does a replay, and for as long as KAI needed; other pauses are kept. Pods are created as on the
API server, after admission. A stage is empty before each recording and after it.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Any

import aiohttp

from .cleaned import KINDS, Names, cleaned_state
from .client import MERGE, STRATEGIC, ApiError, Client, Object, collection_of, path_of, plural
from .reservations import ANSWER, NAMESPACE, Reservations

QUIET_S = 1.5
"""Nothing new for this long counts as quiet. The recorder waited 3.5 s."""
CALM_S = 2.5
"""The same at the end."""
PAUSE_MS = 40
"""Shorter pauses come from the recorder itself."""
PATIENCE_S = 30.0
DURATIONS = r"MinRuntime|preemption-delay|stalenessGracePeriod|staleness-grace|\"sim/"
"""Fields of manifests that depend on time."""
DEFAULT_QUEUES = ("default-parent-queue", "default-queue")
BUILT_IN = ("v1", "apps/v1", "batch/v1")
OWNERS = ("CronJob", "Deployment", "StatefulSet", "ReplicaSet", "Job")
WATCHED = ("Node", "Queue", "PodGroup", "Pod", "BindRequest", "ConfigMap", "Event")
OURS = ("scheduling.run.ai", "kai.scheduler")
SERVED = ("resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "networking.k8s.io")


class Seen:
    """The input from watches: current objects, their names, and how often each kind changed."""

    def __init__(self) -> None:
        self.names = Names()
        self.objects = defaultdict[str, dict[str, Object]](dict)  # by kind and UID, in order
        self.changes = Counter[str]()
        self.marked = dict[str, None]()  # pods that were unschedulable at some time
        self.last_s = time.monotonic()

    def take(self, event: Object, kind: str) -> None:
        each, uid = event["object"], event["object"]["metadata"]["uid"]
        self.names.know(each, kind)
        if event["type"] == "DELETED":
            self.objects[kind].pop(uid, None)
        else:
            self.objects[kind][uid] = each
            if kind == "Pod" and is_marked(each):
                self.marked[each["metadata"]["name"]] = None
        if event["type"] == "MODIFIED":
            self.changes[kind] += 1
            if kind in ("Event", "Node"):  # counts, and signs of life
                return
        self.last_s = time.monotonic()

    def quiet_s(self) -> float:
        return time.monotonic() - self.last_s


def is_marked(pod: Object) -> bool:
    return any(
        (each["type"], each["status"]) == ("PodScheduled", "False")
        for each in pod["status"].get("conditions", ())
    )


class Watching:
    """Watches of all kinds of a recording, in the test's event loop."""

    def __init__(self, api: Client) -> None:
        self.seen = Seen()
        self._api = api
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Seen:
        started = [asyncio.Event() for _ in WATCHED]
        self._tasks = [
            asyncio.create_task(self._watch(kind, each))
            for kind, each in zip(WATCHED, started, strict=True)
        ]
        for each in started:
            await each.wait()
        return self.seen

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self, kind: str, started: asyncio.Event) -> None:
        path = path_of(kind)
        while True:
            with suppress(ApiError, aiohttp.ClientError):
                listed = await self._api.get(path)
                for each in listed["items"]:
                    self.seen.take({"type": "ADDED", "object": each}, kind)
                started.set()
                version = listed["metadata"]["resourceVersion"]
                async for event in self._api.watch(path, resourceVersion=version):
                    if event["type"] == "ERROR":
                        break
                    self.seen.take(event, kind)
            await asyncio.sleep(0.1)


class Script:
    """The actions of a recording's script, and its pauses."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.timeline = [
            each for each in content["timeline"] if "left out" not in str(each.get("do"))
        ]
        self.manifests = defaultdict[str, list[Object]](list)
        for each in (*content["manifests"], *content["nodes"]):
            self.manifests[f"{each['kind']}/{each['metadata']['name']}"].append(copy.deepcopy(each))
        self.added = defaultdict[str, list[Object]](list)
        for entry in self.timeline:
            if entry.get("event") == "ADDED" and entry["kind"] == "Pod":
                self.added[f"Pod/{entry['name']}"].append(entry["object"])

    @property
    def actions(self) -> list[Mapping[str, Any]]:
        return [each for each in self.timeline if "do" in each]

    @property
    def name(self) -> str:
        return ", ".join(self.namespaces)

    @property
    def namespaces(self) -> list[str]:
        found = (each["metadata"].get("namespace") for each in self.content["manifests"])
        return list(dict.fromkeys(each for each in found if each))

    @property
    def needs_a_binder_apart(self) -> bool:
        """Whether its binder is stopped at some time, or was absent: it never answered a
        BindRequest."""
        return self.binder_is_away or any(each["do"].startswith("binder ") for each in self.actions)

    @property
    def binder_is_away(self) -> bool:
        of_requests = [each for each in self.timeline if each.get("kind") == "BindRequest"]
        return bool(of_requests) and not any("status.phase" in str(each) for each in of_requests)

    @property
    def keeps_time(self) -> bool:
        """Whether the result depends on durations, so that all pauses are kept."""
        return bool(re.search(DURATIONS, json.dumps(self.content["manifests"])))

    def setup(self) -> list[Object]:
        """The objects before the script began: nodes, and objects that it did not create."""
        created = Counter(
            each["do"].removeprefix("create ")
            for each in self.actions
            if each["do"].startswith("create ")
        )
        return [
            each
            for what, found in self.manifests.items()
            for each in found[: len(found) - created[what]]
        ]

    def manifest(self, what: str) -> Object:
        """The next object of that kind and name that the script creates."""
        created = self.manifests[what].pop(0) if len(self.manifests[what]) > 1 else None
        return created or copy.deepcopy(self.manifests[what][0])

    def admitted(self, what: str, manifest: Object) -> Object:
        """A pod as on the API server: KAI's admission may have changed it."""
        if not self.added[what]:
            return manifest
        there = self.added[what].pop(0)
        metadata = manifest["metadata"]
        for key in ("annotations", "labels"):
            metadata[key] = {
                **metadata.get(key, {}),
                **{
                    name: value
                    for name, value in there["metadata"].get(key, {}).items()
                    if "<rnd" in value
                },
            }
        if "<rnd" in json.dumps(there["spec"]):
            spec = {**manifest["spec"], **there["spec"]}
            manifest["spec"] = {key: value for key, value in spec.items() if key != "priority"}
        return manifest

    def took_s(self, at: int) -> float:
        """The time from the previous action to the last change before action `at`."""
        actions = self.actions
        ends = actions[at]["t"]
        before = actions[at - 1]["t"] if at else ends
        new = [
            each["t"]
            for each in self.timeline
            if before < each["t"] <= ends
            and "event" in each
            and (each["kind"], each["event"]) != ("Event", "MODIFIED")
        ]
        return (max(new) - before) / 1000 if new else 0.0

    def silent(self) -> tuple[set[str], dict[str, float]]:
        """Nodes whose reservation pods never answered, and delays of slow nodes."""
        nodes, since, answered = dict[str, str](), dict[str, int](), dict[str, float]()
        for entry in self.timeline:
            if entry.get("namespace") != NAMESPACE or entry.get("kind") != "Pod":
                continue
            name, changed = entry["name"], entry.get("changed", {})
            if entry["event"] == "ADDED":
                nodes[name] = entry["object"]["spec"].get("nodeName", "")
            elif changed.get("status.phase") == "Running":
                since[name] = entry["t"]
            elif f"metadata.annotations.{ANSWER}" in changed and name in since:
                answered[name] = (entry["t"] - since[name]) / 1000
        slow = {nodes[name]: delay for name, delay in answered.items() if delay > 0.5}
        silent = {node for name, node in nodes.items() if name in since and name not in answered}
        return silent - {nodes[name] for name in answered}, slow


class Stage:
    """A cluster in which recordings are played one after the other. `hold`, `release`: stop and
    resume the binder."""

    def __init__(
        self,
        api: Client,
        hold: Callable[[], None] = lambda: None,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        self.api, self._hold, self._release = api, hold, release
        self.changes = Counter[str]()
        """Of the last recording: how often objects of each kind changed."""

    async def play(
        self, content: Mapping[str, Any], is_right: Callable[[Mapping[str, Any]], bool]
    ) -> dict[str, list[Object]]:
        """The state at the end. If it is not right once all is calm, it gets a few more seconds."""
        script = Script(content)
        async with AsyncExitStack() as stack:
            made: list[str] = []
            stack.push_async_callback(self.clear, made)
            fake = await stack.enter_async_context(Reservations(self.api))
            fake.silent, fake.slow = script.silent()
            seen = await stack.enter_async_context(Watching(self.api))
            performance = Performance(self.api, script, seen, made)
            await performance.set_up()
            seen.changes.clear()
            if script.needs_a_binder_apart:
                stack.callback(self._release)
            if script.binder_is_away:
                self._hold()
            await self._carry_out(performance, script, seen)
            await quiet(seen, CALM_S)
            ends = time.monotonic() + PATIENCE_S / 5
            while not is_right(state := performance.state()) and time.monotonic() < ends:
                await asyncio.sleep(0.3)
            self.changes = Counter(seen.changes)
            return state

    async def _carry_out(self, performance: Performance, script: Script, seen: Seen) -> None:
        began, at_ms = time.monotonic(), script.actions[0]["t"] if script.actions else 0
        for number, action in enumerate(script.actions):
            what, took = action["do"], script.took_s(number)
            if what.startswith("("):
                if script.keeps_time:
                    took = (action["t"] - at_ms) / 1000
                await asyncio.sleep(max(0.0, began + took - time.monotonic()))
                if what == "(quiet)" and not script.keeps_time:
                    await quiet(seen, QUIET_S)
            else:
                if (pause := action["t"] - at_ms) > PAUSE_MS:
                    await asyncio.sleep(pause / 1000)
                if what == "binder held":
                    self._hold()
                elif what == "binder goes on":
                    self._release()
                else:
                    await performance.act(action)
            began, at_ms = time.monotonic(), action["t"]

    async def clear(self, made: Iterable[str]) -> None:
        """Deletes what a recording created (paths), and the resulting objects."""
        api = self.api
        for path in made:
            await remove(api, path)
        for kind in (*OWNERS, *WATCHED):
            for each in await api.items(path_of(kind)):
                if is_played(kind, each):
                    await remove(api, path_in(path_of(kind), each))
        for kind in ("Pod", "PodGroup", "BindRequest", "Queue", "Node"):

            async def is_empty(kind: str = kind) -> bool:
                found = await api.items(path_of(kind))
                left = [each for each in found if is_played(kind, each)]
                for each in left:  # a group that was created again for a pod that still existed
                    await remove(api, path_in(path_of(kind), each))
                return not left

            await api.until(f"no {kind} is left", is_empty, PATIENCE_S)


def is_played(kind: str, each: Object) -> bool:
    """Whether a recording created it."""
    metadata = each["metadata"]
    if kind == "Queue":
        return metadata["name"] not in DEFAULT_QUEUES
    if kind == "ConfigMap":
        return metadata["namespace"] not in SYSTEM and metadata["name"] != "kube-root-ca.crt"
    return True


SYSTEM = ("kube-system", "kube-public", "kube-node-lease", "default")


def path_in(collection: str, each: Object) -> str:
    """The path of an object in a list over all namespaces."""
    metadata = each["metadata"]
    head, _, name = collection.rpartition("/")
    inside = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{head}{inside}/{name}/{metadata['name']}"


async def remove(api: Client, path: str) -> None:
    """Deletes at once, even if a finalizer holds the object."""
    with suppress(ApiError):  # 404: it does not exist
        await api.delete(path, gracePeriodSeconds=0, propagationPolicy="Background")
        await api.patch(path, {"metadata": {"finalizers": None}})


async def quiet(seen: Seen, seconds: float) -> None:
    """Waits until nothing new has come for this long."""
    ends = time.monotonic() + PATIENCE_S
    while seen.quiet_s() < seconds and time.monotonic() < ends:
        await asyncio.sleep(0.05)


class Performance:
    """One recording, while it is played."""

    def __init__(self, api: Client, script: Script, seen: Seen, made: list[str]) -> None:
        self._api, self._script, self._seen, self._made = api, script, seen, made
        self._uids = dict[str, str]()  # placeholders of the recording, and their values here
        self._with_defaults = {
            each["metadata"]["name"] for each in script.content["after"]["queues"]
        }

    async def set_up(self) -> None:
        for name in self._script.namespaces:
            if await self._api.status_of(self._api.get(path_of("Namespace", name=name))) == 404:
                await self._api.create_namespace(name)
        objects = self._script.setup()
        nodes = [each for each in objects if each["kind"] == "Node"]
        for each in objects:
            await self._create(f"{each['kind']}/{each['metadata']['name']}", each)
        if nodes:
            await self._api.ready_nodes(len(nodes))

    async def act(self, action: Mapping[str, Any]) -> None:
        verb, _, what = action["do"].partition(" ")
        if verb == "create":
            await self._create(what, self._script.manifest(what))
        elif verb == "patch":
            content = STRATEGIC if self._version(what) in BUILT_IN else MERGE
            await self._api.patch(self._path(what), action["patch"], content)
        elif verb == "delete":
            with suppress(ApiError):  # it was evicted before
                await self._api.delete(self._path(what), propagationPolicy="Background")
        else:
            raise ValueError(f"a recording does {action['do']!r}")

    def state(self) -> dict[str, list[Object]]:
        """In the form of a recording's end."""
        objects = {
            kind: [each for each in self._seen.objects[name].values() if self._is_shown(name, each)]
            for kind, name in KINDS.items()
        }
        events = self._seen.objects["Event"].values()
        names = self._script.namespaces
        objects["events"] = [each for each in events if each["metadata"]["namespace"] in names]
        return cleaned_state(objects, self._seen.names, self._seen.marked)

    def _is_shown(self, kind: str, each: Object) -> bool:
        metadata = each["metadata"]
        if kind == "Queue":
            return metadata["name"] not in DEFAULT_QUEUES or metadata["name"] in self._with_defaults
        return is_played(kind, each)

    async def _create(self, what: str, manifest: Object) -> None:
        manifest = copy.deepcopy(manifest)
        recorded = manifest["metadata"].pop("uid", f"<uid:{what}>")
        if what.startswith("Pod/"):
            manifest = self._script.admitted(what, manifest)
        text = json.dumps(manifest)
        for placeholder, uid in self._uids.items():
            text = text.replace(placeholder, uid)
        for number in sorted(set(re.findall(r"<rnd(\d+)>", text))):
            drawn = f"x{zlib.crc32(f'{what} {number}'.encode()):08x}"
            text = text.replace(f"<rnd{number}>", drawn)
            self._seen.names.call(drawn, f"<rnd{number}>")
        text = re.sub(r"<uuid-(\d+)>", lambda m: f"00000000-0000-4000-8000-{m[1]:>012}", text)
        self._made.insert(0, self._path(what))
        made = await self._until_defined(json.loads(text))
        self._seen.names.know(made)
        self._uids[recorded] = made["metadata"]["uid"]

    async def _until_defined(self, manifest: Object) -> Object:
        """Waits until the server accepts a new kind, a moment after its definition (429, 404)."""
        for _ in range(50):
            try:
                return await self._api.create_one(manifest)
            except ApiError as error:
                if error.status not in (404, 429):
                    raise
            await asyncio.sleep(0.1)
        return await self._api.create_one(manifest)

    def _path(self, what: str) -> str:
        """The path of the object with that kind and name."""
        manifest = self._script.manifests[what][-1]
        return f"{collection_of(manifest)}/{what.partition('/')[2]}"

    def _version(self, what: str) -> str:
        return str(self._script.manifests[what][-1]["apiVersion"])


# ---- kinds ---------------------------------------------------------------------------------------


def definitions(manifests: Iterable[Object]) -> list[Object]:
    """Definitions, without a schema, of kinds that neither Kubernetes nor KAI defines."""
    versions = dict[tuple[str, str], str]()
    for each in sorted(manifests, key=lambda each: (each["apiVersion"], each["kind"])):
        group, slash, _ = each["apiVersion"].partition("/")
        if slash and "." in group and not group.endswith((*OURS, *SERVED)):
            versions.setdefault((group, each["kind"]), each["apiVersion"])
    return [definition(version, kind) for (_, kind), version in versions.items()]


def runtime_classes(contents: Iterable[Mapping[str, Any]]) -> list[Object]:
    """The runtime classes of pods in recordings: the API server requires them."""
    text = json.dumps(list(contents))
    return [
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": name,
        }
        for name in sorted(set(re.findall(r'"runtimeClassName": "([^"]+)"', text)))
    ]


def definition(api_version: str, kind: str) -> Object:
    group, _, version = api_version.partition("/")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural(kind)}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
        },
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural(kind), "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }
