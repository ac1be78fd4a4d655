"""Devices are reserved for the pods that share them, and released with the last pod."""

from collections.abc import Mapping
from typing import Any

import pytest

from fakes.played import Reserving
from fakes.writes import BUSY, DONE, LOST, body_of
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.sharing.gpu_group import LOOK_AGAIN_S, GpuUser
from kai.controllers.pods.sharing.reservation_pod import Reservations, reservation_name
from kai.controllers.pods.sharing.reserving import SharedDevices
from kai.controllers.unshown import READ_AFTER_S

THERE = Outcome(Result.CONFLICT, 409, "AlreadyExists", "it is there")
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "quota exceeded")
NAMESPACE = "kai-resource-reservation"
LOST_DEVICE = (
    "a pod on a shared GPU is deleted",
    {"pod": "team/a", "why": "its GPU reservation on node n1 no longer exists"},
)


def binding(pod: str = "a", *groups: str, node: str = "n1") -> Binding:
    spec = {"receivedResourceType": "Fraction", "selectedGPUGroups": list(groups or ("g",))}
    return Binding(f"team/{pod}", f"uid-{pod}", node, 1, "pg", spec=spec)


def reservation(group: str = "g", device: str = "", node: str = "n1", **more: Any) -> GpuUser:
    name = f"{NAMESPACE}/{reservation_name(node, group)}"
    options = {"phase": "Running", "device": device, "is_reservation": True, **more}
    return GpuUser(name, options.pop("uid", f"uid-of-{group}"), node, (group,), **options)


def consumer(pod: str = "a", *groups: str, phase: str = "Running") -> GpuUser:
    node = "n1" if phase == "Running" else ""
    return GpuUser(f"team/{pod}", f"uid-{pod}", node, groups or ("g",), phase)


class Harness(Reserving):
    """Shared devices, and the last steps."""

    def __init__(self, *users: GpuUser, acts: bool = True, copies_labels: bool = True) -> None:
        super().__init__()
        self.now = 0.0
        self.problems: list[tuple[str, Mapping[str, str]]] = []
        reservations = Reservations(image="kai:1")
        self.devices = SharedDevices(
            self.courses,
            lambda *each: self.problems.append(each),
            reservations,
            copies_labels=copies_labels,
        )
        self.devices.saw(users, acts=acts)
        self.go_on()

    def go_on(self) -> None:
        self.ready.clear()
        self.failed.clear()
        self.given = self.steps(self.now)

    def give(self, *bindings: Binding, **pod: Any) -> None:
        for each in bindings:
            self.start(self.devices, each, {"spec": pod})
        self.courses.now = self.now
        self.go_on()

    def saw(self, *users: GpuUser) -> None:
        self.devices.saw(users, acts=True)
        self.go_on()

    def gone(self, user: GpuUser) -> None:
        self.saw(GpuUser(user.name))

    def answer(self, outcome: Outcome, write: Write | None = None) -> None:
        write = write or self.write
        self.ready.clear()
        self.failed.clear()
        self.given = self.answered(self.now, write, outcome)

    def read(self, found: Any) -> None:
        [read] = self.given.look
        self.given = self.seen(self.now, read, found)

    def tick(self, now: float) -> None:
        self.now = now
        self.go_on()

    def take_back(self, binding: Binding) -> None:
        super().take_back(binding)
        self.go_on()

    @property
    def write(self) -> Write:
        [write] = self.given.writes
        return write

    @property
    def writes(self) -> list[str]:
        return [f"{each.verb} {each.namespace}/{each.name}" for each in self.given.writes]

    @property
    def why(self) -> str:
        [why] = self.failed
        return why


def giving(*bindings: Binding, **pod: Any) -> Harness:
    """Bindings, by default of pod a, wait for a device."""
    harness = Harness()
    harness.give(*(bindings or (binding(),)), **pod)
    return harness


def with_labels() -> Harness:
    """The labels of pod a are written before it is bound."""
    harness = Harness(copies_labels=False)
    harness.give(binding())
    harness.saw(reservation(device="GPU-7"))
    return harness


def held(pod: str = "a", *, acts: bool = True) -> tuple[Harness, GpuUser]:
    """A running pod on a reserved device."""
    one = reservation(device="GPU-7")
    return Harness(one, consumer(pod), acts=acts), one


NAME = reservation_name("n1", "g")
CREATE, DELETE = f"create {NAMESPACE}/{NAME}", f"delete {NAMESPACE}/{NAME}"


