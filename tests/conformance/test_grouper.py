"""Pods and owners of each recording are grouped, and the resulting pod groups are KAI's.

The table of differences lists each field that differs, with the cause.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from known_groups import KNOWN, Known, is_owned, matches, members_of
from recordings import Recording, apply, recordings

from kai.api import defaults, keys
from kai.api.reading import mapping
from kai.controllers.grouper import Decided, Grouper, Reference, Rules
from kai.controllers.grouper.existing import patched


@dataclass
class Server:
    """The objects that the grouper reads and changes, as on an API server."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)  # kind, name
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    kais: dict[str, dict[str, Any]] = field(default_factory=dict)  # the groups that KAI made
    kais_pods: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.grouper = Grouper(Rules(frozenset(defaults.PRIORITIES)))

    def settle(self) -> None:
        """Answers and carries out the grouper's decisions until there are none."""
        for _ in range(20):
            decided = self.grouper.decide()
            if not (decided.needs or decided.groups or decided.assignments or decided.problems):
                return
            self._carry_out(decided)
        raise AssertionError("the grouper does not come to an end")

    def _carry_out(self, decided: Decided) -> None:
        for reference in decided.needs:
            self._answer(reference)
        self.problems += [f"{each.pod.split('/')[1]}: {each.message}" for each in decided.problems]
        for change in decided.groups:
            write = change.write()
            if write.verb == "create":
                if write.name in self.groups:
                    self.grouper.group_exists(change.name)
                    continue
                self.groups[write.name] = dict(mapping(write.body))
            else:
                self.groups[write.name] = patched(self.groups[write.name], mapping(write.body))
        for assignment in decided.assignments:
            patching = assignment.write()
            assert patching is not None
            if patching.name in self.pods:
                self.pods[patching.name] = patched(self.pods[patching.name], mapping(patching.body))
                self.grouper.put_pod(self.pods[patching.name])

    def _answer(self, reference: Reference) -> None:
        if reference.kind == "PodGroup":
            if (group := self.groups.get(reference.name)) is not None:
                self.grouper.put_group(group)
            else:
                self.grouper.object_gone(reference)
            return
        found = self.objects.get((reference.kind, reference.name))
        if reference.kind == "Pod":
            found = self.pods.get(reference.name)
        if found is None:
            message = f'no matches for kind "{reference.kind}" in version "{reference.api_version}"'
            self.grouper.object_gone(reference, message)
        else:
            self.grouper.put_object(reference, found)


def replay(recording: Recording) -> Server:
    server = Server()
    manifests = {(each["kind"], each["metadata"]["name"]): each for each in recording.manifests}
    for entry in recording.timeline:
        if "do" in entry:
            _do(server, entry, manifests)
        elif entry.get("kind") == "Pod":
            _pod(server, entry)
        elif entry.get("kind") == "PodGroup":
            name = entry["name"]
            if entry["event"] == "ADDED":
                if "ownerReferences" in entry["object"]["metadata"]:
                    server.kais[name] = entry["object"]
            elif entry["event"] == "MODIFIED" and name in server.kais:
                apply(entry, server.kais[name])
        server.settle()
    return server


def _do(
    server: Server, entry: Mapping[str, Any], manifests: Mapping[tuple[str, str], dict[str, Any]]
) -> None:
    verb, _, what = entry["do"].partition(" ")
    kind, _, name = what.partition("/")
    if verb == "create" and (kind, name) in manifests and kind != "Pod":
        manifest = manifests[(kind, name)]
        if kind == "PodGroup":
            server.groups[name] = manifest
            return
        server.objects[(kind, name)] = _as_the_server_has_it(manifest)
    elif verb == "patch" and (kind, name) in server.objects:
        server.objects[(kind, name)] = patched(server.objects[(kind, name)], entry["patch"])
        if kind == "Deployment" and "template" in entry["patch"].get("spec", {}):
            annotations = server.objects[(kind, name)]["metadata"]["annotations"]
            annotations["deployment.kubernetes.io/revision"] = "2"
    elif verb == "delete":
        server.objects.pop((kind, name), None)
    if (kind, name) in server.objects:
        changed = server.objects[(kind, name)]
        uid = changed["metadata"]["uid"]
        namespace = changed["metadata"].get("namespace", "")
        reference = Reference(changed["apiVersion"], kind, namespace, name, uid)
        server.grouper.put_object(reference, changed)


def _as_the_server_has_it(manifest: dict[str, Any]) -> dict[str, Any]:
    """Adds what the API server and the controllers of Kubernetes add to owners."""
    metadata, name, uid = manifest["metadata"], manifest["metadata"]["name"], ""
    uid = metadata["uid"]
    if manifest["kind"] == "Job" and "labels" not in metadata:
        template = manifest["spec"]["template"].get("metadata", {}).get("labels", {})
        metadata["labels"] = {
            **template,
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": name,
            "controller-uid": uid,
            "job-name": name,
        }
    if manifest["kind"] == "Deployment":
        metadata.setdefault("annotations", {})["deployment.kubernetes.io/revision"] = "1"
    return manifest


