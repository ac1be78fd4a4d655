"""For any order of facts, and any lost writes, the groups are the same in the end."""

import random
from typing import Any

import pytest

from fakes.api_server import ApiServer
from kai.api.writes import Result
from kai.controllers.grouper import Grouper, Reference, Rules

JOB, LWS = "batch/v1", "leaderworkerset.x-k8s.io/v1"
INDEX = "leaderworkerset.sigs.k8s.io"


def uid_of(name: str) -> str:
    return f"{sum(map(ord, name)):08x}-0000-4000-8000-000000000000"


def an(kind: str, version: str, name: str, spec: Any = None, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml", "uid": uid_of(name), **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec or {}}


def pod(name: str, owner: dict[str, Any] | None, **labels: str) -> dict[str, Any]:
    made = an("Pod", "v1", name, {"schedulerName": "kai-scheduler"}, labels=labels)
    made["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{len(name) % 60:02}Z"
    if owner is not None:
        metadata = owner["metadata"]
        reference = {key: metadata[key] for key in ("name", "uid")}
        made["metadata"]["ownerReferences"] = [
            {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **reference}
        ]
    return made


OWNERS = [
    an("Job", JOB, "job", annotations={"kai.scheduler/batch-min-member": "3"}),
    an("LeaderWorkerSet", LWS, "lws", {"leaderWorkerTemplate": {"size": 3}}),
]
PODS = [
    *(pod(f"job-{'x' * index}", OWNERS[0]) for index in range(4)),
    *(
        pod(
            f"lws-{'y' * i}",
            OWNERS[1],
            **{f"{INDEX}/group-index": "0", f"{INDEX}/worker-index": str(i)},
        )
        for i in range(3)
    ),
    *(pod(f"bare-{'z' * index}", None, queue=str(index)) for index in range(4)),
    *(pod(f"{'long' * 60}-{index}", None, queue=str(index)) for index in range(2)),
]


class World(ApiServer):
    """An API server that loses some writes, and reports its objects late and in any order."""

    def __init__(self, seed: int) -> None:
        super().__init__(*OWNERS, *PODS)
        self.chance = random.Random(seed)
        self.grouper = Grouper(Rules(frozenset(("train",))))
        self.news: list[Any] = []

    def run(self) -> None:
        self.news = [lambda each=each: self.grouper.put_pod(each) for each in PODS]
        for _ in range(500):
            self.chance.shuffle(self.news)
            for _ in range(min(len(self.news), self.chance.randint(1, 4))):
                self.news.pop()()
            decided = self.grouper.decide()
            for reference in decided.needs:
                self.news.append(lambda reference=reference: self._answer(reference))
            for change in decided.groups:
                self._group(change)
            for assignment in decided.assignments:
                self._assign(assignment)
            if not self.news and len(self.grouper) == 0:
                return
        raise AssertionError("it does not come to an end")

    def _answer(self, reference: Reference) -> None:
        found = self.get(reference.kind, "ml", reference.name)
        if found is None:
            self.grouper.object_gone(reference)
        else:
            self.grouper.put_object(reference, found)

    def _group(self, change: Any) -> None:
        fate = self.chance.random()
        if fate < 0.2:
            self.news.append(lambda: self.grouper.retry(change))  # not applied
            return
        write = change.write()
        if self.send(write).result is Result.CONFLICT:
            self.news.append(lambda: self.grouper.group_exists(change.name))
            return
        if fate < 0.4:  # applied, but the answer was lost
            self.news.append(lambda: self.grouper.group_exists(change.name))
        if self.chance.random() < 0.2:
            self.remove("PodGroup", "ml", write.name)
            self.news.append(lambda: self.grouper.group_gone(change.name))

    def _assign(self, assignment: Any) -> None:
        write = assignment.write()
        fate = self.chance.random()
        if fate > 0.3:
            self.send(write)
        if fate < 0.5:
            self.news.append(lambda: self.grouper.retry(assignment))
        # Late, but never older than the previous version: a watch keeps the order of one object.
        self.news.append(lambda: self.grouper.put_pod(self.get("Pod", "ml", write.name)))


def outcome(world: World) -> tuple[Any, Any]:
    groups = {
        each["metadata"]["name"]: (
            *(each["spec"], each["metadata"].get("labels")),
            each["metadata"]["ownerReferences"],
        )
        for each in world.list("PodGroup")
    }
    pods = {
        each["metadata"]["name"]: (
            each["metadata"]["annotations"]["pod-group-name"],
            each["metadata"]["labels"].get("kai.scheduler/subgroup-name"),
        )
        for each in world.list("Pod")
    }
    return groups, pods


@pytest.mark.parametrize("seed", range(200))
def test_any_order_of_events_gives_the_same_groups(seed: int) -> None:
    world = World(seed)
    world.run()
    groups, pods = outcome(world)
    assert len(groups) == 8
    assert groups[f"pg-job-{uid_of('job')}"][0]["minMember"] == 3
    assert {sub_group for _, sub_group in pods.values()} == {None, "leader", "workers"}
    for name, (group, _) in pods.items():
        assert group in groups, name
        if name.startswith("long"):
            assert (len(group), group[-36:]) == (253, uid_of(name))
            continue
        expected = name if name.startswith("bare") else name.partition("-")[0]
        assert group.startswith(f"pg-{expected}-{uid_of(expected)}")