def test_the_first_pod_of_a_group_makes_the_reservation_and_waits_for_its_device() -> None:
    harness = giving(binding(), tolerations=[{"key": "gpu", "operator": "Exists"}])
    body = harness.write.body
    assert isinstance(body, dict)
    assert harness.writes == [CREATE]
    assert body["spec"]["nodeName"] == "n1"
    assert body["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    harness.answer(DONE)
    harness.saw(reservation(phase="Pending"))
    assert (harness.writes, harness.ready) == ([], [])
    harness.saw(reservation(device="GPU-7"))
    assert harness.ready == ["team/a"]
    assert harness.devices.of(binding()) == ["GPU-7"]


def test_later_pods_wait_for_the_same_reservation() -> None:
    harness = giving(binding("a"), binding("b"))
    assert harness.writes == [CREATE]
    harness.saw(reservation(device="GPU-7"))
    assert harness.ready == ["team/a", "team/b"]
    harness.give(binding("c"))
    assert (harness.writes, harness.ready) == ([], ["team/c"])


def test_a_pod_of_several_devices_waits_for_all_of_them() -> None:
    harness = Harness()
    two = binding("a", "g2", "g1")
    harness.give(two)
    assert len(harness.writes) == 2
    harness.saw(reservation("g1", "GPU-1"))
    assert harness.ready == []
    harness.saw(reservation("g2", "GPU-2"))
    assert harness.ready == ["team/a"]
    assert harness.devices.of(two) == ["GPU-2", "GPU-1"]


def test_an_existing_reservation_is_waited_for() -> None:
    harness = giving()
    harness.answer(THERE)
    assert (harness.writes, harness.failed) == ([], [])
    harness.saw(reservation(device="GPU-7"))
    assert harness.ready == ["team/a"]


def test_a_reservation_without_an_answer_fails_only_its_own_pods() -> None:
    harness = giving(binding("a", "silent"))
    harness.saw(reservation("silent"))
    harness.now = 10
    harness.give(binding("b", "fine"))
    harness.saw(reservation("fine", "GPU-2"))
    assert harness.ready == ["team/b"]
    assert harness.courses.next() == 40
    harness.tick(40)
    name = reservation_name("n1", "silent")
    assert harness.writes == [f"delete {NAMESPACE}/{name}"]
    assert harness.write.body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "uid-of-silent"},
    }
    assert harness.why == (
        "failed to reserve GPUs for pod <team/a> in gpu group <silent>: failed waiting for GPU"
        f" reservation pod to allocate: {NAMESPACE}/{name}"
    )


def test_the_timeout_starts_when_the_creation_is_sent() -> None:
    harness = giving()
    created = harness.write
    harness.tick(30)
    harness.give(binding("b"))
    harness.tick(60)
    assert (harness.failed, harness.writes, harness.courses.next()) == ([], [], None)
    harness.answer(DONE, created)
    harness.saw(reservation())
    assert harness.courses.next() == 100
    harness.tick(99)
    assert harness.failed == []
    harness.tick(100)
    assert len(harness.failed) == 2


def test_an_accepted_reservation_that_no_watch_shows_is_looked_for() -> None:
    """The answer was not true: it is created again."""
    harness = giving()
    harness.answer(DONE)
    harness.tick(READ_AFTER_S)
    [read] = harness.given.look
    assert (read.kind, read.namespace) == ("Pod", NAMESPACE)
    harness.read([])
    assert harness.writes == [CREATE]
    harness.answer(DONE)
    harness.saw(reservation(device="GPU-7"))
    assert harness.ready == ["team/a"]


def test_an_accepted_reservation_that_exists_is_not_created_twice() -> None:
    harness = giving()
    harness.answer(DONE)
    harness.tick(READ_AFTER_S)
    there = [{"metadata": {"namespace": NAMESPACE, "name": NAME}}]
    harness.read(there)
    assert (harness.writes, harness.failed) == ([], [])
    harness.tick(30)
    assert (harness.writes, harness.failed) == ([], [])


def test_an_accepted_deletion_that_no_watch_shows_is_repeated() -> None:
    """Otherwise no device of the node would be reserved any more."""
    harness, one = held()
    harness.gone(consumer())
    assert harness.writes == [DELETE]
    for start in (0, READ_AFTER_S):
        harness.answer(DONE)
        harness.tick(start + READ_AFTER_S)
        assert harness.writes == [DELETE]
    harness.gone(one)
    assert harness.courses.next() is None


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_reservation_that_changes_while_it_is_deleted_is_not_deleted_twice(phase: str) -> None:
    """Its program may report the device at that moment."""
    harness = Harness(reservation(phase="Pending"))
    assert harness.writes == [DELETE]
    harness.saw(reservation(phase=phase, device="GPU-7"))
    assert harness.writes == []
    harness.give(binding())
    assert harness.ready == [], "the device is about to be released"


