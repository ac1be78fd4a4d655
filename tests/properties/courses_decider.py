"""A simple planning thread for courses of pods: it decides from what watches have shown.

In place of kai.controllers.planning and its engine, with the same inputs and results: it holds an
assumption for each decision until a watch shows the result or a course ends it.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakes.api_server import Object
from fakes.controllers import AT_ONCE, LOCAL
from kai.api import keys
from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.courses import Ask
from kai.controllers.grouper import Assignment, Decided, GroupChange
from kai.controllers.pods.bind_requests import Request, Target
from kai.controllers.pods.claims.allocations import MADE_FOR
from kai.controllers.pods.decisions import Binding, Removal
from kai.controllers.pods.results import Results
from kai.controllers.pods.sharing.gpu_group import GpuUser
from kai.controllers.pods.volumes.matching import BIND_COMPLETED, SELECTED_NODE, claims_of
from kai.controllers.unshown import BINDING, EVICTION, GROUP, GROUP_OF_POD, Accepted, Unshown
from kai.controllers.verdicts.facts import Ticket
from kai.controllers.verdicts.orders import Eviction
from kai.controllers.waits import earliest

SHARES, EXTENDED = "shares", "extended"
"""Annotations of pods: the number of devices that it shares; it has an extended resource."""
SLOTS = 5
"""Pods on a node."""
SHARED_BY = 2
"""Pods on a device."""
KINDS = (
    *("Pod", "Node", "PodGroup", "BindRequest", "ResourceClaim"),
    *("PersistentVolume", "PersistentVolumeClaim"),
)

Key = tuple[str, str]


@dataclass(slots=True)
class Inputs:
    results: Results
    events: Sequence[tuple[str, str, Object]]  # type, kind, object
    looked_at: Sequence[bytes]
    read: Sequence[tuple[Accepted, Object | None]]
    answers: Sequence[tuple[Write, Outcome]]
    asks: Sequence[Ask]
    requests: Sequence[Request]
    leads: bool


@dataclass(slots=True)
class Turn:
    bindings: list[Binding] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    grouped: Decided = field(default_factory=Decided)
    writes: list[Write] = field(default_factory=list)
    asks: Sequence[Ask] = ()
    broken: set[int] = field(default_factory=set)
    targets: list[tuple[Request, Target]] = field(default_factory=list)
    gone: list[tuple[str, str]] = field(default_factory=list)  # pods
    gpu_users: list[GpuUser] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    unshown: list[Accepted] = field(default_factory=list)
    without_effect: list[Accepted] = field(default_factory=list)
    wake: float | None = None


@dataclass(slots=True)
class Assumed:
    pod: str
    uid: str
    node: str = ""  # "": an eviction
    spec: Mapping[str, Any] = field(default_factory=dict)
    replaces: str = ""  # the UID of an earlier BindRequest of the name


class Decider:
    """`devices`: of each node, the number that pods share. `breaks`: the probability that a
    decision does not hold any more when it is checked."""

    def __init__(
        self, chance: random.Random, devices: Mapping[str, int], *, decides: bool, breaks: float
    ) -> None:
        self.chance, self.devices, self.decides, self.breaks = chance, devices, decides, breaks
        self.known: dict[str, dict[Key, Object]] = {each: {} for each in KINDS}
        self.buried: dict[tuple[str, Key], int] = {}  # objects that are gone, and their versions
        self.assumed: dict[int, Assumed] = {}
        self.number = 0
        self.ended: set[int] = set()  # forgotten or broken
        self.problems: list[str] = []
        self.unshown = Unshown()
        self.avoided: dict[tuple[str, str], float] = {}  # pod and node, until
        self.refused: dict[str, float] = {}  # groups that evict nothing, until
        self.planned: dict[str, Object] = {}  # groups that exist only in memory
        self.not_created: set[str] = set()  # of them, those whose creation failed
        self.created: set[str] = set()  # groups that no watch has shown yet
        self.assigned: dict[str, Assignment] = {}
        self.written: dict[str, str] = {}  # pods with a status that says why they wait: UID
        self.tickets = 0
        self.failed_at: dict[str, float] = {}

    # ---- one turn --------------------------------------------------------------------------------

    def turn(self, now: float, inputs: Inputs) -> Turn:
        turn = Turn()
        results = inputs.results
        for number in results.forget:
            self._forget(number)
        for data in inputs.looked_at:
            self._put(json.loads(data))
        for accepted, found in inputs.read:
            self._judge(turn, accepted, found)
        for what, kind, item in inputs.events:
            self._take_in(turn, what, kind, item)
        self._note(now, inputs)
        turn.asks = inputs.asks
        for ask in inputs.asks:
            self._check(turn, ask.about)
        turn.targets = [(each, self._target(each)) for each in inputs.requests]
        for binding, _ in (*results.refused, *results.stuck):
            self.avoided[binding.pod, binding.node] = now + 10.0
        for binding, _ in results.failed:
            self.failed_at[binding.pod] = now
        for removal, _ in results.spared:
            self.refused[removal.order.waits] = now + 10.0
        if self.decides:
            self.avoided = {each: at for each, at in self.avoided.items() if at > now}
            if inputs.leads:
                self._group(turn.grouped)
                self._decide(turn, now)
                turn.unshown = self.unshown.due(now, self._is_ahead)
        turn.wake = earliest((*self.avoided.values(), self.unshown.next()))
        return turn

    def _forget(self, number: int) -> None:
        if number in self.ended:
            self.problems.append(f"assumption {number} is forgotten twice")
        self.ended.add(number)
        self.assumed.pop(number, None)

    def _check(self, turn: Turn, binding: Binding) -> None:
        number = binding.assumption
        if number in self.assumed:
            node = self.known["Node"].get(("", binding.node))
            if node is None or _is_cordoned(node) or self.chance.random() < self.breaks:
                turn.broken.add(number)
                self._forget(number)

    def _target(self, request: Request) -> Target:
        namespace, _, name = request.pod.partition("/")
        pod = self.known["Pod"].get((namespace, name))
        has_node = ("", request.node) in self.known["Node"]
        if pod is None:
            return Target(has_node=has_node)
        node = pod["spec"].get("nodeName", "")
        return Target(pod["metadata"]["uid"], node, has_node, self._waits_for_volumes(pod))

    # ---- what watches show -----------------------------------------------------------------------

    def _put(self, item: Object) -> bool:
        """Whether it is newer than what is known."""
        key, known = _key(item), self.known[item["kind"]]
        before = known.get(key)
        oldest = self.buried.get((item["kind"], key), 0)
        oldest = oldest if before is None else max(oldest, _version(before))
        if oldest >= _version(item):
            return False
        known[key] = item
        self._review(item["kind"], _name(item), item)
        return True

    def _review(self, kind: str, name: str, item: Object | None) -> None:
        """Ends assumptions that have come true, or cannot come true any more."""
        if kind not in ("Pod", "BindRequest"):
            return
        for number, each in list(self.assumed.items()):
            if each.pod != name:
                continue
            if kind == "BindRequest":
                request = None if item is None else Request.of(item)
                is_over = bool(each.node) and request is not None
                is_over = is_over and request.uid != each.replaces
            elif item is None or item["metadata"]["uid"] != each.uid:
                is_over = True
            else:
                is_on_node = bool(each.node and item["spec"].get("nodeName"))
                is_over = is_on_node or (not each.node and "deletionTimestamp" in item["metadata"])
            if is_over:
                del self.assumed[number]

    def _take_in(self, turn: Turn, what: str, kind: str, item: Object) -> None:
        known, key, name = self.known[kind], _key(item), _name(item)
        before = known.get(key)
        if what == "DELETED":
            self.buried[kind, key] = _version(item)
            if before is None or _version(before) > _version(item):
                return
            del known[key]
            self._review(kind, name, None)
        elif not self._put(item):
            return
        if kind == "Pod":
            if before is not None and before["metadata"]["uid"] != item["metadata"]["uid"]:
                self._pod_gone(turn, before)
                before = None
            after = known.get(key)
            if after is None:
                self._pod_gone(turn, item)
            users = (before, after or {"metadata": {}})
            if is_reservation(item) or any(each and groups_of(each) for each in users):
                turn.gpu_users.append(GpuUser(name) if after is None else user_of(after))
        elif kind == "Node":
            turn.nodes.append(name.strip("/"))
        elif kind == "PodGroup":
            self.created.discard(name)
            self.not_created.discard(name)

    def _pod_gone(self, turn: Turn, pod: Object) -> None:
        name, uid = _name(pod), pod["metadata"]["uid"]
        turn.gone.append((name, uid))
        if self.assigned.get(name) is not None and self.assigned[name].uid == uid:
            del self.assigned[name]
        if self.written.get(name) == uid:
            del self.written[name]
        self.failed_at.pop(name, None)

    def _note(self, now: float, inputs: Inputs) -> None:
        """Accepted writes that a watch must soon show."""
        add = self.unshown.add
        for each in inputs.results.bound:
            if not each.request:
                add(now, Accepted(BINDING, "Pod", each.pod, each.uid, each.assumption))
        for removal in inputs.results.evicted:
            order = removal.order
            add(now, Accepted(EVICTION, "Pod", order.pod, order.uid, removal.assumption))
        for write, outcome in inputs.answers:
            name = f"{write.namespace}/{write.name}"
            if write.kind == "PodGroup" and write.verb == "create":
                if outcome.result in (Result.DONE, Result.CONFLICT):
                    self.planned.pop(name, None)
                    self.not_created.discard(name)
                    if ((write.namespace, write.name)) not in self.known["PodGroup"]:
                        self.created.add(name)
                        add(now, Accepted(GROUP, "PodGroup", name))
                elif outcome.result is not Result.LOST and name in self.planned:
                    self.not_created.add(name)
            elif isinstance(write.about, Assignment) and outcome.result is Result.DONE:
                add(now, Accepted(GROUP_OF_POD, "Pod", write.about.pod, write.about.uid))
            elif isinstance(write.about, Ticket) and outcome.result in (Result.FAILED, Result.LOST):
                self.written.pop(write.about.name, None)

    def _is_ahead(self, accepted: Accepted) -> bool:
        if accepted.number:
            return accepted.number in self.assumed
        if accepted.kind == "PodGroup":
            return accepted.name in self.created
        known = self.assigned.get(accepted.name)
        return known is not None and known.uid == accepted.uid

    def _judge(self, turn: Turn, accepted: Accepted, found: Object | None) -> None:
        if accepted.number:
            if found is not None and found["metadata"]["uid"] == accepted.uid:
                self._put(found)
                if accepted.number in self.assumed:
                    self._forget(accepted.number)
                    turn.without_effect.append(accepted)
            else:
                self.assumed.pop(accepted.number, None)
        elif accepted.kind == "PodGroup":
            self.created.discard(accepted.name)
            if found is not None:
                self._put(found)
        elif found is not None and found["metadata"]["uid"] == accepted.uid:
            known = self.assigned.get(accepted.name)
            if known is not None and not group_of(found):
                del self.assigned[accepted.name]  # it is assigned again
                turn.without_effect.append(accepted)

    # ---- groups ----------------------------------------------------------------------------------

    def _pods(self) -> list[Object]:
        return [each for each in self.known["Pod"].values() if not is_reservation(each)]

    def _group(self, decided: Decided) -> None:
        used: set[str] = set()
        for pod in self._pods():
            name, namespace = _name(pod), pod["metadata"]["namespace"]
            own = group_of(pod) or f"pg-{pod['metadata']['labels']['job']}"
            group = f"{namespace}/{own}"
            used.add(group)
            if group_of(pod):
                self.assigned.pop(name, None)
            elif name not in self.assigned:
                patch = {"annotations": {keys.POD_GROUP_ANNOTATION: own}}
                assignment = Assignment(name, pod["metadata"]["uid"], own, "", patch)
                self.assigned[name] = assignment
                decided.assignments.append(assignment)
            exists = group in self.created or group in self.planned
            if not exists and (namespace, own) not in self.known["PodGroup"]:
                manifest = {"metadata": {"namespace": namespace, "name": own}, "spec": {}}
                self.planned[group] = manifest
                decided.groups.append(GroupChange(manifest))
        for group in [each for each in self.planned if each not in used]:
            del self.planned[group]
            self.not_created.discard(group)
            decided.withdrawn.append(group)

    # ---- decisions -------------------------------------------------------------------------------

    def _decide(self, turn: Turn, now: float) -> None:
        late = [each for each in self._waiting() if not self._bind(turn, now, each)]
        for pod in late:
            name, uid = _name(pod), pod["metadata"]["uid"]
            if self.written.get(name) != uid:
                self.written[name] = uid
                turn.writes.append(self._status(pod))
        if late and self.chance.random() < 0.2:
            self._evict(turn, now, self.chance.choice(late))

    def _waiting(self) -> list[Object]:
        busy = {each.pod for each in self.assumed.values()}
        found = []
        for pod in self._pods():
            name, metadata = _name(pod), pod["metadata"]
            request = self.known["BindRequest"].get((metadata["namespace"], metadata["name"]))
            is_asked = request is not None and Request.of(request).owner in ("", metadata["uid"])
            if pod["spec"].get("nodeName") or "deletionTimestamp" in metadata or name in busy:
                continue
            if not is_asked or (request is not None and Request.of(request).has_failed):
                found.append(pod)
        return found

    def _bind(self, turn: Turn, now: float, pod: Object) -> bool:
        name, namespace = _name(pod), pod["metadata"]["namespace"]
        assigned = self.assigned.get(name)
        group = group_of(pod) or (assigned.group if assigned is not None else "")
        if not group or f"{namespace}/{group}" in self.not_created:
            return False
        chosen = self.choose(pod, now)
        if chosen is None:
            return False
        node, spec = chosen
        self.number += 1
        request = self.known["BindRequest"].get(_key(pod))
        replaces = "" if request is None else request["metadata"]["uid"]
        self.assumed[self.number] = Assumed(name, pod["metadata"]["uid"], node, spec, replaces)
        binding = Binding(
            *(name, pod["metadata"]["uid"], node, self.number, group),
            names_group=assigned is None,
            spec=spec,
            waits_for_volumes=self._waits_for_volumes(pod),
        )
        turn.bindings.append(binding)
        return True

    def choose(self, pod: Object, now: float) -> tuple[str, Mapping[str, Any]] | None:
        """A node, and the spec of a BindRequest."""
        nodes = [each for (_, each), node in self.known["Node"].items() if not _is_cordoned(node)]
        self.chance.shuffle(nodes)
        for node in nodes:
            if self._load(node) < SLOTS and self.avoided.get((_name(pod), node), now) <= now:
                spec = self._spec(pod, node)
                if spec is not None and self._reaches(pod, node):
                    return node, spec
        return None

    def _load(self, node: str) -> int:
        pods = [each for each in self._pods() if each["spec"].get("nodeName") == node]
        asked = [
            each
            for key, each in self.known["BindRequest"].items()
            if each["spec"]["selectedNode"] == node
            and not self.known["Pod"].get(key, {"spec": {}})["spec"].get("nodeName")
        ]
        assumed = [each for each in self.assumed.values() if each.node == node]
        return len(pods) + len(asked) + len(assumed)

    def _waits_for_volumes(self, pod: Object) -> bool:
        claims = self.known["PersistentVolumeClaim"]
        found = [claims.get((pod["metadata"]["namespace"], each)) for each in claims_of(pod)]
        return any(each is None or not _is_bound(each) for each in found)

    def _reaches(self, pod: Object, node: str) -> bool:
        """Whether the claims of the pod have, or can get, their volumes there."""
        taken: set[str] = set()
        for name in claims_of(pod):
            claim = self.known["PersistentVolumeClaim"].get((pod["metadata"]["namespace"], name))
            if claim is None:
                return False
            storage_class, volumes = (
                claim["spec"]["storageClassName"],
                self.known["PersistentVolume"],
            )
            selected = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
            if _is_bound(claim):
                volume = volumes.get(("", claim["spec"]["volumeName"]))
                if volume is None or not _is_reached(volume, node):
                    return False
            elif storage_class == AT_ONCE or selected not in (None, node):
                return False
            elif storage_class == LOCAL:
                free = [
                    _name(each)
                    for each in volumes.values()
                    if _may_be_for(each, claim) and _is_reached(each, node)
                ]
                chosen = next((each for each in free if each not in taken), None)
                if chosen is None:
                    return False
                taken.add(chosen)
        return True

    # ---- devices ---------------------------------------------------------------------------------

    def _spec(self, pod: Object, node: str) -> Mapping[str, Any] | None:
        """None: the node has no devices for the pod."""
        metadata = pod["metadata"]
        spec: dict[str, Any] = {"receivedResourceType": "Regular"}
        count = int(metadata.get("annotations", {}).get(SHARES, "0"))
        if count:
            groups = self._places(node, count)
            if len(groups) < count:
                return None
            given = {"count": count, "portion": "0.50"}
            spec = {"receivedResourceType": "Fraction", "receivedGPU": given}
            spec["selectedGPUGroups"] = groups
        free = self._free_devices(node)
        claims = []
        for use in pod["spec"].get("resourceClaims", ()):
            own = use["resourceClaimName"]
            allocation = self._allocated(metadata["namespace"], own)
            if allocation is None:
                claim = self.known["ResourceClaim"].get((metadata["namespace"], own))
                if claim is None or "deletionTimestamp" in claim["metadata"] or not free:
                    return None
                allocation = devices(node, free.pop(0))
            elif allocation["devices"]["results"][0]["pool"] != node:
                return None
            claims.append({"name": use["name"], "allocation": allocation})
        if claims:
            spec["resourceClaimAllocations"] = claims
        if EXTENDED in metadata.get("annotations", {}):
            made = self._made_for(pod)
            held = None if made is None else (made.get("status") or {}).get("allocation")
            if not free and held is None:
                return None
            if held is not None and held["devices"]["results"][0]["pool"] != node:
                return None
            spec["extendedResourceClaimAllocation"] = {
                "allocation": held or devices(node, free.pop(0)),
                "deviceRequests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.test"}}],
                "containerMappings": [{"containerName": "main", "requestName": "gpu"}],
            }
        return spec

    def _made_for(self, pod: Object) -> Object | None:
        """The claim for the extended resources of the pod."""
        for each in self.known["ResourceClaim"].values():
            owners = each["metadata"].get("ownerReferences", ())
            is_made = MADE_FOR in each["metadata"].get("annotations", {})
            if is_made and any(owner["uid"] == pod["metadata"]["uid"] for owner in owners):
                return each
        return None

    def _specs(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Of assumptions and BindRequests under way."""
        found = [(each.pod, each.spec) for each in self.assumed.values()]
        for key, each in self.known["BindRequest"].items():
            pod = self.known["Pod"].get(key)
            if pod is None or not pod["spec"].get("nodeName"):
                found.append(("/".join(key), each["spec"]))
        return found

    def _allocated(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        claim = self.known["ResourceClaim"].get((namespace, name), {})
        held: Mapping[str, Any] | None = (claim.get("status") or {}).get("allocation")
        if held is not None:
            return held
        for pod, spec in self._specs():
            known = self.known["Pod"].get(tuple(pod.split("/")), {"spec": {}})  # type: ignore[call-overload]
            names = {
                each["name"]: each["resourceClaimName"]
                for each in known["spec"].get("resourceClaims", ())
            }
            for each in spec.get("resourceClaimAllocations", ()):
                if pod.startswith(f"{namespace}/") and names.get(each["name"]) == name:
                    found: Mapping[str, Any] = each["allocation"]
                    return found
        return None

    def _free_devices(self, node: str) -> list[str]:
        used = set()
        for claim in self.known["ResourceClaim"].values():
            used |= _devices_in((claim.get("status") or {}).get("allocation"))
        for _, spec in self._specs():
            for each in spec.get("resourceClaimAllocations", ()):
                used |= _devices_in(each["allocation"])
            used |= _devices_in(spec.get("extendedResourceClaimAllocation", {}).get("allocation"))
        return [each for n in range(4) if (each := f"{node}-gpu-{n}") not in used]

    def _places(self, node: str, count: int) -> list[str]:
        """GPU groups with room on the node; new ones if it has devices for them."""
        users: dict[str, int] = {}
        for pod in self.known["Pod"].values():
            if is_reservation(pod):
                for group in groups_of(pod):
                    users.setdefault(group, 0)
            elif pod["status"]["phase"] in ("Pending", "Running"):
                for group in groups_of(pod):
                    users[group] = users.get(group, 0) + 1
        for _, spec in self._specs():
            for group in spec.get("selectedGPUGroups", ()):
                users[group] = users.get(group, 0) + 1
        here = [each for each in users if each.startswith(f"{node}:")]
        found = [each for each in here if 0 < users[each] < SHARED_BY]
        for n in range(len(here), self.devices.get(node, 0)):
            found.append(f"{node}:{n}{self.chance.randrange(10**6)}")
        self.chance.shuffle(found)
        return found[:count]

    # ---- evictions and statuses ------------------------------------------------------------------

    def _evict(self, turn: Turn, now: float, pod: Object) -> None:
        namespace = pod["metadata"]["namespace"]
        wanted = f"{namespace}/{group_of(pod) or 'pg-' + pod['metadata']['labels']['job']}"
        leaving = {each.pod for each in self.assumed.values()}
        victims = [
            each
            for each in self._pods()
            if each["spec"].get("nodeName")
            and "deletionTimestamp" not in each["metadata"]
            and _name(each) not in leaving
        ]
        if not victims or self.refused.get(wanted, now) > now:
            return
        for _ in range(self.chance.randint(1, min(2, len(victims)))):
            victim = victims.pop(self.chance.randrange(len(victims)))
            name, uid = _name(victim), victim["metadata"]["uid"]
            self.number += 1
            self.assumed[self.number] = Assumed(name, uid)
            order = Eviction(name, uid, "reclaim", "", group_of(victim), for_group=wanted)
            turn.removals.append(Removal(order, self.number))

    def _status(self, pod: Object) -> Write:
        """Says why the pod waits, as kai.controllers.verdicts does."""
        self.tickets += 1
        name, own = _name(pod), pod["metadata"]["name"]
        condition = {"type": "PodScheduled", "status": "False", "message": str(self.tickets)}
        body = {
            "metadata": {"uid": pod["metadata"]["uid"]},
            "status": {"conditions": [condition]},
        }
        where = ("patch", "Pod", pod["metadata"]["namespace"], own, body, "status")
        ticket = Ticket("pod", name, self.tickets)
        return Write(
            *(Lane.CONDITION, *where), patch_type="strategic", key=f"status/{name}", about=ticket
        )


def _key(item: Object) -> Key:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _name(item: Object) -> str:
    return "/".join(_key(item))


def _version(item: Object) -> int:
    return int(item["metadata"]["resourceVersion"])


def _is_cordoned(node: Object) -> bool:
    return bool(node.get("spec", {}).get("unschedulable"))


def group_of(pod: Object) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(keys.POD_GROUP_ANNOTATION, ""))


