"""Workloads of many kinds on a real API server, and the pod groups that `kai run all` makes.

The recordings of KAI's control plane are played again. Owners without a controller here are objects
of bare definitions, and their pods have the labels and owners that the real controllers set; Jobs,
Deployments and StatefulSets are real. All are played side by side, each in its own namespace, with
GPUs for all. The pod groups must equal KAI's, except for the differences of decision 22.
"""

import asyncio
import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from known_groups import KNOWN, Known, is_owned, matches, members_of
from recordings import Recording, recordings
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
from testcluster.client import collection_of
from testcluster.replays import definitions

from kai.api import keys

QUIET_S = 1.5  # where the recorder waited until nothing happened any more
PATIENCE_S = 30.0
NOT_PLAYED = ("*",)  # fields of features that are not implemented yet


def played() -> list[Recording]:
    """Those about owners of pods: 50 to 87, without features that are not implemented yet."""
    found = [each for each in recordings() if 50 <= int(each.name[:2]) <= 87]
    return [each for each in found if KNOWN.get(each.name, Known("", ())).members != NOT_PLAYED]


# ---- playing -------------------------------------------------------------------------------------


class Stage:
    """A recording in its namespace."""

    def __init__(self, api: Client, name: str, manifests: list[Object]) -> None:
        self.api, self.name, self.namespace = api, name, f"k-{name.partition('-')[0]}"
        self.manifests = {(each["kind"], each["metadata"]["name"]): each for each in manifests}
        self.uids = dict[str, str]()  # of the recording -> of this cluster

    async def play(self, timeline: list[Mapping[str, Any]]) -> None:
        await self.api.create_namespace(self.namespace)
        for entry in timeline:
            verb, _, what = entry.get("do", "").partition(" ")
            kind, _, name = what.partition("/")
            if verb == "create" and kind not in ("Queue", "Topology"):
                await self.create(kind, name)
            elif verb == "patch" and "template" not in entry["patch"].get("spec", {}):
                path = f"{collection_of(self.manifests[kind, name])}/{name}"
                await self.api.patch(path, entry["patch"])
            elif entry.get("do") == "(quiet)":
                await asyncio.sleep(QUIET_S)

    async def create(self, kind: str, name: str) -> None:
        manifest = self.manifests[kind, name]
        recorded = manifest["metadata"].pop("uid")
        manifest["metadata"]["namespace"] = self.namespace
        if kind == "PodGang":
            for group in manifest["spec"]["podgroups"]:
                for reference in group["podReferences"]:
                    reference["namespace"] = self.namespace
        for owner in manifest["metadata"].get("ownerReferences", ()):
            owner["uid"] = self.uids.get(owner["uid"], owner["uid"])
        made = await self.api.create_one(manifest)
        self.uids[recorded] = made["metadata"]["uid"]

    # ---- what came of it -------------------------------------------------------------------------

    async def groups(self) -> dict[str, dict[str, Any]]:
        """Fields of the pod groups that have an owner, in the format of the recordings."""
        names = {uid: recorded for recorded, uid in self.uids.items()}
        generated = dict[str, str]()
        for kind in ("Pod", "Job", "ReplicaSet", "StatefulSet", "Deployment"):
            for each in await self.api.items(path_of(kind, self.namespace)):
                metadata = each["metadata"]
                names.setdefault(metadata["uid"], f"<uid:{kind}/{metadata['name']}>")
                if prefix := metadata.get("generateName"):
                    generated[metadata["name"]] = f"{prefix}<r>"
        found = await self.api.items(path_of("PodGroup", self.namespace))
        text = json.dumps([each for each in found if is_owned(each)])
        for old, new in [
            *names.items(),
            *sorted(generated.items(), key=lambda each: -len(each[0])),
        ]:
            text = text.replace(old, new)
        return by_name(json.loads(alike(text)))

    async def pods(self) -> list[Object]:
        return await self.api.items(path_of("Pod", self.namespace))


def kais_groups(recording: Recording) -> dict[str, dict[str, Any]]:
    """Those that existed at the end."""
    found = [each for each in recording.content["after"]["podgroups"] if is_owned(each)]
    return by_name(json.loads(alike(json.dumps(found))))


def alike(text: str) -> str:
    """The text without random parts: the ends of names, and hashes of templates."""
    return re.sub(r"-[a-z0-9]{8,10}-<r>", "-<hash>-<r>", re.sub(r"<r\d+>", "<r>", text))


def by_name(groups: list[Object]) -> dict[str, dict[str, Any]]:
    """Fields of each group; groups with one name get a number."""
    found = dict[str, dict[str, Any]]()
    count = Counter[str]()
    for each in sorted(groups, key=lambda each: json.dumps(members_of(each), sort_keys=True)):
        name = each["metadata"]["name"]
        count[name] += 1
        found[name if count[name] == 1 else f"{name} {count[name]}"] = members_of(each)
    return found