def test_a_creation_whose_answer_is_late_delays_no_deletion() -> None:
    harness = Harness()
    harness.give(binding())
    created = harness.write
    harness.saw(reservation(phase="Pending"))
    harness.answer(LOST, created)
    harness.take_back(binding())
    assert harness.writes == [DELETE]
    harness.tick(READ_AFTER_S - 1)
    assert harness.writes == []


def test_pods_that_wait_too_long_fail_while_nothing_may_be_deleted() -> None:
    """Another process may lead: the reservation is deleted after all lists were read again."""
    harness = Harness()
    harness.give(binding())
    harness.saw(reservation())
    harness.devices.lead_again()
    harness.tick(40)
    assert harness.why.startswith("failed to reserve GPUs for pod <team/a>")
    assert harness.writes == []
    harness.saw()
    assert harness.writes == [DELETE]


def test_no_timer_is_left_once_all_pods_have_devices() -> None:
    harness = giving()
    harness.saw(reservation())
    assert harness.courses.next() == 40
    harness.saw(reservation(device="GPU-7"))
    assert harness.courses.next() is None


def test_the_timeout_of_a_removed_pod_does_not_affect_the_next() -> None:
    harness = Harness(reservation())
    first = binding("a")
    harness.give(first)
    harness.take_back(first)
    assert harness.courses.next() is None
    harness.now = 39
    harness.give(binding("b"))
    assert harness.courses.next() == 79


def test_a_pod_with_its_device_does_not_time_out() -> None:
    harness = giving()
    harness.saw(reservation(device="GPU-7"))
    harness.tick(41)
    assert (harness.failed, harness.writes) == ([], [])


@pytest.mark.parametrize("outcome", [BUSY, LOST])
def test_a_creation_that_did_not_happen_is_repeated(outcome: Outcome) -> None:
    harness = giving()
    harness.answer(outcome)
    assert harness.writes == []
    harness.tick(1)
    assert harness.writes == [CREATE]


def test_a_creation_that_is_refused_fails_the_pods_that_wait_for_it() -> None:
    harness = giving()
    harness.answer(REFUSED)
    reason = "failed to reserve GPUs for pod <team/a> in gpu group <g>: quota exceeded"
    assert harness.why == reason


def test_while_a_scaling_pod_waits_no_device_is_reserved() -> None:  # spec 3 B10
    harness = Harness(reservation("held", "GPU-7"), consumer("old", "held"))
    harness.devices.scales_up(True)
    harness.give(binding())
    assert harness.writes == []
    assert harness.why == (
        "failed to reserve GPUs for pod <team/a> in gpu group <g>:"
        " cluster is scaling up, could not create reservation pod"
    )
    harness.take_back(binding())
    assert len(harness.devices) == 1
    harness.give(binding("b", "held"))
    assert harness.ready == ["team/b"], "a device that is reserved can be shared"
    harness.devices.scales_up(False)
    harness.give(binding())
    assert harness.writes == [CREATE]


def test_a_process_that_lost_its_lease_writes_nothing_on_the_pod() -> None:
    harness = giving()
    harness.answer(Outcome(Result.FAILED, 0, NOT_LEADING, "another process leads"))
    assert (harness.why, harness.writes) == ("not leading", [])


def test_a_process_that_lost_its_lease_deletes_no_reservation_that_was_made() -> None:
    """The next leader may be about to bind the pod to it."""
    harness = with_labels()
    harness.answer(Outcome(Result.FAILED, 0, NOT_LEADING, "another process leads"))
    assert (harness.why, harness.writes) == ("not leading", [])
    harness.devices.lead_again()
    harness.devices.saw([], acts=False)
    harness.go_on()
    assert harness.writes == []
    harness.saw()
    assert harness.writes == [DELETE], "once all lists were read again"


def test_a_reservation_that_is_replaced_at_once_fails_the_binding() -> None:
    """The ConfigMaps of the pod name the device of the first one."""
    harness = giving()
    one = reservation(device="GPU-7")
    harness.saw(one)
    harness.saw(GpuUser(one.name), reservation(device="GPU-8", uid="another"))
    assert harness.why.endswith("the GPU reservation pod no longer exists")


def test_a_reservation_that_the_node_rejects_is_deleted_and_its_pods_fail_at_once() -> None:
    harness = giving()
    harness.saw(reservation(phase="Failed"))
    assert harness.writes == [DELETE]
    assert harness.why.endswith(f"GPU reservation pod {NAMESPACE}/{NAME} has failed on node n1")


