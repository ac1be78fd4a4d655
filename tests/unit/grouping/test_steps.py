"""The steps of grouping, for one pod and one group at a time (spec 6 C25-C28)."""

from typing import Any

import pytest
import yaml

from kai.grouping import Gang, InvalidField, Rules, gang_of, pod_group, top_owner


def manifest(name: str, *, owner: tuple[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml", **metadata}
    if owner is not None:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "uid": "of-owner"}]
    return {"metadata": metadata}


def test_a_pod_without_an_owner_is_its_own_top_owner() -> None:
    owner = top_owner(manifest("p", uid="1"), {})
    assert (owner.key, owner.group_name) == (("Pod", "ml", "p"), "pg-p-1")


def test_the_chain_ends_at_the_last_known_owner() -> None:
    pod = manifest("p", owner=("JobSet", "run"))
    job_set = manifest("run", owner=("MegaJob", "train"), uid="2", labels={"a": "b"})
    unknown = top_owner(pod, {})
    assert (unknown.key, unknown.uid, unknown.manifest) == (("JobSet", "ml", "run"), "of-owner", {})
    top = top_owner(pod, {("JobSet", "ml", "run"): job_set})
    assert top.key == ("MegaJob", "ml", "train")


def test_circular_owners_end_the_chain() -> None:
    loop = {("Job", "ml", "j"): manifest("j", owner=("Job", "j"))}
    assert top_owner(manifest("p", owner=("Job", "j")), loop).key == ("Job", "ml", "j")


@pytest.mark.parametrize(
    ("kind", "priority"),
    [("Job", "train"), ("Notebook", "build"), ("Service", "inference"), ("MegaJob", "train")],
)
def test_the_kind_sets_the_priority_class(kind: str, priority: str) -> None:
    assert top_owner(manifest("p", owner=(kind, "w")), {}).priority_class == priority


def test_a_pod_of_a_deployment_is_grouped_by_itself_with_the_labels_of_the_deployment() -> None:
    deployment = manifest("d", labels={"kai.scheduler/queue": "q"})
    replica_set = manifest("d-1", owner=("Deployment", "d"))
    owners = {("Deployment", "ml", "d"): deployment, ("ReplicaSet", "ml", "d-1"): replica_set}
    owner = top_owner(manifest("p", uid="1", owner=("ReplicaSet", "d-1")), owners)
    assert (owner.group_name, owner.priority_class) == ("pg-p-1", "inference")
    assert owner.labels == {"kai.scheduler/queue": "q"}


def test_the_minimum_is_one_pod_unless_the_job_sets_it() -> None:
    def gang(number: str) -> Gang:
        job = manifest("j", annotations={"kai.scheduler/batch-min-member": number})
        top = top_owner(manifest("p", owner=("Job", "j")), {("Job", "ml", "j"): job})
        return gang_of(top, [])

    assert gang("3").min_member == 3
    with pytest.raises(InvalidField, match="is not a number of pods") as caught:
        gang("many")
    assert caught.value.field == "metadata.annotations[kai.scheduler/batch-min-member]"


def test_a_group_takes_the_first_priority_class_that_exists() -> None:
    pod = manifest("p", labels={"priorityClassName": "urgent"})
    owner = top_owner(pod, {})
    for classes, priority in (({"urgent"}, "urgent"), ({"other"}, "train")):
        made = pod_group("pg-p", owner, pod, Gang(), Rules(frozenset(classes)))
        assert made["spec"] == {
            "queue": "default-queue",
            "minMember": 1,
            "priorityClassName": priority,
        }


@pytest.mark.parametrize(
    ("of_owner", "of_pod", "delay", "period"),
    [
        ("5m", "1m", "5m", "5m"),
        ("5", "1m", "1m", "1m"),
        ("-1s", "1m", "1m", "-1s"),
        ("soon", "", None, None),
    ],
)
def test_an_invalid_duration_is_skipped(
    of_owner: str, of_pod: str, delay: str | None, period: str | None
) -> None:
    names = ("kai.scheduler/preemption-delay", "kai.scheduler/staleness-grace-period")
    pod = manifest("p", owner=("Job", "j"), annotations=dict.fromkeys(names, of_pod))
    job = manifest("j", annotations=dict.fromkeys(names, of_owner))
    spec = pod_group("g", top_owner(pod, {("Job", "ml", "j"): job}), pod, Gang(), Rules())["spec"]
    assert (spec.get("preemptionDelay"), spec.get("stalenessGracePeriod")) == (delay, period)


@pytest.mark.parametrize(
    ("name", "written"),
    [("train", "train"), ("1e3", '"1e3"'), ("2026-01-01", '"2026-01-01"'), ("yes", '"yes"')],
)
def test_the_owner_of_a_group_is_written_as_text(name: str, written: str) -> None:
    pod = manifest(name, uid="1234abcd-0000-4000-8000-000000000000")
    made = pod_group("g", top_owner(pod, {}), pod, Gang(), Rules())
    described = made["metadata"]["annotations"]["kai.scheduler/top-owner-metadata"]
    assert described.splitlines()[0] == f"name: {written}"
    assert yaml.safe_load(described) == {
        "name": name,
        "uid": "1234abcd-0000-4000-8000-000000000000",
        "group": "",
        "version": "v1",
        "kind": "Pod",
    }
