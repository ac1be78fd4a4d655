"""Reads all facts about one pod from a live cluster once; nothing is written.

    async with await Client.connect(context="staging") as client:
        facts = await read(client, options, "team/train-0")

kai.live.explaining.pod_layers turns them into a page. It needs the rights of `kai plan --live`, and
the right to list events; without that right the page has no events and reports it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kai.api import defaults, keys, times
from kai.api.kinds import full_name
from kai.api.reading import annotations_of, at, labels_of, objects, text
from kai.api.resources import resource
from kai.controllers.progress import told_in
from kai.controllers.shadow.seen import gpu_groups_of
from kai.controllers.verdicts.facts import split
from kai.engine import text as wording
from kai.engine.scheduler import Scheduler
from kai.errors import NotFoundError, RefusedError
from kai.k8s.sinks import DictSink
from kai.live.explaining.planned import QueueFacts, Verdict, queues_of, verdict_of
from kai.live.view import View

if TYPE_CHECKING:
    from kai.controllers.planning.options import PlanningOptions
    from kai.k8s.client import Client

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PodFacts:
    """`group_name`: "namespace/name" of its pod group, or "". `group`: None: it does not exist, or
    is not created yet. `queues`: its own and those above. `events`: oldest first; None: no right to
    read them. `unread`: kinds that this user may not read, with `notes` about them."""

    name: str
    now_ns: int
    scheduler_name: str
    pod: Object
    group_name: str = ""
    group: Object | None = None
    queues: tuple[QueueFacts, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)
    request: Object | None = None
    node: Object | None = None
    reservations: tuple[Object, ...] = ()
    events: tuple[Object, ...] | None = ()
    unread: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


async def read(client: Client, options: PlanningOptions, given: str) -> PodFacts:
    """`given`: "namespace/name", or a name that only one pod has.

    Raises NotFoundError with similar names, and the errors of `View.list_once`.
    """
    wanted = given.rpartition("/")[2]
    pods = DictSink(keep=lambda each: each if _is_kept(each, wanted) else None)
    groups, requests, queues, nodes = (DictSink() for _ in range(4))
    sinks = {"Pod": pods, "PodGroup": groups, "BindRequest": requests, "Queue": queues}
    also = {kind: [sink] for kind, sink in {**sinks, "Node": nodes}.items()}
    view = View(client, options, also=also)
    try:
        await view.list_once()
        pod = _found(given, pods)
        plan = await view.plan(Scheduler(options.config, as_kai=options.as_kai))
        name = full_name(pod)
        group_name = plan.situation.group_of_pod.get(name) or named_group(pod)
        group = groups.objects.get(split(group_name))
        request = of_this_pod(requests.objects.get(split(name)), pod)
        parents = {key[1]: parent_of(each) for key, each in queues.objects.items()}
        events = await _events(client, pod, name, group_name)
        waits_for = _waits_for(events)
        unread, notes = view.unread()
        on, shared = node_of(pod, request), shared_by(pod, request)
        reservations = [
            each
            for each in pods.objects.values()
            if reserves(each, shared) or (each is not None and full_name(each) in waits_for)
        ]
        return PodFacts(
            *(name, times.to_ns(view.now()), options.scheduler_name, pod, group_name, group),
            queues=queues_of(plan, group_name, named_queue(group, pod), parents.get),
            verdict=verdict_of(plan, name, group_name),
            request=request,
            node=nodes.objects.get(("", on)),
            reservations=tuple(sorted(reservations, key=full_name)),
            events=events,
            unread=unread,
            notes=tuple(notes),
        )
    finally:
        await view.close()


def _is_kept(pod: Object, name: str) -> bool:
    return at(pod, "metadata", "name") == name or labels_of(pod).get("app") == keys.RESERVATION


def _found(given: str, pods: DictSink) -> Object:
    namespace, _, name = given.rpartition("/")
    named: list[Object] = [
        each for key, each in sorted(pods.objects.items()) if each is not None and key[1] == name
    ]
    found = [each for each in named if namespace in ("", at(each, "metadata", "namespace"))]
    if not found:
        raise NotFoundError(f"there is no pod {given!r}{_close_to(namespace, name, pods)}")
    if len(found) > 1:
        names = wording.listing(map(full_name, found))
        raise NotFoundError(f"there are several pods {name!r}: {names}")
    return found[0]


def _close_to(namespace: str, name: str, pods: DictSink) -> str:
    """The end of a sentence: pods of that name in other namespaces, or pods with similar names."""
    own = {other for space, other in pods.objects if namespace in ("", space)}
    names = {name, *difflib.get_close_matches(name, sorted(own), n=3)}
    found = [
        f"{space}/{other}"
        for space, other in sorted(pods.objects)
        if other == name or (other in names and namespace in ("", space))
    ]
    return f"; did you mean {' or '.join(map(repr, found[:3]))}?" if found else ""


def named_group(pod: Object) -> str:
    """The pod group that a pod names, "namespace/name"; "" if it names none."""
    named = text(annotations_of(pod).get(keys.POD_GROUP_ANNOTATION))
    return f"{text(at(pod, 'metadata', 'namespace'))}/{named}" if named else ""


def named_queue(group: Object | None, pod: Object) -> str:
    """The queue of a group, or else the one that the pod names, or the default one."""
    named = text(at(group, "spec", "queue")) or text(labels_of(pod).get(keys.QUEUE_LABEL))
    return named or defaults.DEFAULT_QUEUE


def of_this_pod(request: Object | None, pod: Object) -> Object | None:
    """A BindRequest with the name of a pod, unless it is that of an earlier pod of the name."""
    owners = objects(at(request, "metadata", "ownerReferences"))
    owner = next((text(each.get("uid")) for each in owners if each.get("kind") == "Pod"), "")
    return request if owner in ("", at(pod, "metadata", "uid")) else None


def node_of(pod: Object, request: Object | None) -> str:
    """The node of a pod, or the one that its BindRequest chooses, or ""."""
    return text(at(pod, "spec", "nodeName")) or text(at(request, "spec", "selectedNode"))


def shared_by(pod: Object, request: Object | None) -> frozenset[str]:
    """The groups of the shared devices of a pod."""
    if found := gpu_groups_of(labels_of(pod)):
        return found
    groups = at(request, "spec", "selectedGPUGroups")
    return frozenset(map(str, groups)) if isinstance(groups, list) else frozenset()


def parent_of(queue: Object) -> str:
    return text(at(queue, "spec", "parentQueue"))


def reserves(pod: Object | None, shared: frozenset[str]) -> bool:
    """Whether it is the reservation pod of one of these devices."""
    labels = labels_of(pod)
    return labels.get("app") == keys.RESERVATION and labels.get(keys.GPU_GROUP_LABEL) in shared


# ---- events --------------------------------------------------------------------------------------


async def _events(
    client: Client, pod: Object, name: str, group_name: str
) -> tuple[Object, ...] | None:
    """Events of the pod, of its BindRequest, which has its name, and of its pod group. Events of an
    earlier pod of the name are left out."""
    namespace, own = split(name)
    names = [own, *([group_name.partition("/")[2]] if group_name else [])]
    found: list[Object] = []
    for each in dict.fromkeys(names):
        chosen = {"fieldSelector": f"involvedObject.name={each}"}
        try:
            answer = await client.read(
                resource("Event").path(namespace), chosen, kinds=("EventList",)
            )
        except RefusedError:
            return None
        if answer.status < 300:
            found += objects(json.loads(answer.body).get("items"))
    uid = at(pod, "metadata", "uid")
    mine = [
        each
        for each in found
        if at(each, "involvedObject", "kind") in ("PodGroup", "BindRequest")
        or (
            at(each, "involvedObject", "kind") == "Pod"
            and at(each, "involvedObject", "uid") in (None, "", uid)
        )
    ]
    return tuple(sorted(mine, key=last_seen))


def _waits_for(events: tuple[Object, ...] | None) -> str:
    """What the last binding under way waits for, in words."""
    messages = (text(each.get("message")) for each in reversed(events or ()))
    return next((told.text for each in messages if (told := told_in(each)) is not None), "")


def last_seen(event: Object) -> str:
    """The time when it last happened, as text."""
    return (
        text(at(event, "series", "lastObservedTime"))
        or text(event.get("lastTimestamp"))
        or text(event.get("eventTime"))
        or text(at(event, "metadata", "creationTimestamp"))
    )
