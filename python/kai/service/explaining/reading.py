"""The facts about one pod or pod group of a running scheduler: its latest plan, and a few reads.

    reader = Reader(client, options, questions)
    facts = await reader.pod("team", "train-0", caller_may_list)
    told = await reader.group("team", "train", caller_may_list)

Nothing is listed in a request. `MayList` says whether the caller may list the pods of a namespace;
otherwise groups there appear as a number and their queue.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kai.api import keys
from kai.api.kinds import full_name
from kai.api.reading import at, text
from kai.api.times import SECOND_NS
from kai.api.writes import Read
from kai.engine.plan import Plan
from kai.errors import NotFoundError
from kai.live.explaining import pod_facts
from kai.live.explaining.planned import QueueFacts, Verdict, queues_of, verdict_of
from kai.live.explaining.pod_facts import Object, PodFacts

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.service.explaining.questions import Questions
    from kai.service.options import Options

MayList = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Told:
    """What a plan says about a pod or a group. `cut`: the verdict without the names of other
    groups; `namespaces`: of the groups that `full` names."""

    group_name: str
    full: Verdict
    cut: Verdict
    namespaces: frozenset[str]
    queues: tuple[QueueFacts, ...]

    async def verdict(self, may_list: MayList) -> Verdict:
        """What this caller may read."""
        for each in sorted(self.namespaces):
            if not await may_list(each):
                return self.cut
        return self.full


class Reader:
    """Lives on the event loop of `client`."""

    def __init__(self, client: Client, options: Options, questions: Questions) -> None:
        self._client, self._options, self._questions = client, options, questions

    async def pod(self, namespace: str, name: str, may_list: MayList) -> PodFacts | None:
        """None: there is no such pod. Raises NotNowError, RefusedError and UnreachableError."""
        pod = await self._find("Pod", namespace, name)
        if pod is None:
            return None
        named = pod_facts.named_group(pod)
        group = await self._find("PodGroup", namespace, named.partition("/")[2]) if named else None
        queue = pod_facts.named_queue(group, pod)
        told = await self._questions.ask(lambda plan: _told(plan, full_name(pod), named, queue))
        if group is None and told.group_name:
            group = await self._find("PodGroup", *told.group_name.split("/", 1))
        request = await self._find("BindRequest", namespace, name)
        request = None if request is None else pod_facts.of_this_pod(request, pod)
        node = pod_facts.node_of(pod, request)
        return PodFacts(
            name=full_name(pod),
            now_ns=self._now_ns(),
            scheduler_name=self._options.scheduler_name,
            pod=pod,
            group_name=told.group_name,
            group=group,
            queues=told.queues,
            verdict=await told.verdict(may_list),
            request=request,
            node=await self._find("Node", "", node) if node else None,
            reservations=tuple(await self._reservations(pod, request)),
        )

    async def group(self, namespace: str, name: str, may_list: MayList) -> GroupFacts | None:
        """None: there is no such group. Raises NotNowError, RefusedError and UnreachableError."""
        own = f"{namespace}/{name}"
        group = await self._find("PodGroup", namespace, name)
        queue = text(at(group, "spec", "queue"))
        try:
            told = await self._questions.ask(lambda plan: _told_of_group(plan, own, queue))
        except NotFoundError:
            if group is None:
                return None
            told = Told(own, Verdict(), Verdict(), frozenset(), ())
        verdict = await told.verdict(may_list)
        return GroupFacts(told.group_name, self._now_ns(), verdict, told.queues)

    def _now_ns(self) -> int:
        return int(self._client.server_time()) * SECOND_NS

    async def _find(self, kind: str, namespace: str, name: str) -> Object | None:
        try:
            data = await self._client.get(kind, namespace, name)
        except NotFoundError:  # the server does not have the kind
            return None
        found: Object | None = None if data is None else json.loads(data)
        return found

    async def _reservations(self, pod: Object, request: Object | None) -> Iterable[Object]:
        shared = sorted(pod_facts.shared_by(pod, request))
        if not shared:
            return ()
        selector = f"app={keys.RESERVATION},{keys.GPU_GROUP_LABEL} in ({','.join(shared)})"
        where = self._options.resource_reservation_namespace
        found: list[Any] = await self._client.find(Read("Pod", where, selector=selector))
        return sorted(found, key=full_name)


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A pod group in the latest plan. `now_ns`: the time of the answer, in ns since 1970."""

    name: str
    now_ns: int
    verdict: Verdict
    queues: tuple[QueueFacts, ...]


def _told(plan: Plan, pod: str, named_group: str, named_queue: str) -> Told:
    plan_group = plan.situation.group_of_pod.get(pod)
    return _of(plan, pod, plan_group or named_group, named_queue)


def _told_of_group(plan: Plan, name: str, named_queue: str) -> Told:
    """Raises NotFoundError if the plan does not have the group."""
    if name not in plan.situation.find_groups(name):
        raise NotFoundError(f"there is no pod group {name!r} in the plan")
    return _of(plan, "", name, named_queue)


def _of(plan: Plan, pod: str, group: str, named_queue: str) -> Told:
    namespaces = set[str]()

    def note(other: str) -> bool:
        namespaces.add(other.partition("/")[0])
        return True

    full = verdict_of(plan, pod, group, note)
    cut = replace(full, why=verdict_of(plan, pod, group, lambda _: False).why)
    cut = cut if namespaces else full
    queues = queues_of(plan, group, named_queue, _parents(plan))
    return Told(group, full, cut, frozenset(namespaces), queues)


def _parents(plan: Plan) -> Callable[[str], str | None]:
    known = plan.situation.queue_parents
    left_out = {each.name for each in plan.rejected if each.kind == "Queue"}

    def parent_of(queue: str) -> str | None:
        if queue in known:
            return known[queue] or ""
        return "" if queue in left_out else None

    return parent_of
