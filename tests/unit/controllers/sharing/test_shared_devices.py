"""Devices are reserved for the pods that share them, and released with the last pod."""

from __future__ import annotations

from typing import Any

import pytest

from kai.api.writes import NOT_LEADING, Outcome, Read, Result, Write
from kai.controllers.one_binding import Binding
from kai.controllers.preparing import Given
from kai.controllers.sharing.reservation_pod import Reservations, reservation_name
from kai.controllers.sharing.reserving import LOOK_AGAIN_S, GpuUser, SharedDevices

DONE = Outcome(Result.DONE, 201)
THERE = Outcome(Result.CONFLICT, 409, "AlreadyExists", "it is there")
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "quota exceeded")
BUSY = Outcome(Result.FAILED, 503, "ServiceUnavailable", "busy")
LOST = Outcome(Result.LOST)
NAMESPACE = "kai-resource-reservation"


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


class Desk:
    """The giver, and its last steps."""

    def __init__(self, *users: GpuUser, acts: bool = True, copies_labels: bool = True) -> None:
        self.now = 0.0
        reservations = Reservations(image="kai:1")
        self.devices = SharedDevices(reservations, copies_labels=copies_labels)
        self.given = self.devices.saw(0, users, acts=acts)

    def give(self, *bindings: Binding, **pod: Any) -> None:
        self.given = Given()
        for each in bindings:
            given = self.devices.give(self.now, each, {"spec": pod})
            self.given.writes += given.writes
            self.given.ready += given.ready
            self.given.failed += given.failed

    def saw(self, *users: GpuUser) -> None:
        self.given = self.devices.saw(self.now, users, acts=True)

    def gone(self, user: GpuUser) -> None:
        self.saw(GpuUser(user.name))

    def answer(self, outcome: Outcome, write: Write | None = None) -> None:
        self.given = self.devices.answered(self.now, write or self.write, outcome)

    def tick(self, now: float) -> None:
        self.now = now
        self.given = self.devices.tick(now)

    def take_back(self, binding: Binding) -> None:
        self.given = self.devices.take_back(binding)

    @property
    def write(self) -> Write:
        [write] = self.given.writes
        return write

    @property
    def writes(self) -> list[str]:
        return [f"{each.verb} {each.namespace}/{each.name}" for each in self.given.writes]

    @property
    def ready(self) -> list[str]:
        return [each.pod for each in self.given.ready]

    @property
    def why(self) -> str:
        [(_, why)] = self.given.failed
        return why


def held(pod: str = "a", *, acts: bool = True) -> tuple[Desk, GpuUser]:
    """A running pod on a reserved device."""
    one = reservation(device="GPU-7")
    return Desk(one, consumer(pod), acts=acts), one


NAME = reservation_name("n1", "g")
CREATE, DELETE = f"create {NAMESPACE}/{NAME}", f"delete {NAMESPACE}/{NAME}"


