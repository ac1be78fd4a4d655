"""Snapshots of a live cluster, in KAI's format (docs/reference/snapshots.md).

    cluster = await take(client, options)                      # from the API server alone
    data = archive(await to_thread(objects_of, client.access, options), options, state, now_ns)

A snapshot has the kinds that decisions depend on, as they were listed, without private data:
images, commands, values of environment variables, probes. Pods and groups that are grouped only in
memory are written as if the API server had them already.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kai.api import keys, times
from kai.api.kinds import LISTS, full_name
from kai.api.reading import annotations_of, mapping, objects
from kai.api.resources import resource
from kai.api.times import to_text
from kai.controllers.planning.kinds import METADATA_ONLY, WATCHED
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.turns import State
from kai.engine import config as configuration
from kai.engine.cluster import Cluster
from kai.engine.packing import pack
from kai.engine.usage import to_mapping
from kai.k8s.client import Client, user_agent
from kai.k8s.sinks import Page, read_page
from kai.live.reading import Reading
from kai.live.view import View, name_of

if TYPE_CHECKING:
    from kai.k8s.kubeconfig import Access

_AGENT = user_agent().partition("/")[0]
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OF_CONTAINERS = frozenset((
    "image", "imagePullPolicy", "command", "args", "lifecycle", "livenessProbe", "readinessProbe",
    "startupProbe", "terminationMessagePath", "terminationMessagePolicy", "workingDir",
))  # fmt: skip


class Objects:
    """A sink that stores listed objects in little memory: pages are compressed when they arrive."""

    is_full = False

    def __init__(self) -> None:
        self._pages: dict[str, list[bytes]] = {}
        self._listed: set[str] = set()  # kinds whose list is complete
        self._groups: set[str] = set()
        self._new: dict[str, dict[str, Any]] = {}  # pods that name no pod group
        self._claims_api = ""  # if the server has resource claims

    def begin_list(self, kind: str, /) -> None:
        self._pages[kind] = []
        if kind == "Pod":
            self._new = {}
        elif kind == "PodGroup":
            self._groups = set()
        elif kind == "ResourceClaim":
            self._claims_api = ""

    def list_page(self, kind: str, data: bytes, /) -> Page:
        page = read_page(kind, data)
        if kind == "ResourceClaim":
            self._claims_api = page.get("apiVersion") or resource(kind).api_version
        items, kept = objects(page.get("items")), []
        for item in items:
            manifest = compact(kind, item)
            if kind == "PodGroup":
                self._groups.add(full_name(manifest))
            if kind == "Pod" and keys.POD_GROUP_ANNOTATION not in annotations_of(manifest):
                self._new[full_name(manifest)] = manifest
            else:
                kept.append(manifest)
        if kept:
            self._pages[kind].append(zlib.compress(_dump(kept)[1:-1], 1))
        metadata = mapping(page.get("metadata"))
        version, following = metadata.get("resourceVersion", ""), metadata.get("continue", "")
        return Page(version, following, len(items))

    def end_list(self, kind: str, /) -> None:
        self._listed.add(kind)

    def watch_bytes(self, kind: str, data: bytes, /) -> Any:
        raise NotImplementedError

    def watch_ended(self, kind: str, /) -> None: ...

    def pieces(self, options: PlanningOptions, state: State) -> Iterator[bytes]:
        """The text of a snapshot.json."""
        params = options.scheduler_params()
        served = [{"groupVersion": self._claims_api}] if self._claims_api else []
        discovery = {"resources": served}  # spec 3 D1
        head: dict[str, Any] = {
            **{"config": _config(options), "schedulerParams": params},
            "discovery": discovery,
        }
        if state.usage:
            head["usage"] = to_mapping(state.usage)
        yield _dump(head)[:-1] + b',"rawObjects":{'
        grouped = [each for name, each in state.groups.items() if name not in self._groups]
        for number, kind in enumerate(each for each in WATCHED if each in self._listed):
            yield b'%s"%s":[' % (b"," if number else b"", LISTS[kind].encode())
            more = {"Pod": self._assigned(state), "PodGroup": grouped}.get(kind, [])
            separator = b""
            for page in self._pages[kind]:
                text = zlib.decompress(page)
                if kind == "PodGroup" and state.ages:
                    text = _aged(text, state.ages)
                yield separator + text
                separator = b","
            if more:
                yield separator + _dump(more)[1:-1]
            yield b"]"
        yield b"}}"

    def _assigned(self, state: State) -> list[dict[str, Any]]:
        """The pods that name no pod group, with their decided group."""
        pods = []
        for name, pod in self._new.items():
            assigned, metadata = state.assigned.get(name), mapping(pod.get("metadata"))
            if assigned is not None and assigned.uid == metadata.get("uid"):
                metadata = {**metadata}
                for part, changes in assigned.patch.items():
                    merged = {**mapping(metadata.get(part)), **changes}
                    metadata[part] = {k: v for k, v in merged.items() if v is not None}
                pod = {**pod, "metadata": metadata}
            pods.append(pod)
        return pods


def _aged(page: bytes, ages: Mapping[str, tuple[int, int]]) -> bytes:
    """Pod groups with the ages that the scheduler uses."""
    groups = json.loads(b"[%s]" % page)
    for each in groups:
        created, planned = map(to_text, ages.get(full_name(each), (0, 0)))
        if each["metadata"].get("creationTimestamp") == created:
            each["metadata"]["creationTimestamp"] = planned
    return _dump(groups)[1:-1]


def compact(kind: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """An object without data that no decision depends on, and without possible secrets."""
    metadata = {**mapping(manifest.get("metadata"))}
    # Plans depend on which fields we wrote.
    ours = [
        each
        for each in objects(metadata.pop("managedFields", None))
        if str(each.get("manager", "")).startswith(_AGENT)
    ]
    if ours:
        metadata["managedFields"] = ours
    annotations = annotations_of(manifest)
    if _APPLIED in annotations:
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != _APPLIED}
    found = {**manifest, "metadata": metadata}
    if kind in METADATA_ONLY:
        found = {"metadata": metadata}  # the server calls them PartialObjectMetadata
    if kind == "Pod":
        spec = {**mapping(manifest.get("spec"))}
        for part in ("containers", "initContainers", "ephemeralContainers"):
            if part in spec:
                spec[part] = [_container(each) for each in objects(spec[part])]
        found["spec"] = spec
    if kind == "Node":
        found["status"] = {k: v for k, v in mapping(found.get("status")).items() if k != "images"}
    return found


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in container.items() if key not in _OF_CONTAINERS}
    if "env" in kept:
        # References are kept: they name config maps.
        env = [{k: v for k, v in each.items() if k != "value"} for each in objects(kept["env"])]
        kept["env"] = [each for each in env if "valueFrom" in each]
    return kept


def archive(listed: Objects, options: PlanningOptions, state: State, now_ns: int) -> bytes:
    """A snapshot.zip. `state`: the scheduler's knowledge besides the objects."""
    return pack(listed.pieces(options, state), _memory(state, now_ns))