def differences(ours: Mapping[str, Any], kais: Mapping[str, Any], known: Known) -> list[str]:
    """Also known differences that do not occur."""
    found = []
    used = set[str]()
    for name in sorted(ours.keys() | kais.keys()):
        one, other = ours.get(name, {}), kais.get(name, {})
        for member in sorted(one.keys() | other.keys()):
            if one.get(member) != other.get(member):
                what = f"{name}: {member}"
                if known_as := [each for each in known.members if matches(what, each)]:
                    used.update(known_as)
                else:
                    found.append(f"{what} is {one.get(member)}, and in KAI {other.get(member)}")
    found += [
        f"{each}: no difference, though {known.why}"
        for each in known.members
        if each not in used and not each.endswith(keys.POD_GROUP_ANNOTATION)  # of pods
    ]
    return found


# ---- the cluster ---------------------------------------------------------------------------------


ARGO = "argoproj.io/v1alpha1"


def workflow(namespace: str) -> list[Object]:
    """An Argo Workflow with two steps, as its controller creates them."""
    labels = {keys.QUEUE_LABEL: "team-a"}
    metadata = {
        "name": "steps",
        "namespace": namespace,
        "labels": labels,
        "uid": "<uid:Workflow/steps>",
    }
    found: list[Object] = [
        {"apiVersion": ARGO, "kind": "Workflow", "metadata": metadata, "spec": {}}
    ]
    for step in ("steps-one", "steps-two"):
        made = pod(step, namespace, labels={**labels, "workflows.argoproj.io/workflow": "steps"})
        made["metadata"]["uid"] = f"<uid:Pod/{step}>"
        made["metadata"]["ownerReferences"] = [
            {"apiVersion": ARGO, "kind": "Workflow", "name": "steps", "uid": metadata["uid"]}
            | {"controller": True, "blockOwnerDeletion": True}
        ]
        found.append(made)
    return found


def leader_alone() -> list[Object]:
    """A JobSet that starts its leader first and never gets its workers; an incomplete gang is stale
    after a second."""
    [recording] = [each for each in recordings() if each.name == "58-jobset-in-order-too-small"]
    found = [each for each in recording.manifests if each["kind"] == "JobSet"]
    found[0]["metadata"]["annotations"] = {keys.STALENESS_ANNOTATION: "1s"}
    return found + [
        each for each in recording.manifests if each["metadata"]["name"] == "js-leader-0"
    ]


class Played:
    """The results of all recordings."""

    def __init__(self) -> None:
        self.differences = dict[str, list[str]]()
        self.groups = dict[str, dict[str, dict[str, Any]]]()
        self.pods = dict[str, list[Object]]()
        self.warnings = dict[str, str]()
        self.order = list[str]()

    def waiting(self) -> set[str]:
        """Pods without a node, by recording, without random ends of names."""
        return {
            f"{name}/{undrawn(each)}"
            for name, pods in self.pods.items()
            for each in pods
            if not each["spec"].get("nodeName")
        }


def undrawn(pod: Object) -> str:
    metadata = pod["metadata"]
    return str(metadata.get("generateName", f"{metadata['name']}-"))[:-1]


@pytest.fixture(scope="module")
def found(
    programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Played]:
    log = tmp_path_factory.mktemp("kinds") / "kai.log"
    with temporary_cluster(Options(), programs) as cluster:
        install(cluster)
        yield asyncio.run(scene(cluster, log))


async def scene(cluster: Cluster, log: Path) -> Played:
    chosen = played()
    async with cluster.client() as api:
        timelines = {each.name: each.timeline for each in chosen}
        manifests = {each.name: each.manifests for each in chosen}
        manifests["90-argo"], manifests["91-leader"] = workflow("k-90"), leader_alone()
        for name in ("90-argo", "91-leader"):
            timelines[name] = [
                {"do": f"create {each['kind']}/{each['metadata']['name']}"}
                for each in manifests[name]
            ]
        everything = [each for found in manifests.values() for each in found]
        for each in definitions(everything):
            await api.create_one(each)
        await api.create(queue("dept"), queue("team-a", "dept"), queue("team-b", "dept"))
        await api.create_namespace("kai")
        await api.create(*(node(f"n{number}", 64) for number in range(4)), only())
        with Kai(cluster, "kai", log):
            stages = [Stage(api, name, found) for name, found in manifests.items()]
            serving = asyncio.create_task(first_come(api))
            await asyncio.gather(*(each.play(timelines[each.name]) for each in stages))
            result = Played()

            async def is_settled() -> bool:
                result.groups = {each.name: await each.groups() for each in stages}
                result.differences = {
                    each.name: unlike
                    for each in chosen
                    if (unlike := compare(each, result.groups[each.name]))
                }
                return not result.differences

            with contextlib.suppress(AssertionError):  # a test shows which pods do not run
                await api.until("groups are KAI's", is_settled, PATIENCE_S)
            result.order = await serving
            await asyncio.sleep(2.0)
            result.pods = {each.name: await each.pods() for each in stages}
            for each in stages:
                for event in await api.items(path_of("Event", each.namespace)):
                    if event["reason"] == "PodGrouperWarning":
                        [about] = [
                            undrawn(pod)
                            for pod in result.pods[each.name]
                            if pod["metadata"]["name"] == event["involvedObject"]["name"]
                        ]
                        result.warnings[f"{each.name}/{about}"] = event["message"]
    assert "Traceback" not in log.read_text()
    return result


