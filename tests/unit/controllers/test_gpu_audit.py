"""Who uses more of a GPU's memory than its share, measurement by measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kai.api import keys
from kai.api.gpu_use import (
    CountedProcess,
    CountedShare,
    GpuProcess,
    MeasuredDevice,
    Measurement,
)
from kai.api.pod_resources import PodResources, Share
from kai.controllers.gpu_audit import (
    AuditRules,
    Before,
    PodUse,
    audit,
    devices_given,
    shares_of,
    uses_of,
)

GIB, MIB = 1 << 30, 1 << 20
CARD, OTHER, SLICE = "GPU-1", "GPU-2", "MIG-3"
RULES = AuditRules(tolerance=512 * MIB, node="n1")


def pod(
    name: str,
    annotations: Mapping[str, str] | None = None,
    *groups: str,
    namespace: str = "team",
    limits: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Its UID is its name."""
    if len(groups) == 1:
        labels = {keys.GPU_GROUP_LABEL: groups[0]}
    else:
        labels = {f"{keys.GPU_GROUP_LABEL_PREFIX}{each}": each for each in groups}
    return {
        "metadata": {
            "namespace": namespace,
            "name": name,
            "uid": name,
            "labels": labels,
            "annotations": dict(annotations or {}),
        },
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits or {}}}], **spec},
        "status": {"phase": "Running"},
    }


def reservation(group: str, device: str, namespace: str = keys.RESERVATION) -> dict[str, Any]:
    annotations = {keys.RESERVED_DEVICE_ANNOTATION: device}
    return pod(f"holds-{group}", annotations, group, namespace=namespace)


def process(pid: int, gib: float | None, of: str = "", name: str = "python") -> GpuProcess:
    used = None if gib is None else int(gib * GIB)
    return GpuProcess(pid, used, name, of, inner_pid=pid - 100)


def device(*processes: GpuProcess, uuid: str = CARD, gib: int = 80) -> MeasuredDevice:
    return MeasuredDevice(uuid, gib * GIB, sum(each.used or 0 for each in processes), processes)


def counted(of: str, *processes: CountedProcess, uuid: str = CARD, gib: float = 40) -> CountedShare:
    used = sum(each.used for each in processes)
    return CountedShare(of, uuid, int(gib * GIB), used, used, 3, processes)


HALF = pod("half", {keys.GPU_FRACTION_ANNOTATION: "0.5"}, "g1")
HOLDER = reservation("g1", CARD)


def uses(
    measured: Sequence[MeasuredDevice],
    *pods: dict[str, Any],
    guards: Sequence[CountedShare] = (),
    given: Mapping[str, tuple[str, ...]] | None = None,
    rules: AuditRules = RULES,
) -> dict[tuple[str, str], PodUse]:
    found = uses_of(Measurement(tuple(measured), tuple(guards)), shares_of(pods, given), rules)
    assert len({(each.uid, each.device) for each in found}) == len(found)
    return {(each.pod, each.device): each for each in found}


# ---- shares --------------------------------------------------------------------------------------


def test_a_fraction_is_a_part_of_each_device_of_its_groups() -> None:
    both = pod("both", {keys.GPU_FRACTION_ANNOTATION: "0.25"}, "g1", "g2")
    found = uses(
        [device(), device(uuid=OTHER, gib=40)], HALF, both, HOLDER, reservation("g2", OTHER)
    )
    assert {each: use.share for each, use in found.items()} == {
        ("team/both", CARD): 20 * GIB,
        ("team/half", CARD): 40 * GIB,
        ("team/both", OTHER): 10 * GIB,
    }


def test_a_share_in_mib_is_exact() -> None:
    exact = pod("exact", {keys.GPU_MEMORY_ANNOTATION: "4096"}, "g1")
    assert uses([device()], exact, HOLDER)["team/exact", CARD].share == 4 * GIB