def groups_of(pod: Object) -> list[str]:
    labels = pod["metadata"].get("labels") or {}
    return sorted(each for key, each in labels.items() if key.startswith(keys.GPU_GROUP_LABEL))


def is_reservation(pod: Object) -> bool:
    return bool(pod["metadata"].get("namespace") == keys.RESERVATION)


def user_of(pod: Object) -> GpuUser:
    """As the feed of the engine shows it."""
    metadata = pod["metadata"]
    return GpuUser(
        _name(pod),
        metadata["uid"],
        pod["spec"].get("nodeName", ""),
        groups_of(pod),
        pod["status"]["phase"],
        is_leaving="deletionTimestamp" in metadata,
        is_reservation=is_reservation(pod),
        device=(metadata.get("annotations") or {}).get(keys.RESERVED_DEVICE_ANNOTATION, ""),
    )


def devices(node: str, *names: str) -> Object:
    given = {"request": "gpu", "driver": "gpu.test", "pool": node}
    return {"devices": {"results": [{**given, "device": each} for each in names]}}


def _devices_in(allocation: Mapping[str, Any] | None) -> set[str]:
    if not allocation:
        return set()
    return {each["device"] for each in allocation["devices"]["results"]}


def _is_bound(claim: Object) -> bool:
    has = BIND_COMPLETED in claim["metadata"].get("annotations", {})
    return bool(claim["spec"].get("volumeName")) and has


def _is_reached(volume: Object, node: str) -> bool:
    affinity = volume["spec"].get("nodeAffinity")
    if affinity is None:
        return True
    [term] = affinity["required"]["nodeSelectorTerms"]
    return node in term["matchFields"][0]["values"]


def _may_be_for(volume: Object, claim: Object) -> bool:
    if volume["spec"]["storageClassName"] != claim["spec"]["storageClassName"]:
        return False
    wanted = volume["spec"].get("claimRef")
    return wanted is None or wanted.get("uid") == claim["metadata"]["uid"]
