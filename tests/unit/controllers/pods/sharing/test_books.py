"""After any delays, losses, rejections and repetitions, the records of each device match its pods.

A small world with an API server, kubelets and reservation programs. Answers come in random order,
get lost before or after the write was applied, or are rejections. Pods are created and deleted, and
processes are killed and restarted. The seed is in the name of the test.
"""

import random
from collections import deque

import pytest

from fakes.api_server import ApiServer, Event, Object
from fakes.played import Scheduler, Steps
from kai.api import keys
from kai.api.writes import Outcome, Read, Result, Write
from kai.controllers.courses import Courses
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.sharing.device_maps import DeviceMaps
from kai.controllers.pods.sharing.gpu_group import GpuUser
from kai.controllers.pods.sharing.reservation_pod import Reservations
from kai.controllers.pods.sharing.reserving import SharedDevices

NAMESPACE = "kai-resource-reservation"
STAMP = "2026-01-01T00:00:00Z"
NODES = {"n1": 2, "n2": 1}
BOUND_AT_MOST = 2  # pods on a device
STEPS = 400


def user_of(pod: Object) -> GpuUser:
    """As the feed of the engine shows it."""
    metadata, labels = pod["metadata"], pod["metadata"].get("labels", {})
    return GpuUser(
        f"{metadata['namespace']}/{metadata['name']}",
        metadata["uid"],
        pod["spec"].get("nodeName", ""),
        sorted(each for key, each in labels.items() if key.startswith(keys.GPU_GROUP_LABEL)),
        pod["status"]["phase"],
        is_leaving="deletionTimestamp" in metadata,
        is_reservation=metadata["namespace"] == NAMESPACE,
        device=metadata.get("annotations", {}).get(keys.RESERVED_DEVICE_ANNOTATION, ""),
    )