def test_whole_gpus_and_mig_instances_are_those_that_the_kubelet_has_given() -> None:
    whole = pod("whole", limits={"nvidia.com/gpu": "1"})
    part = pod("part", limits={"nvidia.com/mig-1g.5gb": "1"})
    given = devices_given(
        [
            PodResources("team/whole", [Share("nvidia.com/gpu", 1, (), (CARD,))]),
            PodResources("team/part", [Share("nvidia.com/mig-1g.5gb", 1, (), (SLICE,))]),
            PodResources("team/cpu", [Share("example.com/nic", 1, (), (OTHER,))]),
        ]
    )
    found = uses([device(), device(uuid=SLICE, gib=5)], whole, part, given=given)
    assert {each: use.share for each, use in found.items()} == {
        ("team/whole", CARD): 80 * GIB,
        ("team/part", SLICE): 5 * GIB,
    }


def test_a_gpu_that_a_plugin_gives_several_times_is_one() -> None:
    shared = pod("shared", limits={"nvidia.com/gpu.shared": "1"})
    given = {"team/shared": (f"{CARD}::4",)}
    listed = [PodResources("team/shared", [Share("nvidia.com/gpu.shared", 1, (), (f"{CARD}::4",))])]
    assert devices_given(listed) == {"team/shared": (CARD,)}
    assert given != devices_given(listed)
    found = uses([device()], shared, given=devices_given(listed))
    assert found["team/shared", CARD].share == 80 * GIB


@pytest.mark.parametrize(
    ("one", "given"),
    [
        (pod("p", {keys.GPU_FRACTION_ANNOTATION: "0.5"}, "new"), None),
        (pod("p", {keys.GPU_FRACTION_ANNOTATION: "0.5"}), None),
        (pod("p", limits={"nvidia.com/gpu": "1"}), None),
        (pod("p", limits={"nvidia.com/gpu": "1"}), {}),
        (pod("p", limits={"nvidia.com/gpu": "1"}), {"team/p": ("nvidia0",)}),
        (pod("p", resourceClaims=[{"name": "gpu"}]), {}),
    ],
    ids=["group without a device", "no group", "no kubelet", "not listed", "no UUID", "claim"],
)
def test_a_pod_whose_devices_are_not_known_is_not_judged(
    one: dict[str, Any], given: Mapping[str, tuple[str, ...]] | None
) -> None:
    found = uses([device(process(101, 70, "p"))], one, HOLDER, given=given)["team/p", CARD]
    assert (found.share, found.is_over, found.used) == (None, False, 70 * GIB)


def test_only_the_namespace_of_reservation_pods_says_which_device_a_group_is() -> None:
    forged = reservation("mine", OTHER, namespace="team")
    mine = pod("mine", {keys.GPU_FRACTION_ANNOTATION: "0.9"}, "mine")
    found = uses([device(uuid=OTHER), device()], forged, mine, HOLDER)
    assert found == {}
    shares = shares_of([reservation("g1", CARD, "elsewhere"), HALF], None, reserving="elsewhere")
    assert shares["half"].of(CARD, 80 * GIB) == 40 * GIB


def test_pods_that_have_ended_hold_nothing() -> None:
    ended = pod("ended", {keys.GPU_FRACTION_ANNOTATION: "0.5"}, "g1")
    ended["status"]["phase"] = "Succeeded"
    assert uses([device()], ended, HOLDER) == {}


# ---- uses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gib", "is_over"), [(40, False), (40.5, False), (40.6, True)])
def test_a_context_is_tolerated_beyond_the_share(gib: float, is_over: bool) -> None:
    found = uses([device(process(101, gib, "half"))], HALF, HOLDER)
    assert found["team/half", CARD].is_over is is_over


def test_each_process_has_a_context() -> None:
    two = device(process(101, 20.5, "half"), process(102, 20.5, "half"))
    assert not uses([two], HALF, HOLDER)["team/half", CARD].is_over
    strict = AuditRules(tolerance=0)
    assert uses([two], HALF, HOLDER, rules=strict)["team/half", CARD].is_over


def test_a_pod_on_a_device_of_others_is_over_from_the_first_byte() -> None:
    found = uses([device(), device(process(101, 0.1, "half"), uuid=OTHER)], HALF, HOLDER)
    assert not found["team/half", CARD].is_over
    assert (found["team/half", OTHER].share, found["team/half", OTHER].is_over) == (0, True)