def test_the_first_pod_of_a_group_makes_the_reservation_and_waits_for_its_device() -> None:
    desk = Desk()
    desk.give(binding(), tolerations=[{"key": "gpu", "operator": "Exists"}])
    body = desk.write.body
    assert isinstance(body, dict)
    assert desk.writes == [CREATE]
    assert body["spec"]["nodeName"] == "n1"
    assert body["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    desk.answer(DONE)
    desk.saw(reservation(phase="Pending"))
    assert (desk.writes, desk.ready) == ([], [])
    desk.saw(reservation(device="GPU-7"))
    assert desk.ready == ["team/a"]
    assert desk.devices.of(binding()) == ["GPU-7"]


def test_later_pods_wait_for_the_same_reservation() -> None:
    desk = Desk()
    desk.give(binding("a"), binding("b"))
    assert desk.writes == [CREATE]
    desk.saw(reservation(device="GPU-7"))
    assert desk.ready == ["team/a", "team/b"]
    desk.give(binding("c"))
    assert (desk.writes, desk.ready) == ([], ["team/c"])


def test_a_pod_of_several_devices_waits_for_all_of_them() -> None:
    desk = Desk()
    two = binding("a", "g2", "g1")
    desk.give(two)
    assert len(desk.writes) == 2
    desk.saw(reservation("g1", "GPU-1"))
    assert desk.ready == []
    desk.saw(reservation("g2", "GPU-2"))
    assert desk.ready == ["team/a"]
    assert desk.devices.of(two) == ["GPU-2", "GPU-1"]


def test_an_existing_reservation_is_waited_for() -> None:
    desk = Desk()
    desk.give(binding())
    desk.answer(THERE)
    assert (desk.writes, desk.given.failed) == ([], [])
    desk.saw(reservation(device="GPU-7"))
    assert desk.ready == ["team/a"]


def test_a_reservation_without_an_answer_fails_only_its_own_pods() -> None:
    desk = Desk()
    desk.give(binding("a", "silent"))
    desk.saw(reservation("silent"))
    desk.now = 10
    desk.give(binding("b", "fine"))
    desk.saw(reservation("fine", "GPU-2"))
    assert desk.ready == ["team/b"]
    assert desk.devices.next_tick() == 40
    desk.tick(40)
    name = reservation_name("n1", "silent")
    assert desk.writes == [f"delete {NAMESPACE}/{name}"]
    assert desk.write.body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "uid-of-silent"},
    }
    assert desk.why == (
        "failed to reserve GPUs for pod <team/a> in gpu group <silent>: failed waiting for GPU"
        f" reservation pod to allocate: {NAMESPACE}/{name}"
    )


def test_the_timeout_starts_when_the_creation_is_sent() -> None:
    desk = Desk()
    desk.give(binding("a"))
    created = desk.write
    desk.tick(30)
    desk.give(binding("b"))
    desk.tick(60)
    assert (desk.given.failed, desk.writes, desk.devices.next_tick()) == ([], [], None)
    desk.answer(DONE, created)
    assert desk.devices.next_tick() == 100
    desk.saw(reservation())
    desk.tick(99)
    assert desk.given.failed == []
    desk.tick(100)
    assert [each.pod for each, _ in desk.given.failed] == ["team/a", "team/b"]


def test_no_timer_is_left_once_all_pods_have_devices() -> None:
    desk = Desk()
    desk.give(binding("a"))
    desk.saw(reservation())
    assert desk.devices.next_tick() == 40
    desk.saw(reservation(device="GPU-7"))
    assert desk.devices.next_tick() is None


def test_the_timeout_of_a_removed_pod_does_not_affect_the_next() -> None:
    desk = Desk(reservation())
    first = binding("a")
    desk.give(first)
    desk.take_back(first)
    assert desk.devices.next_tick() is None
    desk.now = 39
    desk.give(binding("b"))
    assert desk.devices.next_tick() == 79


def test_a_pod_with_its_device_does_not_time_out() -> None:
    desk = Desk()
    desk.give(binding())
    desk.saw(reservation(device="GPU-7"))
    desk.tick(41)
    assert (desk.given.failed, desk.writes) == ([], [])


@pytest.mark.parametrize("outcome", [BUSY, LOST])
def test_a_creation_that_did_not_happen_is_repeated(outcome: Outcome) -> None:
    desk = Desk()
    desk.give(binding())
    desk.answer(outcome)
    assert desk.writes == []
    desk.tick(1)
    assert desk.writes == [CREATE]


def test_a_creation_that_is_refused_fails_the_pods_that_wait_for_it() -> None:
    desk = Desk()
    desk.give(binding())
    desk.answer(REFUSED)
    reason = "failed to reserve GPUs for pod <team/a> in gpu group <g>: quota exceeded"
    assert desk.why == reason


