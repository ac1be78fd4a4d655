"""Invalid objects, written past validation: all others are scheduled, and each invalid one shows
its problem. One cluster without validation, and one `kai run all`, serve all tests."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testcluster import (
    Client,
    Cluster,
    Kai,
    Object,
    Options,
    install,
    node,
    path_of,
    pod,
    queue,
    temporary_cluster,
)
from testcluster.scene import wrong_lines

from kai.api import keys

NS = "m"
TOP = "default-parent-queue"


# ---- objects -------------------------------------------------------------------------------------


def group(name: str, *, annotations: Mapping[str, str] | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": keys.POD_GROUP_API,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NS, "annotations": dict(annotations or {})},
        "spec": {"queue": "default-queue", **spec},
    }


def topology(name: str, levels: Any) -> Object:
    return {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": levels},
    }


def bad_queue(name: str, parent: Any = TOP, **spec: Any) -> Object:
    made = queue(name, "x")
    made["spec"] |= {"parentQueue": parent, **spec}
    return made


def waits(name: str, *, of: str = "", subgroup: str = "", **more: Any) -> Object:
    """A pod without GPUs, which would fit everywhere."""
    annotations = {**({keys.POD_GROUP_ANNOTATION: of} if of else {}), **more.pop("annotations", {})}
    labels = {**({keys.SUBGROUP_LABEL: subgroup} if subgroup else {}), **more.pop("labels", {})}
    return pod(name, NS, more.pop("gpus", 0), annotations=annotations, labels=labels, **more)


@dataclass(frozen=True)
class Misfit:
    """`shows`: a part of a condition or an event of the object with that kind and name."""

    kind: str
    name: str
    shows: str
    objects: tuple[Object, ...]


def misfit(kind: str, name: str, shows: str, *objects: Object) -> Misfit:
    return Misfit(kind, name, shows, objects)


def fraction(name: str, shows: str, **annotations: str) -> Misfit:
    keyed = {key.replace("_", "-"): value for key, value in annotations.items()}
    return misfit("Pod", name, shows, waits(name, annotations=keyed))


def of_group(name: str, shows: str, **spec: Any) -> tuple[Misfit, Misfit]:
    """A pod group and one of its pods, which both show the message."""
    made = group(f"g-{name}", **spec)
    pod_message = f"PodGroup {NS}/g-{name} is ignored: "
    return (
        misfit("PodGroup", f"g-{name}", shows, made),
        misfit("Pod", f"p-{name}", pod_message, waits(f"p-{name}", of=f"g-{name}")),
    )


def in_queue(name: str, shows: str, *queues: Object) -> tuple[Misfit, Misfit]:
    """A queue, and a pod in it. In KAI neither of them exists then."""
    pod_message = f"QueueDoesNotExist: Queue '{name}' does not exist."
    return (
        misfit("Queue", name, shows, *queues),
        misfit("Pod", f"in-{name}", pod_message, waits(f"in-{name}", queue=name)),
    )


NO_QUEUE = "QueueDoesNotExist: Queue 'gone' does not exist."
MOST = 2**31 - 1
NUMBER = "is not a number above 0 and up to 1"
SUB = ({"name": "a", "minMember": 1},)

MISFITS = [
    *in_queue("orphan", 'parent queue "gone" does not exist', bad_queue("orphan", "gone")),
    *in_queue(
        "loop-a",
        "is its own ancestor",
        bad_queue("loop-a", "loop-b"),
        bad_queue("loop-b", "loop-a"),
    ),
    *in_queue("itself", "is its own ancestor", bad_queue("itself", "itself")),
    *in_queue("soon", 'duration "soon" is not valid', bad_queue("soon", reclaimMinRuntime="soon")),
    *in_queue(
        "endless",
        "is more than the largest amount of Kubernetes",
        bad_queue("endless", resources={"cpu": {"quota": 1e300, "limit": 1e308}}),
    ),
    *in_queue("number", "spec", {**bad_queue("number"), "spec": 7}),
    *in_queue("list", "spec.resources", bad_queue("list", resources=[])),
    *in_queue("odd", "spec.parentQueue", bad_queue("odd", 5)),
    misfit("Pod", "nowhere", NO_QUEUE, waits("nowhere", queue="gone")),
    misfit("PodGroup", "g-nowhere", NO_QUEUE, group("g-nowhere", queue="gone")),
    misfit("Pod", "p-nowhere", NO_QUEUE, waits("p-nowhere", of="g-nowhere")),
    misfit("PodGroup", "g-none", "Queue '' does not exist.", group("g-none", queue="")),
    misfit("Pod", "p-none", "Queue '' does not exist.", waits("p-none", of="g-none")),
    *(
        fraction(f"f-{name}", f'["gpu-fraction"]: "{value}" {NUMBER}', gpu_fraction=value)
        for name, value in (
            ("nan", "NaN"),
            ("word", "half"),
            ("empty", ""),
            ("over", "1.5"),
            ("less", "-0.5"),
            ("endless", "Infinity"),
        )
    ),
    fraction("f-memory", '"4Gi" is not a whole number of MiB above 0', gpu_memory="4Gi"),
    fraction("f-minus", '"-5" is not a whole number of MiB above 0', gpu_memory="-5"),
    fraction(
        "f-devices",
        '"two" is not a whole number of devices above 0',
        gpu_fraction="0.5",
        gpu_fraction_num_devices="two",
    ),
    *of_group("minus", "spec.minMember: -3 is negative", minMember=-3),
    *of_group("text", "spec.minMember", minMember="four"),
    *of_group("part", "spec.minMember", minMember=1.5),
    *of_group("map", "spec.subGroups", subGroups={"a": 1}),
    *of_group("often", 'duration "often" is not valid', preemptionDelay="often"),
    *of_group("never", 'duration "never" is not valid', stalenessGracePeriod="never"),
    misfit("PodGroup", "g-spec", "spec", {**group("g-spec"), "spec": "minMember: 4"}),
    misfit("PodGroup", "g-huge", f"Waiting for {MOST} pods", group("g-huge", minMember=MOST)),
    misfit("PodGroup", "g-huge", "currently 1 exist", waits("p-huge", of="g-huge")),
    *(
        misfit(
            "Pod",
            f"p-{name}",
            f'Pod references subgroup "{label}", which does not exist in PodGroup {NS}/g-{name}',
            group(f"g-{name}", subGroups=list(parts)),
            waits(f"p-{name}", of=f"g-{name}", subgroup=label),
        )
        for name, label, parts in (
            ("missing", "z", SUB),
            ("twice", "a", (*SUB, *SUB)),
            ("parent", "a", ({"name": "a", "minMember": 1, "parent": "gone"},)),
            ("round", "a", ({"name": "a", "parent": "b"}, {"name": "b", "parent": "a"})),
        )
    ),
    misfit(
        "PodGroup",
        "g-topology",
        "Requested topology gone does not exist.",
        group("g-topology", topologyConstraint={"topology": "gone", "requiredTopologyLevel": "x"}),
        waits("p-topology", of="g-topology"),
    ),
    misfit(
        "PodGroup",
        "g-level",
        "does not contain a level with this name",
        topology("hosts", [{"nodeLabel": "kubernetes.io/hostname"}]),
        group("g-level", topologyConstraint={"topology": "hosts", "requiredTopologyLevel": "x"}),
        waits("p-level", of="g-level"),
    ),
    misfit("Topology", "words", "spec.levels", topology("words", "rack, host")),
    misfit("Pod", "lost", f"PodGroup {NS}/gone does not exist", waits("lost", of="gone")),
    misfit("Pod", "p-cpu", "MaxNodePoolResources", waits("p-cpu", cpu="1e18")),
    misfit("Pod", "p-memory", "MaxNodePoolResources", waits("p-memory", memory="900E")),
    misfit("Pod", "p-gpus", "MaxNodePoolResources", waits("p-gpus", gpus=1_000_000)),
    misfit(
        "Pod",
        "p-owner",
        "failed to find Nope",
        {
            **waits("p-owner"),
            "metadata": {
                "name": "p-owner",
                "namespace": NS,
                "ownerReferences": [
                    {"apiVersion": "nope.io/v1", "kind": "Nope", "name": "n", "uid": "u"}
                    | {"controller": True}
                ],
            },
        },
    ),
]  # fmt: skip

HARMLESS = [
    (bad_queue("minus", resources={"gpu": {"quota": -7, "limit": -9, "overQuotaWeight": -1}}),),
    (waits("in-minus", queue="minus"),),
    (group("g-class", priorityClassName="gone"), waits("p-class", of="g-class")),
    (
        group(
            "g-stamps",
            annotations={keys.LAST_START_ANNOTATION: "yesterday", keys.STALE_ANNOTATION: "soon"},
        ),
        waits("p-stamps", of="g-stamps"),
    ),
    (waits("p-task", labels={keys.TASK_PRIORITY_LABEL: "high"}),),
    (waits("p-delay", annotations={keys.PREEMPTION_DELAY_ANNOTATION: "often"}),),
    (waits("p-maybe", labels={keys.PREEMPTIBILITY_LABEL: "maybe"}),),
    (waits("p-tiny", cpu="1n"),),
]
"""Unreadable values are ignored, as in KAI, and the pods run."""


# ---- the cluster ---------------------------------------------------------------------------------


class Outcome:
    """The result for all objects."""

    def __init__(self, pods: list[Object], groups: list[Object], events: list[Object]) -> None:
        self.places = {each["metadata"]["name"]: each["spec"].get("nodeName") for each in pods}
        self.conditions = dict[tuple[str, str], list[str]]()
        self.events = dict[tuple[str, str], list[str]]()
        for each in pods:
            self._condition("Pod", each, "conditions", "PodScheduled", "False")
        for each in groups:
            self._condition(
                "PodGroup", each, "schedulingConditions", "UnschedulableOnNodePool", "True"
            )
        for each in events:
            about = each["involvedObject"]
            self.events.setdefault((about["kind"], about["name"]), []).append(each["message"])

    def _condition(self, kind: str, each: Object, member: str, type: str, status: str) -> None:
        found = [
            condition["message"]
            for condition in each.get("status", {}).get(member) or ()
            if (condition["type"], condition["status"]) == (type, status)
        ]
        self.conditions[kind, each["metadata"]["name"]] = found

    def shows(self, kind: str, name: str) -> list[str]:
        return self.conditions.get((kind, name), []) + self.events.get((kind, name), [])


async def outcome(api: Client) -> Outcome:
    return Outcome(
        await api.items(path_of("Pod", NS)),
        await api.items(path_of("PodGroup", NS)),
        [*await api.items(path_of("Event", NS)), *await api.items(path_of("Event", "default"))],
    )


def gang(name: str) -> list[Object]:
    """Four pods with a GPU each, which start together."""
    return [
        group(name, minMember=4),
        *(waits(f"{name}-{number}", of=name, gpus=1) for number in range(4)),
    ]


@pytest.fixture(scope="module")
def found(
    programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcome]:
    log = tmp_path_factory.mktemp("malformed") / "kai.log"
    with temporary_cluster(Options(), programs) as cluster:
        install(cluster, validates=False)
        yield asyncio.run(scene(cluster, log))


async def scene(cluster: Cluster, log: Path) -> Outcome:
    """Half of the valid pods exist before; the other half is created when all invalid objects were
    seen."""
    kai = Kai(cluster, NS, log)
    async with cluster.client() as api:
        await api.create_namespace(NS)
        odd = {f"{keys.NVIDIA_GPU}.memory": "lots", f"{keys.NVIDIA_GPU}.count": "many"}
        nameless = {**node("empty"), "status": {}}
        await api.create(node("n1", 8), node("odd", 0, labels=odd), nameless)
        for each in (*MISFITS, *(Misfit("", "", "", objects) for objects in HARMLESS)):
            for made in each.objects:
                await api.create_one(made)
        await api.create(*gang("before"))
        kai.start()
        try:

            async def all_show_it() -> bool:
                seen = await outcome(api)
                return all(
                    any(each.shows in text for text in seen.shows(each.kind, each.name))
                    for each in MISFITS
                )

            with contextlib.suppress(AssertionError):  # the tests list those that do not
                await api.until("all misfits show what is wrong", all_show_it, 20)
            await api.create(*gang("after"))

            async def runs() -> bool:
                return (await outcome(api)).places.get("after-3") is not None

            await api.until("a gang that came later runs", runs, 20)
            assert kai.is_running(), kai.log
            return await outcome(api)
        finally:
            status = await asyncio.to_thread(kai.stop)
            assert status == 0, kai.log
            assert wrong_lines(kai.log) == []
            repeated = [line.partition(" warning ")[2] for line in kai.log.splitlines()]
            repeated = [line for line in repeated if " is ignored: " in line]
            assert len(set(repeated)) == len(repeated), "an object is logged twice"


# ---- tests ---------------------------------------------------------------------------------------


def test_the_rest_is_scheduled(found: Outcome) -> None:
    for name in ("before", "after"):
        assert [found.places[f"{name}-{number}"] for number in range(4)] == ["n1"] * 4


def test_each_invalid_object_shows_its_problem(found: Outcome) -> None:
    silent = {
        f"{each.kind} {each.name} does not show: {each.shows}": found.shows(each.kind, each.name)
        for each in MISFITS
        if not any(each.shows in text for text in found.shows(each.kind, each.name))
    }
    assert silent == {}
    waiting = {each.name for each in MISFITS if each.kind == "Pod"}
    assert {name for name in waiting if found.places[name]} == set()


def test_waiting_pods_have_the_condition_for_autoscalers_and_people(found: Outcome) -> None:
    """Except if the pod grouper could not read an owner, and if pods of a gang are missing."""
    without = {
        name for (kind, name), texts in found.conditions.items() if kind == "Pod" and not texts
    }
    assert {name for name in without if not found.places[name]} == {"p-owner", "p-huge"}


def test_ignored_objects_do_not_stop_other_pods(found: Outcome) -> None:
    pods = [each for objects in HARMLESS for each in objects if each["kind"] == "Pod"]
    names = [each["metadata"]["name"] for each in pods]
    assert [name for name in names if not found.places[name]] == []