def test_the_last_pod_releases_the_device() -> None:
    harness, one = held("a")
    harness.saw(consumer("b"))
    harness.gone(consumer("a"))
    assert harness.writes == []
    harness.saw(consumer("b", phase="Succeeded"))
    assert harness.writes == [DELETE]
    harness.saw(consumer("b", phase="Succeeded"))
    assert harness.writes == []  # it is on its way
    harness.gone(one)
    harness.gone(consumer("b"))
    assert len(harness.devices) == 0


def test_a_bound_pod_that_the_watch_lacks_keeps_its_reservation() -> None:
    harness = giving()
    harness.saw(reservation(device="GPU-7"))
    harness.keep(binding())
    harness.saw(reservation(device="GPU-7", is_leaving=False))
    assert harness.writes == []
    harness.devices.pod_gone("team/a", "uid-of-another")
    harness.go_on()
    assert harness.writes == []
    harness.devices.pod_gone("team/a", "uid-a")
    harness.go_on()
    assert harness.writes == [DELETE]


def test_a_pod_that_is_gone_before_the_answer_to_its_binding_keeps_no_reservation() -> None:
    """Its reservation stayed, and with it a GPU: no watch shows twice that the pod is gone."""
    harness, _ = held()
    harness.give(binding("b"))
    assert harness.ready == ["team/b"]
    harness.saw(GpuUser("team/a"))
    harness.devices.pod_gone("team/b", "uid-b")
    harness.keep(binding("b"))
    harness.go_on()
    assert harness.writes == [DELETE]


def test_a_pod_that_ends_before_the_answer_to_its_binding_keeps_no_reservation() -> None:
    """Its reservation stayed until something else happened to its group."""
    harness = Harness()
    harness.give(binding())
    harness.saw(reservation(device="GPU-7"))
    harness.saw(consumer("a", phase="Succeeded"))
    assert harness.writes == []
    harness.keep(binding())
    harness.go_on()
    assert harness.writes == [DELETE]


def test_a_failed_binding_releases_a_device_that_no_other_pod_uses() -> None:
    harness = giving(binding("a"), binding("b"))
    harness.saw(reservation(device="GPU-7"))
    harness.take_back(binding("a"))
    assert harness.writes == []
    harness.take_back(binding("b"))
    assert harness.writes == [DELETE]


def test_a_binding_that_fails_early_leaves_no_reservation() -> None:
    harness = giving()
    created = harness.write
    harness.take_back(binding())
    assert harness.writes == []
    harness.answer(DONE, created)
    harness.saw(reservation(phase="Pending"))
    assert harness.writes == [DELETE]


def test_a_pod_gets_a_new_reservation_while_the_old_one_is_deleted() -> None:
    harness, one = held()
    harness.gone(consumer())
    assert harness.writes == [DELETE]
    harness.give(binding("b"))
    assert (harness.writes, harness.ready) == ([], [])
    harness.gone(one)
    assert harness.writes == [CREATE]
    harness.saw(reservation(device="GPU-8", uid="another"))
    assert harness.ready == ["team/b"]


def test_a_new_group_waits_for_a_device_that_is_being_released() -> None:
    """The kubelet assigns the device again only when the pod is gone."""
    harness, one = held()
    harness.gone(consumer())
    harness.give(binding("b", "fresh"))
    assert harness.writes == []
    harness.gone(one)
    assert harness.writes == [f"create {NAMESPACE}/{reservation_name('n1', 'fresh')}"]


def test_a_failed_deletion_is_repeated() -> None:
    harness, _ = held()
    harness.gone(consumer())
    harness.answer(BUSY)
    harness.tick(1)
    assert harness.writes == [DELETE]


def test_orphans_of_an_earlier_process_are_deleted_after_all_lists() -> None:
    orphan = reservation("orphan", "GPU-1")
    harness = Harness(orphan, reservation("used", "GPU-2"), consumer("a", "used"), acts=False)
    assert harness.writes == []
    harness.devices.request_changed("team/b", ["wanted"])
    harness.go_on()
    harness.saw(reservation("wanted", "GPU-3"))
    assert harness.writes == [f"delete {orphan.name}"]


def test_a_finished_bind_request_releases_its_reservation() -> None:
    harness = Harness()
    harness.devices.request_changed("team/a", ["g"])
    harness.devices.request_changed("team/b", ["g"])
    harness.saw(reservation(device="GPU-7"))
    assert harness.writes == []
    harness.devices.request_changed("team/a", [])
    harness.go_on()
    assert harness.writes == []
    harness.devices.request_changed("team/b", [])
    harness.go_on()
    assert harness.writes == [DELETE]