def test_while_a_scaling_pod_waits_no_device_is_reserved() -> None:  # spec 3 B10
    desk = Desk(reservation("held", "GPU-7"), consumer("old", "held"))
    desk.devices.scales_up(True)
    desk.give(binding())
    assert desk.writes == []
    assert desk.why == (
        "failed to reserve GPUs for pod <team/a> in gpu group <g>:"
        " cluster is scaling up, could not create reservation pod"
    )
    desk.take_back(binding())
    assert len(desk.devices) == 1
    desk.give(binding("b", "held"))
    assert desk.ready == ["team/b"], "a device that is reserved can be shared"
    desk.devices.scales_up(False)
    desk.give(binding())
    assert desk.writes == [CREATE]


def test_a_process_that_lost_its_lease_writes_nothing_on_the_pod() -> None:
    desk = Desk()
    desk.give(binding())
    desk.answer(Outcome(Result.FAILED, 0, NOT_LEADING, "another process leads"))
    assert desk.why == ""


def test_a_reservation_that_the_node_rejects_is_deleted_and_its_pods_fail_at_once() -> None:
    desk = Desk()
    desk.give(binding())
    desk.saw(reservation(phase="Failed"))
    assert desk.writes == [DELETE]
    assert desk.why.endswith(f"GPU reservation pod {NAMESPACE}/{NAME} has failed on node n1")


def test_the_last_pod_releases_the_device() -> None:
    desk, one = held("a")
    desk.saw(consumer("b"))
    desk.gone(consumer("a"))
    assert desk.writes == []
    desk.saw(consumer("b", phase="Succeeded"))
    assert desk.writes == [DELETE]
    desk.saw(consumer("b", phase="Succeeded"))
    assert desk.writes == []  # it is on its way
    desk.gone(one)
    desk.gone(consumer("b"))
    assert len(desk.devices) == 0


def test_a_bound_pod_that_the_watch_lacks_keeps_its_reservation() -> None:
    desk = Desk()
    desk.give(binding())
    desk.saw(reservation(device="GPU-7"))
    desk.devices.keep(binding())
    desk.saw(reservation(device="GPU-7", is_leaving=False))
    assert desk.writes == []
    desk.given = desk.devices.pod_gone(1, "team/a", "uid-of-another")
    assert desk.writes == []
    desk.given = desk.devices.pod_gone(1, "team/a", "uid-a")
    assert desk.writes == [DELETE]


def test_a_failed_binding_releases_a_device_that_no_other_pod_uses() -> None:
    desk = Desk()
    desk.give(binding("a"), binding("b"))
    desk.saw(reservation(device="GPU-7"))
    desk.take_back(binding("a"))
    assert desk.writes == []
    desk.take_back(binding("b"))
    assert desk.writes == [DELETE]


def test_a_binding_that_fails_early_leaves_no_reservation() -> None:
    desk = Desk()
    desk.give(binding())
    created = desk.write
    desk.take_back(binding())
    assert desk.writes == []
    desk.answer(DONE, created)
    desk.saw(reservation(phase="Pending"))
    assert desk.writes == [DELETE]


def test_a_pod_gets_a_new_reservation_while_the_old_one_is_deleted() -> None:
    desk, one = held()
    desk.gone(consumer())
    assert desk.writes == [DELETE]
    desk.give(binding("b"))
    assert (desk.writes, desk.ready) == ([], [])
    desk.gone(one)
    assert desk.writes == [CREATE]
    desk.saw(reservation(device="GPU-8", uid="another"))
    assert desk.ready == ["team/b"]


def test_a_new_group_waits_for_a_device_that_is_being_released() -> None:
    """The kubelet assigns the device again only when the pod is gone."""
    desk, one = held()
    desk.gone(consumer())
    desk.give(binding("b", "fresh"))
    assert desk.writes == []
    desk.gone(one)
    assert desk.writes == [f"create {NAMESPACE}/{reservation_name('n1', 'fresh')}"]


def test_a_failed_deletion_is_repeated() -> None:
    desk, _ = held()
    desk.gone(consumer())
    desk.answer(BUSY)
    desk.tick(1)
    assert desk.writes == [DELETE]


