"""Random worlds for courses of pods: users, watches, faults and processes, in virtual time.

world = World(seed)
world.run()
world.problems            # broken invariants
world.trace               # what happened, line by line

python courses_world.py 7 8 9          # prints their traces
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from courses_decider import EXTENDED, SHARES, Turn, groups_of, is_reservation
from courses_process import Item, Process

from fakes.api_server import ApiServer, Event, Fault, Object, unanswered
from fakes.clock import VirtualClock
from fakes.controllers import (
    AT_ONCE,
    LOCAL,
    WAITS,
    Controllers,
    device_of,
    storage_classes,
    volume,
)
from kai.api import keys
from kai.api.writes import Outcome, Result, Write
from kai.controllers.courses import Course
from kai.controllers.grouper import Assignment
from kai.controllers.pods.bind_requests import Request
from kai.controllers.pods.binder import RequestCourse
from kai.controllers.pods.course import PodCourse
from kai.controllers.pods.pods import How
from kai.controllers.pods.results import Results
from kai.controllers.pods.volumes.matching import SELECTED_NODE, claims_of

NODES = {"n1": 2, "n2": 2, "n3": 1}  # devices that pods share
FAULTS_S, CALM_S, EMPTY_S = 60.0, 300.0, 600.0
LAYOUTS: tuple[tuple[How, bool], ...] = (
    ("direct", False),
    ("bind-requests", False),
    ("bind-requests", True),
)
"""How pods are bound, and whether the binder is a process of its own."""

SHARED_CLAIM = "ours"
BUSY = Outcome(Result.FAILED, 503, "ServiceUnavailable", "busy")
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "policy says no")
BUDGET = Outcome(Result.REFUSED, 429, "TooManyRequests", "the budget does not allow it")
CHANGED = Outcome(Result.CONFLICT, 409, "Conflict", "the object has been modified")


class Checks:
    """What must hold at any time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.where: dict[str, str] = {}  # nodes of pods, by UID
        self.chosen: set[tuple[str, str]] = set()  # UIDs and nodes
        # By process, kind, and UID of the pod or name of the BindRequest: UID and node
        self.doubt: dict[tuple[Process, str, str], tuple[str, str]] = {}
        self.names: dict[str, str] = {}  # of pods in doubt, by UID
        self.broken: set[tuple[Process, str]] = set()  # UIDs
        self.flying: dict[tuple[Process, type, str], dict[PodCourse, int]] = {}
        self.unclear: set[str] = set()  # UIDs: their BindRequest was deleted in doubt
        self.kept: set[str] = set()  # ConfigMaps that could not be deleted
        self.nameless: set[str] = set()  # UIDs: a rule does not allow that they name their group
        self.excused: set[str] = set()  # UIDs: a process ended, or lost its lease, with them

    def stored(self, event: Event) -> None:
        item = event.item
        if event.kind != "Pod" or is_reservation(item):
            return
        uid, node = item["metadata"]["uid"], item["spec"].get("nodeName")
        if node and self.where.setdefault(uid, node) != node:
            self.world.problem(f"{uid} is bound twice")
        if node and (uid, node) not in self.chosen:
            self.world.problem(f"{uid} is bound to {node}, which was not decided")

    def decided(self, process: Process, turn: Turn) -> None:
        for each in turn.bindings:
            self.chosen.add((each.uid, each.node))
            self.world.note(f"{process.name} decides {each.pod} {each.node} {each.assumption}")
        for ask in turn.asks:
            about = ask.about
            is_broken = about.assumption in turn.broken
            self.world.note(f"{process.name} checks {about.assumption}: {not is_broken}")
            if is_broken:
                self.broken.add((process, about.uid))

    def results(self, process: Process, results: Results) -> None:
        for name in ("forget", "bound", "failed", "evicted", "spared"):
            for each in getattr(results, name):
                first = each[0] if isinstance(each, tuple) else each
                number = first if isinstance(first, int) else first.assumption
                why = f": {each[1]}" if isinstance(each, tuple) else ""
                self.world.note(f"{process.name} {name} {number}{why}")

    def put(self, process: Process, item: Item) -> None:
        self._fly(process, item.course, 1)
        node, uid = goal_of(item.write)
        if node:
            key = (process, *key_of(item.write))
            if (process, uid) in self.broken:
                self.doubt.pop(key, None)
            doubted, before = self.doubt.get(key, (uid, node))
            if doubted == uid and before != node:
                self.world.problem(f"{uid} is sent to {node}, and may be bound to {before}")

    def answered(self, process: Process, item: Item, outcome: Outcome) -> None:
        self._fly(process, item.course, -1)
        write = item.write
        what = f"{write.verb} {write.kind} {write.name} {write.subresource}".strip()
        self.world.note(f"{process.name} {what}: {outcome.result.value} {outcome.reason}")
        node, uid = goal_of(write)
        course = item.course
        is_left = isinstance(course, RequestCourse) and not process.has(course)
        if node and is_left and outcome.result is Result.LOST:
            self.unclear.add(uid)
        elif node and outcome.result is Result.LOST:
            self.doubt[(process, *key_of(write))] = uid, node
            self.names[uid] = f"{write.namespace}/{write.name}"
            self.broken.discard((process, uid))
        if outcome.reason == "NotLeading" and isinstance(item.course, PodCourse):
            self.excused.add(item.course.binding.uid)
        is_removal = (write.kind, write.verb) == ("ConfigMap", "delete")
        if is_removal and outcome.result in (Result.FAILED, Result.REFUSED):
            self.kept.add(write.name)  # that is not repeated; the next try replaces it
        if isinstance(write.about, Assignment) and outcome.result is Result.REFUSED:
            self.nameless.add(write.about.uid)  # that is not tried again

    def _fly(self, process: Process, course: Course | None, more: int) -> None:
        """Counts the writes of the courses of a pod."""
        if not isinstance(course, PodCourse):
            return
        pod, uid = course.binding.key
        flying = self.flying.setdefault((process, type(course), uid), {})
        flying[course] = flying.get(course, 0) + more
        if not flying[course]:
            del flying[course]
        if len(flying) > 1:
            self.world.problem(f"two courses of {pod} have writes under way")

    def read(self, process: Process, kind: str, name: str, found: Any) -> None:
        if kind == "Pod" and not isinstance(found, list):
            is_open = found is not None and not found["spec"].get("nodeName")
            is_open = is_open and "deletionTimestamp" not in found["metadata"]
            waits = found["metadata"]["uid"] if is_open else ""
            for key in [each for each in self.doubt if each[:2] == (process, "Pod")]:
                if self.names[key[2]] == name and key[2] != waits:
                    del self.doubt[key]
        elif kind == "BindRequest" and isinstance(found, dict):
            self.seen_request(process, Request.of(found))

    def seen_request(self, process: Process, request: Request) -> None:
        """Only one object can have its name: an earlier creation had its effect, or has none."""
        self.doubt.pop((process, "BindRequest", request.name), None)
        self.chosen.add((request.owner, request.node))

    def request_gone(self, process: Process, request: Request) -> None:
        """A binder does not try again; the pod may be on its way to another node. What an earlier
        try has reserved is undone, although the pod may still be bound."""
        if self.doubt.pop((process, "Pod", request.owner), None) is not None:
            self.unclear.add(request.owner)