def test_a_pod_that_requested_no_gpu_was_given_none() -> None:
    found = uses([device(process(101, 1, "web"))], pod("web"))["team/web", CARD]
    assert (found.share, found.is_over) == (0, True)
    rules = AuditRules(ignored=frozenset({"team"}))
    found = uses([device(process(101, 1, "web"))], pod("web"), rules=rules)["team/web", CARD]
    assert (found.share, found.is_over) == (None, False)


def test_memory_that_the_driver_does_not_know_is_not_counted() -> None:
    found = uses([device(process(101, None, "half"))], HALF, HOLDER)["team/half", CARD]
    assert (found.used, found.is_over) == (None, False)
    one = device(process(101, None, "half"), process(102, 41, "half"))
    assert uses([one], HALF, HOLDER)["team/half", CARD].used == 41 * GIB


def test_the_guard_counts_beside_each_process() -> None:
    ours = counted("half", CountedProcess(1, "python", 30 * GIB, 31 * GIB))
    two = device(process(101, 31, "half"), process(102, 1, "half"))
    found = uses([two], HALF, HOLDER, guards=[ours])["team/half", CARD]
    assert found.counted == ours
    assert [(each.pid, each.counted) for each in found.processes] == [
        (101, ours.processes[0]),
        (102, None),
    ]


def test_equal_processes_of_two_containers_are_paired_by_their_size() -> None:
    small = CountedProcess(1, "python", GIB, GIB)
    large = CountedProcess(1, "python", 9 * GIB, 9 * GIB)
    mine = [GpuProcess(pid, gib * GIB, "python", "half", 1) for pid, gib in ((7, 2), (8, 10))]
    guard = counted("half", small, large)
    found = uses([device(*mine)], HALF, HOLDER, guards=[guard])["team/half", CARD]
    assert [(each.pid, each.counted) for each in found.processes] == [(8, large), (7, small)]


def test_a_guard_counts_on_a_mig_instance() -> None:
    part = pod("part", limits={"nvidia.com/mig-1g.5gb": "1"})
    guard = counted("part", uuid=SLICE, gib=5)
    given = {"team/part": (SLICE,)}
    found = uses([device(uuid=SLICE, gib=5)], part, given=given, guards=[guard])
    assert found["team/part", SLICE].counted == guard


# ---- events --------------------------------------------------------------------------------------


class Night:
    """Measurements of one node, 15 s apart."""

    def __init__(self, *pods: dict[str, Any], rules: AuditRules = RULES) -> None:
        self.pods, self.rules, self.before, self.now = pods, rules, Before(), 0.0
        self.over: list[str] = []

    def measures(self, *devices: MeasuredDevice, guards: Sequence[CountedShare] = ()) -> list[str]:
        """The events: their reasons and objects."""
        self.events = self._measured(devices, guards)
        return [f"{each.reason} {each.namespace}/{each.name}" for each in self.events]

    def _measured(
        self, devices: Sequence[MeasuredDevice], guards: Sequence[CountedShare]
    ) -> Sequence[Any]:
        measurement = Measurement(tuple(devices), tuple(guards))
        found = uses_of(measurement, shares_of(self.pods, None), self.rules)
        audited = audit(self.before, found, now=self.now, rules=self.rules)
        self.before, self.now = audited.before, self.now + 15
        self.over = [each.pod for each in audited.over]
        return audited.events


GREEDY, MODEST = device(process(101, 70, "half")), device(process(101, 30, "half"))


def test_the_second_measurement_in_a_row_is_an_event() -> None:
    night = Night(HALF, HOLDER)
    assert night.measures(GREEDY) == []
    assert night.measures(GREEDY) == ["GpuShareExceeded team/half"]
    [event] = night.events
    assert (event.kind, event.uid, event.type) == ("Pod", "half", "Warning")
    assert event.message == (
        "uses 70 GiB of GPU-1 (80 GiB), its share is 40 GiB, and 512 MiB more for its "
        "process; no guard is in force"
    )
    assert night.over == ["team/half"]


def test_a_peak_between_two_measurements_is_no_event() -> None:
    night = Night(HALF, HOLDER)
    for _ in range(5):
        assert night.measures(GREEDY) == []
        assert night.measures(MODEST) == []