def test_orphans_of_an_earlier_process_are_deleted_after_all_lists() -> None:
    orphan = reservation("orphan", "GPU-1")
    desk = Desk(orphan, reservation("used", "GPU-2"), consumer("a", "used"), acts=False)
    assert desk.writes == []
    desk.given = desk.devices.request_changed(0, "team/b", ["wanted"])
    desk.saw(reservation("wanted", "GPU-3"))
    assert desk.writes == [f"delete {orphan.name}"]


def test_a_finished_bind_request_releases_its_reservation() -> None:
    desk = Desk()
    desk.devices.request_changed(0, "team/a", ["g"])
    desk.devices.request_changed(0, "team/b", ["g"])
    desk.saw(reservation(device="GPU-7"))
    assert desk.writes == []
    desk.given = desk.devices.request_changed(0, "team/a", [])
    assert desk.writes == []
    desk.given = desk.devices.request_changed(0, "team/b", [])
    assert desk.writes == [DELETE]


def test_pods_of_an_unreserved_device_are_deleted() -> None:
    """A device without a reservation may be assigned to other pods, so its pods are deleted (spec 6
    C57)."""
    desk, one = held("a")
    desk.saw(consumer("waits", phase="Pending"))
    desk.gone(one)
    [read] = desk.given.reads
    assert (read.namespace, read.selector) == (NAMESPACE, "runai-gpu-group=g")
    desk.given = desk.devices.read(0, read, [])
    assert [f"{each.verb} {each.name}" for each in desk.given.writes] == ["delete a"]
    assert desk.given.problems == [
        "Pod team/a is deleted: its GPU reservation on node n1 no longer exists"
    ]


def test_a_reservation_missing_only_from_the_watch_deletes_no_pods() -> None:
    """A list shows pods in the order of their namespaces."""
    desk = Desk(consumer("a"))
    [read] = desk.given.reads
    there = [{"metadata": {"namespace": NAMESPACE, "name": NAME}}]
    desk.given = desk.devices.read(0, read, there)
    assert desk.writes == []
    desk.tick(LOOK_AGAIN_S)
    assert [each.selector for each in desk.given.reads] == ["runai-gpu-group=g"]
    desk.saw(reservation(device="GPU-7"))
    desk.given = desk.devices.read(0, read, [])  # from before
    assert desk.writes == []


def test_a_reservation_deleted_before_the_bind_fails_the_binding() -> None:
    desk = Desk()
    desk.give(binding())
    one = reservation(device="GPU-7")
    desk.saw(one)
    desk.gone(one)
    assert desk.why.endswith("the GPU reservation pod no longer exists")


def test_an_older_server_gets_the_labels_by_a_patch_before_the_pod_is_bound() -> None:
    desk = Desk(copies_labels=False)
    desk.give(binding())
    desk.saw(reservation(device="GPU-7"))
    assert (desk.ready, desk.writes) == ([], ["patch team/a"])
    assert desk.write.body == {"metadata": {"uid": "uid-a", "labels": {"runai-gpu-group": "g"}}}
    labelling = desk.write
    desk.saw(consumer("a", phase="Pending"))
    desk.answer(DONE, labelling)
    assert desk.ready == ["team/a"]
    desk.take_back(binding())
    assert desk.write.body == {"metadata": {"uid": "uid-a", "labels": {"runai-gpu-group": None}}}


def test_a_request_without_groups_fails() -> None:
    desk = Desk()
    one = Binding("team/a", "uid-a", "n1", 1, "pg", spec={"receivedResourceType": "Fraction"})
    assert desk.devices.needs(one)
    desk.give(one)
    assert desk.why == "no SelectedGPUGroups for fractional pod: invalid binding request"


def test_unrelated_reads_and_writes_are_ignored() -> None:
    desk, _ = held()
    assert desk.devices.read(0, Read("Pod", "team", "a"), None) == Given()
    assert desk.devices.answered(0, Write(*_OTHER), DONE) == Given()


_OTHER: Any = (0, "create", "Pod", "team", "a")