def key_of(write: Write) -> tuple[str, str]:
    """Of a binding or BindRequest."""
    if write.kind == "BindRequest":
        return write.kind, f"{write.namespace}/{write.name}"
    return write.kind, goal_of(write)[1]


def goal_of(write: Write) -> tuple[str, str]:
    """The node to which it brings a pod, and the UID of the pod; "": none."""
    body: Any = write.body
    if write.subresource == "binding":
        return body["target"]["name"], body["metadata"]["uid"]
    if write.kind == "BindRequest" and write.verb == "create":
        [owner] = body["metadata"]["ownerReferences"]
        return body["spec"]["selectedNode"], owner["uid"]
    return "", ""


class World:
    """`chance`: decides everything that is random. `is_calm`: no faults happen any more.
    `is_closed`: no node takes a pod then."""

    def __init__(self, seed: int) -> None:
        self.seed, self.chance = seed, random.Random(seed)
        self.trace: list[str] = []
        self.problems: list[str] = []
        self.is_calm = False
        self.devices = NODES
        self.faults = self.chance.choice((0.05, 0.15, 0.3))  # the share of writes with a fault
        self.delays = self.chance.choice((0.1, 1.0, 4.0))
        self.watches = self.chance.choice((0.1, 1.0, 20.0))  # the longest delay, in seconds
        self.is_closed = self.chance.random() < 0.3
        self.eviction: Any = self.chance.choice(("delete", "evict"))
        self.server = ApiServer(clock=VirtualClock(0.0))
        self.server.copies_labels = self.chance.random() < 0.7
        self.server.put(*map(node, NODES), *storage_classes())
        self.server.put({"kind": "DeviceClass", "metadata": {"name": "gpu.test"}, "spec": {}})
        self.server.put(*(volume(f"disk-{each}", LOCAL, each) for each in NODES))
        self.checks = Checks(self)
        self.controllers = Controllers(
            self.server, devices=NODES, delay=lambda: self.wait(1.0), fails=self._fails
        )
        self.server.listeners += [self.checks.stored, self._show]
        self.processes: list[Process] = []
        self.by, self.is_split = LAYOUTS[seed % len(LAYOUTS)]
        for number in range(1 + self.is_split):
            self.processes.append(self._process(number, 0))

    def _process(self, number: int, life: int) -> Process:
        roles = {"decides": not number, "binds": not self.is_split or bool(number)}
        if self.by == "direct":
            roles["binds"] = False
        return Process(self, f"{number}.{life}", self.by, **roles)

    # ---- time and chance -------------------------------------------------------------------------

    def later(self, seconds: float, action: Callable[[], Any]) -> None:
        self.server.clock.later(seconds, action)

    def wait(self, seconds: float) -> float:
        """A delay, usually shorter than `seconds`."""
        share = self.chance.random()
        return share * share * seconds * (0.2 if self.is_calm else self.delays)

    def watch_delay(self) -> float:
        share = self.chance.random()
        return share**4 * (0.1 if self.is_calm else self.watches)

    def _fails(self) -> bool:
        return not self.is_calm and self.chance.random() < self.faults

    def note(self, line: str) -> None:
        self.trace.append(f"{self.server.clock.now:.6f} {line}")

    def problem(self, text: str) -> None:
        self.note(f"PROBLEM: {text}")
        self.problems.append(text)

    # ---- writes ----------------------------------------------------------------------------------

    def send(self, process: Process, item: Item, answered: Callable[[Outcome], None]) -> None:
        write = item.write
        fault, late = self._fault(write)
        arrived: list[Outcome] = []

        def arrive() -> None:
            if process.lives and not arrived:
                self.server.fault = lambda _: fault
                arrived.append(self.server.send(write))

        if late:  # it takes effect after its answer
            self.later(fault.before, lambda: answered(unanswered(write)))
            self.later(fault.before + self.wait(5.0), arrive)
            return
        self.later(fault.before, arrive)
        self.later(
            fault.before + fault.after,
            lambda: answered(arrived[0] if arrived else unanswered(write)),
        )

    def _fault(self, write: Write) -> tuple[Fault, bool]:
        """What happens to a write, and whether it takes effect only after its answer."""
        delays = {"before": self.wait(1.0), "after": self.wait(0.5)}
        if self.is_calm or self.chance.random() >= self.faults:
            return Fault(**delays), False
        fate = self.chance.random()
        if fate < 0.15:
            return Fault(unanswered(write), **delays), False
        if fate < 0.40:
            return Fault(unanswered(write), applied=True, **delays), False
        if fate < 0.50 and write.subresource == "binding":
            return Fault(**delays), True
        if fate < 0.75:
            return Fault(BUSY, **delays), False
        is_eviction = write.subresource == "eviction"
        if fate < 0.88:
            return Fault(BUDGET if is_eviction else REFUSED, **delays), False
        metadata = write.body.get("metadata", {}) if isinstance(write.body, dict) else {}
        if write.subresource == "binding" or "resourceVersion" in metadata:
            return Fault(CHANGED, **delays), False
        return Fault(**delays), False

    def _show(self, event: Event) -> None:
        metadata = event.item["metadata"]
        self.note(f"{event.type} {event.kind} {metadata['name']} {metadata['resourceVersion']}")
        for each in self.processes:
            if each.lives:
                each.happened(event)

    # ---- users and misfortunes -------------------------------------------------------------------

    def run(self) -> None:
        chance = self.chance
        for _ in range(chance.randint(6, 12)):
            self.later(chance.uniform(0, FAULTS_S * 0.8), self._create_pod)
        for _ in range(chance.randint(0, 6)):
            self.later(chance.uniform(5, FAULTS_S), self._delete_pod)
        for happens, most in (
            (self._change_node, 3),
            (self._kill, 2),
            (self._lose_lease, 1),
            (self._delete_group, 1),
            (self._delete_request, 2),
        ):
            times = chance.randint(0, most)
            for _ in range(times):
                self.later(chance.uniform(0, FAULTS_S), happens)
            if happens == self._lose_lease and not times:
                self._delete_reservations()
        self.server.clock.run(FAULTS_S)
        self._be_calm()
        self.server.clock.run(CALM_S)
        self._check_pods()
        self._check_reserved()
        for pod in list(self.server.all("Pod")):
            if not is_reservation(pod):
                self.server.remove("Pod", "team", pod["metadata"]["name"])
        self.server.clock.run(EMPTY_S)
        self._check_reserved()
        self._check_state()

    def _be_calm(self) -> None:
        self.is_calm = True
        for each in self.processes:
            each.decider.breaks = 0.0
            each.lead_again()
        for name in NODES:
            self.server.put(node(name))
            if self.is_closed:
                self.server.change("Node", "", name, {"spec": {"unschedulable": True}})
        # What a provisioner has refused, it tries again.
        for claim in list(self.server.all("PersistentVolumeClaim")):
            self.controllers._volume_claim("team", claim["metadata"]["name"])

    def _create_pod(self) -> None:
        name = f"p{self.chance.randrange(8)}"
        if self.server.stored("Pod", "team", name) is not None:
            return
        made = self._pod(name)
        self.server.put(made)
        uid = self.server.stored("Pod", "team", name)["metadata"]["uid"]  # type: ignore[index]
        self._claims_of(made, uid)

    def _pod(self, name: str) -> Object:
        chance = self.chance
        spec: Object = {"containers": [{"name": "main"}]}
        annotations: dict[str, str] = {}
        kinds = chance.sample(("claim", "shared claim", "extended", "volume", "shares"), 2)
        kinds = kinds[: chance.choice((0, 1, 1, 2))]
        if "claim" in kinds:
            spec["resourceClaims"] = [{"name": "own", "resourceClaimName": f"{name}-own"}]
        elif "shared claim" in kinds:
            spec["resourceClaims"] = [{"name": "ours", "resourceClaimName": SHARED_CLAIM}]
        if "extended" in kinds:
            annotations[EXTENDED] = "yes"
        if "volume" in kinds:
            claims = [f"{name}-disk", f"{name}-more"][: chance.choice((1, 1, 2))]
            spec["volumes"] = [
                {"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims
            ]
        if "shares" in kinds:
            annotations[SHARES] = chance.choice(("1", "1", "2"))
            annotations[keys.SHARED_GPU_CONFIG_MAP_ANNOTATION] = f"{name}-{chance.randrange(10**6)}"
            env = {"name": keys.VISIBLE_DEVICES_ENV, "valueFrom": {"configMapKeyRef": {}}}
            spec["containers"][0]["env"] = [env]
        metadata = {
            "namespace": "team",
            "name": name,
            "labels": {"job": chance.choice(("a", "b", "c"))},
            "annotations": annotations,
        }
        return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}

    def _claims_of(self, pod: Object, uid: str) -> None:
        """The claims that the pod names, unless they exist."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": uid}
        for each in pod["spec"].get("resourceClaims", ()):
            name = each["resourceClaimName"]
            metadata: Object = {"namespace": "team", "name": name}
            if each["name"] == "own":
                metadata["ownerReferences"] = [owner]
            requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu.test"}}]
            if self.server.stored("ResourceClaim", "team", name) is None:
                spec = {"devices": {"requests": requests}}
                self.server.put({"kind": "ResourceClaim", "metadata": metadata, "spec": spec})
        for each in pod["spec"].get("volumes", ()):
            name = each["persistentVolumeClaim"]["claimName"]
            if self.server.stored("PersistentVolumeClaim", "team", name) is not None:
                continue
            metadata = {"namespace": "team", "name": name}
            if self.chance.random() < 0.5:
                metadata["ownerReferences"] = [owner]
            spec = {
                "storageClassName": self.chance.choice((WAITS, WAITS, LOCAL, AT_ONCE)),
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            }
            self.server.put({"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})

    def _delete_pod(self) -> None:
        """It goes at once or later, and a new one may get its name."""
        names = [each["metadata"]["name"] for each in self.server.list("Pod", "team")]
        if not names:
            return
        name = self.chance.choice(names)
        if self.chance.random() < 0.5:
            self.server.remove("Pod", "team", name)
            if self.chance.random() < 0.5:
                made = self._pod(name)
                self.server.put(made)
                uid = self.server.stored("Pod", "team", name)["metadata"]["uid"]  # type: ignore[index]
                self._claims_of(made, uid)
        else:
            leaving = {"metadata": {"deletionTimestamp": "2027-01-15T09:00:00Z"}}
            self.server.change("Pod", "team", name, leaving)

    def _change_node(self) -> None:
        name = self.chance.choice(sorted(NODES))
        known = self.server.stored("Node", "", name)
        if known is not None and self.chance.random() < 0.2:
            self.server.remove("Node", "", name)
        elif known is None or known["spec"].get("unschedulable"):
            self.server.put(node(name))
        else:
            self.server.change("Node", "", name, {"spec": {"unschedulable": True}})

    def _delete_group(self) -> None:
        names = [each["metadata"]["name"] for each in self.server.list("PodGroup", "team")]
        if names:
            self.server.remove("PodGroup", "team", self.chance.choice(names))

    def _delete_request(self) -> None:
        names = [
            each["metadata"]["name"]
            for each in self.server.list("BindRequest", "team")
            if not each.get("status", {}).get("phase")
        ]
        if names:
            self.server.remove("BindRequest", "team", self.chance.choice(names))

    def _delete_reservations(self) -> None:
        """By users: a kubelet may give the device to others, so kai deletes the pods on it. The
        rest of the world does not depend on this dice."""
        dice = random.Random(f"reservations of {self.seed}")

        def delete() -> None:
            found = [each["metadata"]["name"] for each in self.server.list("Pod", keys.RESERVATION)]
            if found:
                self.server.remove("Pod", keys.RESERVATION, dice.choice(found))

        for _ in range(dice.randint(0, 2)):
            self.later(dice.uniform(0, FAULTS_S), delete)

    def _kill(self) -> None:
        """Of its writes under way, some have arrived. The next process knows only the objects."""
        number = self.chance.randrange(len(self.processes))
        process = self.processes[number]
        for item in process.writer.flying:
            if self.chance.random() < 0.5:
                self.server.fault = lambda _: None
                self.server.send(item.write)
        for course in process.courses_of():
            self.checks.excused.add(course.binding.uid)
        process.lives = False
        self.note(f"{process.name} ends")
        life = int(process.name.partition(".")[2]) + 1
        self.processes[number] = self._process(number, life)

    def _lose_lease(self) -> None:
        process = self.chance.choice(self.processes)
        self.note(f"{process.name} does not lead")
        process.leads, process.term = False, process.term + 1

        def leads() -> None:
            if process.lives:
                process.lead_again()

        self.later(self.chance.uniform(1, 20), leads)

    # ---- at the end ------------------------------------------------------------------------------

    def _check_pods(self) -> None:
        """Each pod that can be bound is bound."""
        decider = self.processes[0].decider
        for pod in self.server.all("Pod"):
            name = pod["metadata"]["name"]
            if is_reservation(pod):
                continue
            if not pod["spec"].get("nodeName"):
                if decider.choose(pod, self.server.clock.now) is not None:
                    self.problem(f"{name} can be bound, and waits")
                assumed = [n for n, each in decider.assumed.items() if each.pod == f"team/{name}"]
                if assumed:
                    self.problem(f"{name} waits with the assumption {assumed}")
            group = pod["metadata"].get("annotations", {}).get(keys.POD_GROUP_ANNOTATION)
            if group is None and pod["metadata"]["uid"] in self.checks.nameless:
                continue
            if group is None or self.server.stored("PodGroup", "team", group) is None:
                self.problem(f"{name} is in no group: {group}")
        if decider.assumed:
            self.problem(f"assumptions are left: {decider.assumed}")
        for process in self.processes:
            self.problems += process.decider.problems

    def _check_reserved(self) -> None:
        """Nothing is reserved for a pod that is gone or not bound. A pod that waits may keep what a
        process did that ended, or lost its lease."""
        pods = {
            each["metadata"]["uid"]: each
            for each in self.server.all("Pod")
            if not is_reservation(each)
        }
        may = {uid for uid, each in pods.items() if each["spec"].get("nodeName")}
        may |= self.checks.excused & set(pods)
        for uid, pod in pods.items():
            if pod["spec"].get("nodeName") and uid not in self.checks.unclear:
                self._check_claims(pod, uid)
        for claim in self.server.all("ResourceClaim"):
            name, status = claim["metadata"]["name"], claim.get("status") or {}
            users = [each["uid"] for each in status.get("reservedFor") or ()]
            if not may.issuperset(users):
                self.problem(f"claim {name} is reserved for {users}")
            is_shared = name == SHARED_CLAIM  # the pod that allocated its devices may leave first
            if status.get("allocation") and not users and not (is_shared or self.checks.excused):
                self.problem(f"claim {name} has devices, and no pod uses it")
        for each in self.server.all("ConfigMap"):
            [owner] = each["metadata"]["ownerReferences"]
            is_kept = owner["uid"] in pods and each["metadata"]["name"] in self.checks.kept
            if owner["uid"] not in may and not is_kept:
                self.problem(f"ConfigMap {each['metadata']['name']} has no bound pod")
        self._check_volumes(pods, may)
        self._check_devices(pods, may)

    def _check_claims(self, pod: Object, uid: str) -> None:
        """A pod that is bound has what it needs."""
        where, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        claims = [each["resourceClaimName"] for each in pod["spec"].get("resourceClaims", ())]
        if EXTENDED in pod["metadata"].get("annotations", {}):
            made = pod["status"].get("extendedResourceClaimStatus") or {}
            claims.append(made.get("resourceClaimName", ""))
        for each in claims:
            claim = self.server.stored("ResourceClaim", where, each) or {}
            status = claim.get("status") or {}
            users = [each["uid"] for each in status.get("reservedFor") or ()]
            if uid not in users or not status.get("allocation"):
                self.problem(f"{name} is bound, and has no devices of the claim {each}")
        for each in claims_of(pod):
            disk = self.server.stored("PersistentVolumeClaim", where, each)
            if disk is not None and not disk["spec"].get("volumeName"):
                self.problem(f"{name} is bound, and the claim {each} has no volume")

    def _check_volumes(self, pods: dict[str, Object], may: set[str]) -> None:
        used = {
            each["persistentVolumeClaim"]["claimName"]
            for uid, pod in pods.items()
            for each in pod["spec"].get("volumes", ())
            if uid in may
        }
        for claim in self.server.all("PersistentVolumeClaim"):
            metadata = claim["metadata"]
            is_bound = bool(claim["spec"].get("volumeName"))
            is_sent = SELECTED_NODE in metadata.get("annotations", {}) and not is_bound
            if is_sent and metadata["name"] not in used:
                self.problem(f"claim {metadata['name']} has a node, and no pod uses it")

    def _check_devices(self, pods: dict[str, Object], may: set[str]) -> None:
        used: set[str] = set()
        held = {groups_of(each)[0]: each for each in self.server.all("Pod") if is_reservation(each)}
        for uid, pod in pods.items():
            groups, name = groups_of(pod), pod["metadata"]["name"]
            used |= set(groups)
            if groups and uid not in may:
                self.problem(f"{name} has the labels of {groups}, and waits")
            if not groups or not pod["spec"].get("nodeName") or uid in self.checks.unclear:
                continue
            devices = [device_of(held[each]) if each in held else "none" for each in groups]
            prefix = pod["metadata"]["annotations"][keys.SHARED_GPU_CONFIG_MAP_ANNOTATION]
            config = self.server.stored("ConfigMap", "team", f"{prefix}-0")
            seen = "nothing" if config is None else config["data"][keys.VISIBLE_DEVICES_ENV]
            if seen.split(",") != devices and sorted(seen.split(",")) != sorted(devices):
                self.problem(f"{name} sees {seen}, and its devices are {devices}")
        self.problems += [f"{each} is reserved for nothing" for each in held if each not in used]
        self.problems += self.controllers.problems
        self.controllers.problems.clear()

    def _check_state(self) -> None:
        """All pods are gone: no course, no timer and no state is left."""
        if requests := list(self.server.all("BindRequest")):
            self.problem(f"BindRequests are left: {requests}")
        for process in self.processes:
            self.problems += [f"{process.name}: {each}" for each in process.state()]
            self.problems += process.decider.problems
            if process.courses.next() is not None:
                self.problem(f"{process.name}: a course waits until {process.courses.next()}")
            if process.writer.waiting or process.writer.flying:
                self.problem(f"{process.name}: writes are under way")
            if process.decider.assumed:
                self.problem(f"{process.name}: assumptions are left: {process.decider.assumed}")


def node(name: str) -> Object:
    return {"kind": "Node", "metadata": {"name": name}, "spec": {}, "status": {}}


def main() -> None:
    for seed in map(int, sys.argv[1:]):
        world = World(seed)
        world.run()
        print("\n".join((f"seed {seed}", *world.trace, *world.problems)))


if __name__ == "__main__":
    main()