def test_a_pod_has_one_event_in_ten_minutes() -> None:
    night = Night(HALF, HOLDER)
    found = [night.measures(GREEDY) for _ in range(83)]  # 15 s apart: 20 min and 30 s
    assert [15 * at for at, each in enumerate(found) if each] == [15, 615, 1215]


def test_an_end_is_an_event_and_the_next_beginning_still_waits() -> None:
    night = Night(HALF, HOLDER)
    assert [night.measures(GREEDY) for _ in range(2)][1] == ["GpuShareExceeded team/half"]
    assert night.measures(MODEST) == ["GpuShareKept team/half"]
    assert night.events[0].type == "Normal"
    assert night.over == []
    assert [night.measures(each) for each in (MODEST, GREEDY, GREEDY, GREEDY, MODEST)] == [[]] * 5
    night.now += 600
    assert [night.measures(GREEDY) for _ in range(2)][1] == ["GpuShareExceeded team/half"]


def test_a_pod_that_is_gone_did_not_come_back_to_its_share() -> None:
    night = Night(HALF, HOLDER)
    assert [night.measures(GREEDY) for _ in range(2)][1] == ["GpuShareExceeded team/half"]
    night.pods = (HOLDER,)
    assert night.measures(device()) == []
    assert night.before.open == {}


def test_the_event_says_what_the_guard_counts() -> None:
    night = Night(HALF, HOLDER)
    two = device(process(101, 39, "half"), process(102, 10, "half", "escaped"))
    guard = counted("half", CountedProcess(1, "python", 38 * GIB, 39 * GIB))
    night.measures(two, guards=[guard])
    night.measures(two, guards=[guard])
    [event] = night.events
    assert event.message.endswith(
        "512 MiB more for each of its 2 processes; its guard counts 38 GiB in 1 of 2 processes"
    )


def test_one_event_names_all_devices_of_a_pod() -> None:
    both = pod("both", {keys.GPU_FRACTION_ANNOTATION: "0.5"}, "g1", "g2")
    night = Night(both, HOLDER, reservation("g2", OTHER))
    greedy = [device(process(101, 70, "both"), uuid=each) for each in (CARD, OTHER, "GPU-9")]
    night.measures(*greedy)
    assert night.measures(*greedy) == ["GpuShareExceeded team/both"]
    text = night.events[0].message
    assert text.count("; no guard is in force") == 2
    assert text.endswith("uses 70 GiB of GPU-9 (80 GiB), and was given nothing of it")


def test_a_device_of_others_is_another_reason() -> None:
    night = Night(pod("web"))
    intruder = device(process(101, 0.3, "web"))
    assert [night.measures(intruder) for _ in range(2)][1] == ["GpuNotGiven team/web"]
    assert night.events[0].message == (
        "uses 307 MiB of GPU-1 (80 GiB), and was given nothing of it"
    )


def test_processes_outside_of_pods_are_an_event_of_the_node() -> None:
    night = Night(HALF, HOLDER)
    strange = device(process(900, 3, "", "Xorg"), process(901, 1, "0123-gone", "python"))
    assert [night.measures(strange) for _ in range(2)][1] == ["GpuUsedOutsidePods /n1"]
    [event] = night.events
    assert (event.kind, event.uid) == ("Node", "n1")
    assert event.message == (
        "Xorg (process 900) of no pod uses 3 GiB of GPU-1; python (process 901) of pod 0123-gone, "
        "which the API server does not have, uses 1 GiB of GPU-1"
    )
    assert night.measures(MODEST) == []


def test_several_processes_outside_of_pods_are_one_sentence() -> None:
    night = Night()
    strange = device(process(900, 3, "", "Xorg"), process(901, 1, "", "python"))
    assert [night.measures(strange) for _ in range(2)][1] == ["GpuUsedOutsidePods /n1"]
    assert night.events[0].message == (
        "Xorg (process 900), python (process 901) of no pod use 4 GiB of GPU-1"
    )


def test_small_changes_of_the_amount_give_the_same_text() -> None:
    texts = set()
    for more in (0, 10 * MIB, 40 * MIB):
        night = Night(HALF, HOLDER)
        one = GpuProcess(101, 70 * GIB + more, "python", "half")
        night.measures(device(one))
        night.measures(device(one))
        texts.add(night.events[0].message)
    assert len(texts) == 1