def test_pods_of_an_unreserved_device_are_deleted() -> None:
    """A device without a reservation may be assigned to other pods, so its pods are deleted (spec 6
    C57)."""
    harness, one = held("a")
    harness.saw(consumer("waits", phase="Pending"))
    harness.gone(one)
    [read] = harness.given.look
    assert (read.namespace, read.selector) == (NAMESPACE, "runai-gpu-group=g")
    harness.read([])
    assert [f"{each.verb} {each.name}" for each in harness.given.writes] == ["delete a"]
    assert harness.problems == [LOST_DEVICE]


def test_a_pod_that_loses_two_devices_is_logged_once() -> None:
    """It was logged for each device, and every 5 s until its containers had ended."""
    devices = [reservation(group, device=f"GPU-{group}") for group in ("g", "h")]
    harness = Harness(*devices, consumer("a", "g", "h"))
    harness.saw(*(GpuUser(each.name) for each in devices))
    for read in harness.given.look:
        harness.given = harness.seen(harness.now, read, [])
    harness.tick(LOOK_AGAIN_S)
    for read in harness.given.look:
        harness.given = harness.seen(harness.now, read, [])
    assert harness.writes == ["delete team/a"]  # a deletion may have failed
    assert harness.problems == [LOST_DEVICE]
    harness.gone(consumer("a"))
    again = consumer("a")._replace(uid="another")
    harness.saw(reservation(device="GPU-g"), again)
    harness.gone(devices[0])
    harness.read([])
    assert harness.problems == [LOST_DEVICE] * 2


def test_a_reservation_missing_only_from_the_watch_deletes_no_pods() -> None:
    """A list shows pods in the order of their namespaces."""
    harness = Harness(consumer("a"))
    there = [{"metadata": {"namespace": NAMESPACE, "name": NAME}}]
    harness.read(there)
    assert harness.writes == []
    harness.tick(LOOK_AGAIN_S)
    [read] = harness.given.look
    assert read.selector == "runai-gpu-group=g"
    harness.saw(reservation(device="GPU-7"))
    harness.given = harness.seen(harness.now, read, [])  # from before
    assert harness.writes == []


def test_a_reservation_deleted_before_the_bind_fails_the_binding() -> None:
    harness = giving()
    one = reservation(device="GPU-7")
    harness.saw(one)
    harness.gone(one)
    assert harness.why.endswith("the GPU reservation pod no longer exists")


def test_an_older_server_gets_the_labels_by_a_patch_before_the_pod_is_bound() -> None:
    harness = with_labels()
    assert (harness.ready, harness.writes) == ([], ["patch team/a"])
    assert harness.write.body == {"metadata": {"uid": "uid-a", "labels": {"runai-gpu-group": "g"}}}
    labelling = harness.write
    harness.saw(consumer("a", phase="Pending"))
    harness.answer(DONE, labelling)
    assert harness.ready == ["team/a"]
    harness.take_back(binding())
    assert harness.write.body == {"metadata": {"uid": "uid-a", "labels": {"runai-gpu-group": None}}}


def test_labels_that_an_earlier_try_has_left_are_replaced() -> None:
    """A pod with two devices has a label for each: with those of two tries it had four."""
    harness = Harness(copies_labels=False)
    earlier = {"runai-gpu-group/old": "old", "app": "web"}
    harness.start(harness.devices, binding(), {"metadata": {"labels": earlier}})
    harness.go_on()
    harness.saw(reservation(device="GPU-7"))
    labels = {"runai-gpu-group/old": None, "runai-gpu-group": "g"}
    assert body_of(harness.write)["metadata"]["labels"] == labels


@pytest.mark.parametrize("first", [DONE, BUSY])
def test_labels_are_removed_until_that_succeeds(first: Outcome) -> None:
    """A pod that waits with a label keeps the reservation of its group."""
    harness = with_labels()
    labelling = harness.write
    if first is DONE:
        harness.answer(DONE, labelling)
        harness.take_back(binding())
    else:
        harness.answer(BUSY, labelling)
    removal = next(each for each in harness.given.writes if each.subresource == "status")
    harness.answer(BUSY, removal)
    harness.tick(harness.now + 1.0)
    [again] = [each for each in harness.given.writes if each.subresource == "status"]
    assert again == removal
    harness.answer(DONE, again)
    assert len(harness) == 0


def test_a_request_without_groups_fails() -> None:
    harness = Harness()
    one = Binding("team/a", "uid-a", "n1", 1, "pg", spec={"receivedResourceType": "Fraction"})
    assert harness.devices.needs(one)
    harness.give(one)
    assert harness.why == "no SelectedGPUGroups for fractional pod: invalid binding request"