def compare(recording: Recording, ours: Mapping[str, Any]) -> list[str]:
    known = KNOWN.get(recording.name, Known("", ()))
    return differences(ours, kais_groups(recording), known)


# ---- first come, first served --------------------------------------------------------------------


def only() -> Object:
    made = node("only", 1, labels={"only": "yes"})
    made["spec"] = {"taints": [{"key": "only", "effect": "NoSchedule"}]}
    return made


async def first_come(api: Client) -> list[str]:
    """Bare pods for one GPU arrive one after the other, later ones with names that sort first; each
    runs for more than a second. Returns the order in which they get it."""
    await api.create_namespace("served")
    for name in ("holder", "z", "m", "a"):
        one = pod(
            name,
            "served",
            queue="team-b",
            annotations={"sim/run-for": "4s" if name == "holder" else "1200ms"},
            nodeSelector={"only": "yes"},
            tolerations=[{"key": "only", "operator": "Exists"}],
        )
        await api.create_one(one)
        await asyncio.sleep(1.1)

    async def all_ran() -> list[Object] | None:
        pods = await api.items(path_of("Pod", "served"))
        done = [each for each in pods if each["status"]["phase"] == "Succeeded"]
        return done if len(done) == 4 else None

    done = await api.until("all have run", all_ran, PATIENCE_S)
    return [
        each["metadata"]["name"]
        for each in sorted(done, key=lambda each: each["status"]["startTime"])
    ]


# ---- tests ---------------------------------------------------------------------------------------


def test_pod_groups_equal_kais_except_for_accepted_differences(found: Played) -> None:
    assert found.differences == {}
    assert len(found.groups) >= 25


def test_each_step_of_a_workflow_has_its_own_group(found: Played) -> None:
    groups = found.groups["90-argo"]
    assert groups.keys() == {f"pg-{step}-<uid:Pod/{step}>" for step in ("steps-one", "steps-two")}
    for each in groups.values():
        assert (each["spec.queue"], each["spec.minMember"]) == ("team-a", 1)
        assert each["spec.priorityClassName"] == "train"


def test_the_grouper_warns_only_about_pods_that_cannot_be_grouped(found: Played) -> None:
    """KAI also warns of pods that it has not seen yet, and of groups that another worker has
    created (spec 6 S3 and S4)."""
    assert found.warnings.keys() == {"51-job-min-member/bad", "80-owner-kind-without-crd/odd"}
    assert found.warnings["51-job-min-member/bad"] == "'many' is not a number of pods, on Job bad"
    assert "Thing" in found.warnings["80-owner-kind-without-crd/odd"]


def test_pods_are_grouped_in_order_of_creation(found: Played) -> None:
    """In KAI a pod that its grouper saw a second later is a second younger (spec 6 S3)."""
    assert found.order == ["holder", "z", "m", "a"]


def test_all_pods_of_groups_run(found: Played) -> None:
    """Also the submitter of a RayJob (spec 6 S13)."""
    assert found.waiting() == {
        "51-job-min-member/bad",
        "80-owner-kind-without-crd/odd",
        "81-skip-podgrouper-and-own-group/skipped",
        "81-skip-podgrouper-and-own-group/no-such-group",
    }
    assert any(each["metadata"]["name"].startswith("rj-") for each in found.pods["70-rayjob"])


def test_a_leader_that_waits_for_its_workers_is_not_stale(found: Played) -> None:
    """The leader of an InOrder JobSet has been alone for longer than its period (spec 6 S14), and
    the leader of a LeaderReady LeaderWorkerSet is all that its group needs until workers exist
    (spec 6 S15)."""
    [leader] = found.pods["91-leader"]
    assert leader["metadata"]["name"].startswith("js-leader-0")
    [group] = found.groups["91-leader"].values()
    assert (group["spec.minSubGroup"], group["spec.stalenessGracePeriod"]) == (1, "1s")
    [group] = found.groups["87-leaderworkerset-late-workers"].values()
    assert group["spec.minMember"] == 1


def test_the_queue_changes_with_the_label_of_the_owner(found: Played) -> None:
    """Also if the group exists already (spec 6 S12)."""
    [group] = found.groups["85-label-changes"].values()
    assert (group["spec.queue"], group["spec.priorityClassName"]) == ("team-b", "inference")