def _pod(server: Server, entry: Mapping[str, Any]) -> None:
    name = entry["name"]
    if entry["event"] == "DELETED":
        server.pods.pop(name, None)
        for known in list(server.grouper._pods) + list(server.grouper._settled):
            if known.endswith("/" + name):
                server.grouper.pod_gone(known)
        return
    if entry["event"] == "ADDED":
        pod = entry["object"]
        pod["metadata"]["uid"] = f"<uid:Pod/{name}>"
        server.pods[name] = pod
        server.kais_pods[name] = {"metadata": {**pod["metadata"]}}
        for reference in pod["metadata"].get("ownerReferences", ()):
            if reference["kind"] == "ReplicaSet":
                _replica_set(server, reference)
    else:
        apply(entry, server.kais_pods[name])
        kept = {
            path: value
            for path, value in (entry.get("changed") or {}).items()
            if keys.POD_GROUP_ANNOTATION not in path and keys.SUBGROUP_LABEL not in path
        }
        if name in server.pods:
            apply({"changed": kept}, server.pods[name])
    if name in server.pods:
        server.grouper.put_pod(server.pods[name])


def _replica_set(server: Server, reference: Mapping[str, Any]) -> None:
    """Created by the Deployment of the recording, which has one."""
    for (kind, name), owner in list(server.objects.items()):
        if kind == "Deployment" and reference["name"].startswith(name):
            uid = owner["metadata"]["uid"]
            owns = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid}
            server.objects[("ReplicaSet", reference["name"])] = {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {
                    "name": reference["name"],
                    "uid": reference["uid"],
                    "ownerReferences": [{**owns, "controller": True}],
                },
            }


def differences(server: Server) -> dict[str, tuple[Any, Any]]:
    """By "group: member", KAI's value and ours; groups and pods."""
    found: dict[str, tuple[Any, Any]] = {}
    ours = {name: each for name, each in server.groups.items() if is_owned(each)}
    for name in sorted(server.kais.keys() | ours.keys()):
        one, other = (members_of(each.get(name)) for each in (server.kais, ours))
        for member in sorted(one.keys() | other.keys()):
            if one.get(member) != other.get(member):
                found[f"{name}: {member}"] = (one.get(member), other.get(member))
    for name, pod in server.pods.items():
        for kind, key in (
            ("annotations", keys.POD_GROUP_ANNOTATION),
            ("labels", keys.SUBGROUP_LABEL),
        ):
            values = [
                each["metadata"].get(kind, {}).get(key) for each in (server.kais_pods[name], pod)
            ]
            if values[0] != values[1]:
                found[f"{name}: {key}"] = (values[0], values[1])
    return found


@pytest.mark.parametrize("recording", recordings(), ids=lambda each: each.name)
def test_pod_groups_equal_kais(recording: Recording) -> None:
    found = differences(replay(recording))
    known = KNOWN.get(recording.name, Known("", ()))
    unknown = {
        member: values
        for member, values in found.items()
        if not any(matches(member, pattern) for pattern in known.members)
    }
    assert unknown == {}, known.why
    for pattern in known.members:
        assert any(matches(member, pattern) for member in found), f"{pattern} differs no more"


RACES = ("not found", "already exists")
"""Warnings from KAI's caches and workers that are outdated: a second later all is correct."""


BUILT = [each for each in recordings() if KNOWN.get(each.name, Known("", ())).members != ("*",)]


@pytest.mark.parametrize("recording", BUILT, ids=lambda each: each.name)
def test_the_same_pods_cannot_be_grouped(recording: Recording) -> None:
    """Pods that KAI rejects for a second are grouped at once (spec 6 S3 and S4)."""
    warned = {
        entry["object"]["involvedObject"].removeprefix("Pod/"): entry["object"]["message"]
        for entry in recording.timeline
        if entry.get("kind") == "Event" and entry["event"] == "ADDED"
        if entry["object"]["reason"] == "PodGrouperWarning"
        if not any(each in entry["object"]["message"] for each in RACES)
    }
    server = replay(recording)
    found = dict(each.split(": ", 1) for each in server.problems)
    assert found.keys() == warned.keys()
    assert len(found) == len(server.problems), "each problem is reported once"
    if recording.name == "80-owner-kind-without-crd":
        assert found == warned


def test_pods_are_grouped_in_the_order_in_which_they_came() -> None:
    """KAI creates the group of t-1 after that of t-2, and t-2 gets the GPU first (spec 6 S3)."""
    [recording] = [each for each in recordings() if each.name == "88-priority-order"]
    came = [
        each["name"]
        for each in recording.timeline
        if each.get("kind") == "Pod" and each["event"] == "ADDED"
    ]
    server = replay(recording)
    assert list(server.groups) == [f"pg-{name}-<uid:Pod/{name}>" for name in came]
    assert list(server.kais) != list(server.groups)