async def take(client: Client, options: PlanningOptions) -> Cluster:
    """A copy of the cluster at the API server.

    Raises RefusedError and UnreachableError if it cannot be listed.
    """
    listed = Objects()
    view = View(client, options, also={kind: [listed] for kind in WATCHED})
    try:
        await view.list_once()
        state, seen = await view.state(), view.cluster()
        now = times.to_ns(view.now())
        text = b"".join(listed.pieces(options, state))
        return await asyncio.to_thread(
            Cluster.from_snapshot,
            text,
            name=name_of(client),
            now=view.now(),
            warnings=seen._reader_warnings,
            memory=_memory(state, now),
        )
    finally:
        await view.close()


def objects_of(access: Access, options: PlanningOptions) -> Objects:
    """The objects at the API server, read on a separate event loop, because parsing would block
    another.

    Raises as `take` does.
    """

    async def read() -> Objects:
        listed = Objects()
        async with Client(access) as client:
            await Reading(client, listed, options, lambda: None).list_once()
        return listed

    return asyncio.run(read())


def _config(options: PlanningOptions) -> dict[str, Any]:
    """The configuration that applies, without members at their default that KAI does not know."""
    text = "" if options.config is None else configuration.config_json(options.config)
    default = configuration.in_force("")
    in_force = configuration.in_force(text, as_kai=options.as_kai)
    ours = ("compat", "extras")
    return {k: v for k, v in in_force.items() if k not in ours or v != default[k]}


def _memory(state: State, now_ns: int) -> str:
    return json.dumps({"now": times.to_text(now_ns), **json.loads(state.memory)})


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