class Server(ApiServer):
    """An API server with users, kubelets and reservation programs. `pods`: by name."""

    def __init__(self) -> None:
        super().__init__()
        self.pods: dict[str, GpuUser] = {}
        self.events = deque[GpuUser]()
        self.listeners.append(self._changed)
        self.numbers = 0
        self.problems: list[str] = []

    def _changed(self, event: Event) -> None:
        if event.kind == "Pod":
            user = user_of(event.item)
            if event.type == "DELETED":
                del self.pods[user.name]
                user = GpuUser(user.name)
            else:
                self.pods[user.name] = user
            self.events.append(user)

    def create_pod(self) -> None:
        self.numbers += 1
        name = f"p{self.numbers}"
        annotations = {keys.SHARED_GPU_CONFIG_MAP_ANNOTATION: f"{name}-shared"}
        env = [{"name": keys.VISIBLE_DEVICES_ENV, "valueFrom": {"configMapKeyRef": {}}}]
        metadata = {"namespace": "team", "name": name, "annotations": annotations}
        spec = {"containers": [{"name": "main", "env": env}]}
        status = {"phase": "Pending"}
        self.put({"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})

    def end_pod(self, name: str) -> None:
        self.remove("Pod", *name.split("/"))
        self.collect_garbage()

    # ---- kubelets and reservation programs -------------------------------------------------------

    def devices_of(self, node: str) -> list[str]:
        held = [each.device for each in self.pods.values() if each.device and each.node == node]
        if len(held) != len(set(held)):
            self.problems.append(f"a device of {node} is held twice: {held}")
        return [each for n in range(NODES[node]) if (each := f"{node}-{n}") not in held]

    def run(self, pod: GpuUser) -> None:
        """A kubelet ends a pod or starts it, or rejects it if no device is free; the program of a
        reservation answers."""
        if pod.is_leaving:
            self.end_pod(pod.name)
        elif pod.node and pod.phase == "Pending":
            reservations = [each for each in self.pods.values() if each.is_reservation]
            holders = [
                each for each in reservations if each.node == pod.node and each.phase == "Running"
            ]
            is_full = pod.is_reservation and len(holders) >= NODES[pod.node]
            phase = {"phase": "Failed" if is_full else "Running"}
            self.change("Pod", *pod.name.split("/"), {"status": phase})
        elif pod.is_reservation and pod.phase == "Running" and not pod.device:
            device = {keys.RESERVED_DEVICE_ANNOTATION: self.devices_of(pod.node)[0]}
            self.change("Pod", *pod.name.split("/"), {"metadata": {"annotations": device}})

    def wrong(self) -> list[str]:
        """The records that are wrong."""
        found = list(self.problems)
        held = {each.groups[0]: each for each in self.pods.values() if each.is_reservation}
        used = set()
        for pod in self.pods.values():
            if pod.is_reservation or not pod.node:
                continue
            used |= set(pod.groups)
            devices = [held[each].device if each in held else "none" for each in pod.groups]
            config = self.get("ConfigMap", *f"{pod.name}-shared-0".split("/"))
            assert config is not None
            seen = config["data"][keys.VISIBLE_DEVICES_ENV]
            if seen != ",".join(devices):
                found.append(f"{pod.name} sees {seen}, and its device is {devices}")
        found += [f"{group} is reserved for nothing" for group in held if group not in used]
        return found


class Process(Scheduler):
    """The part of kai that handles shared devices."""

    def __init__(self, server: Server) -> None:
        courses = Courses()
        reservations = Reservations(image="kai", timeout=20.0)
        self.devices = SharedDevices(courses, lambda problem: None, reservations)
        maps = DeviceMaps(self.devices.of)
        super().__init__(courses=courses, reservers=[self.devices, maps])
        self.server = server
        server.events.clear()
        listed = list(server.pods.values())
        self.known = {each.name: each for each in listed}
        self.flying: list[Write] = []
        self.reads: list[Read] = []
        self.groups: dict[str, str] = {}  # of pods that are on their way, by pod
        self.number = 0
        self.assumed: dict[int, str] = {}  # these pods, by the numbers of their assumptions
        self.devices.saw(listed, acts=True)
        self.go_on(0)

    def go_on(self, now: float) -> None:
        self.do(self.tick(now))

    def do(self, steps: Steps) -> None:
        self.flying += steps.writes
        self.reads += steps.look
        for number in steps.forget:
            self.groups.pop(self.assumed.pop(number), None)

    def take_in(self, now: float, user: GpuUser) -> None:
        before = self.known.pop(user.name, None)
        if user.uid:
            self.known[user.name] = user
        if user.node:
            self.groups.pop(user.name, None)
        self.courses.now = now
        if user.groups or (before is not None and before.groups):
            self.devices.saw([user], acts=True)
        if not user.uid and before is not None:
            self.pods.pod_gone(user.name, before.uid)
            self.devices.pod_gone(user.name, before.uid)
            self.groups.pop(user.name, None)
        self.go_on(now)

    def decide(self, now: float, chance: random.Random) -> None:
        """Waiting pods get a place on a device with room, or on a new one."""
        for pod in list(self.known.values()):
            if pod.node or pod.is_reservation or pod.name in self.groups:
                continue
            place = self.place(chance)
            if place is None:
                break
            node, group = place
            self.groups[pod.name] = group
            spec = {
                "receivedResourceType": "Fraction",
                "receivedGPU": {"count": 1, "portion": "0.50"},
                "selectedGPUGroups": [group],
            }
            self.number += 1
            number = self.number
            self.assumed[number] = pod.name
            binding = Binding(pod.name, pod.uid, node, number, "pg", spec=spec)
            self.do(self.begin(now, STAMP, [binding], ()))

    def place(self, chance: random.Random) -> tuple[str, str] | None:
        """As the engine decides: from its knowledge, including its own decisions."""
        users: dict[str, int] = {}
        for pod in self.known.values():
            if not pod.is_reservation and pod.groups and pod.phase in ("Pending", "Running"):
                users[pod.groups[0]] = users.get(pod.groups[0], 0) + 1
        for group in self.groups.values():
            users[group] = users.get(group, 0) + 1
        found = [(group.split(":")[0], group) for group, n in users.items() if n < BOUND_AT_MOST]
        for node, count in NODES.items():
            if sum(1 for each in users if each.startswith(f"{node}:")) < count:
                found.append((node, f"{node}:{chance.randrange(10**9)}"))
        return chance.choice(found) if found else None


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now, self.calm = 0.0, False
        self.server = Server()
        self.process = Process(self.server)

    def step(self) -> None:
        chance, server, process = self.chance, self.server, self.process
        self.now += chance.choice((0.01, 0.1, 1.0))
        what = chance.random()
        if what < 0.06 and not self.calm:
            server.create_pod()
        elif what < 0.10 and not self.calm and server.pods:
            pod = server.pods[chance.choice(sorted(server.pods))]
            if not pod.is_reservation or chance.random() < 0.1:
                server.end_pod(pod.name)
        elif what < 0.11 and not self.calm:
            self.process = Process(server)  # the previous one was killed
        elif what < 0.35 and server.events:
            process.take_in(self.now, server.events.popleft())
        elif what < 0.65 and process.flying:
            self.send(process.flying.pop(self.next(process.flying)))
        elif what < 0.75 and process.reads:
            self.read(process.reads.pop(0))
        elif what < 0.85 and server.pods:
            server.run(server.pods[chance.choice(sorted(server.pods))])
        elif what < 0.92:
            process.decide(self.now, chance)
        else:
            process.go_on(self.now)

    def next(self, writes: list[Write]) -> int:
        """Any of the writes, but writes with one key in order."""
        key = self.chance.choice(writes).key
        if not key:
            return self.chance.choice([i for i, each in enumerate(writes) if not each.key])
        return next(i for i, each in enumerate(writes) if each.key == key)

    def send(self, write: Write) -> None:
        process, fate = self.process, 1.0 if self.calm else self.chance.random()
        if fate < 0.05:
            outcome = Outcome(Result.LOST)
        elif fate < 0.10:
            self.server.send(write)
            outcome = Outcome(Result.LOST)
        elif fate < 0.15:
            outcome = Outcome(Result.FAILED, 503, "ServiceUnavailable", "busy")
        elif fate < 0.17:
            outcome = Outcome(Result.REFUSED, 403, "Forbidden", "policy says no")
        else:
            outcome = self.server.send(write)
        process.do(process.answered(self.now, write, outcome))

    def read(self, read: Read) -> None:
        self.process.do(self.process.seen(self.now, read, self.server.find(read)))


@pytest.mark.parametrize("seed", range(120))
def test_random_faults_end_in_a_consistent_state(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.calm = True
    for _ in range(4 * STEPS):
        world.step()
    assert world.server.wrong() == []
    pods = world.server.pods.values()
    waits = [each.name for each in pods if not each.node]
    room = BOUND_AT_MOST * sum(NODES.values())
    bound = sum(1 for each in pods if each.node and not each.is_reservation)
    assert not waits or bound == room, f"{waits} wait, and {bound} of {room} places are taken"


@pytest.mark.parametrize("seed", range(40))
def test_no_state_remains_of_deleted_pods(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.calm = True
    for pod in list(world.server.pods.values()):
        if not pod.is_reservation:
            world.server.end_pod(pod.name)
    for _ in range(4 * STEPS):
        world.step()
    process = world.process
    assert world.server.pods == {}
    assert (len(process.devices), process.under_way, process.sent) == (0, 0, [])
    kept = {**vars(process.devices), **vars(process.devices._groups)}.items()
    assert [name for name, each in kept if isinstance(each, (dict, set)) and each] == []
    assert process.courses.next() is None
