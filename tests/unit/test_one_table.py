"""Objects that the API server or KAI rejects: kai plan leaves them out with the message of kai
lint."""

import copy
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from kai.admission import fields
from kai.admission.fields import SPECS
from kai.api import kinds
from kai.linting import lint
from kai.linting import text as linting

CONTAINER = {"name": "main", "image": "x"}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"kai.scheduler/queue": "default-queue"}},
    "spec": {"schedulerName": "kai-scheduler", "containers": [CONTAINER]},
}


def pod(annotations: Any = None, labels: Any = None, containers: Any = None) -> dict[str, Any]:
    made = copy.deepcopy(POD)
    if annotations is not None:
        made["metadata"]["annotations"] = annotations
    if labels is not None:
        made["metadata"]["labels"] = labels
    if containers is not None:
        made["spec"]["containers"] = containers
    return made


def asking(resources: Any) -> list[dict[str, Any]]:
    return [{**CONTAINER, "resources": resources}]


WHOLE = asking({"limits": {"nvidia.com/gpu": 1}})
REFUSED = {
    "whole-gpu-beside-fraction": pod({"gpu-fraction": "0.5"}, containers=WHOLE),
    "fraction-refused": pod({"gpu-fraction": "1.5"}),
    "gpu-memory-refused": pod({"gpu-memory": "5Gi"}),
    "fraction-and-memory": pod({"gpu-fraction": "0.5", "gpu-memory": "100"}),
    "devices-without-share": pod({"gpu-fraction-num-devices": "2"}),
    "devices-refused": pod({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"}),
    "mps-without-share": pod({"mps": "true"}),
    "container-missing": pod({"gpu-fraction": "0.5", "gpu-fraction-container-name": "other"}),
    "nvfractions-refused": pod({"nvidia.com/container.main.gpu-memory.limit": "much"}),
    "not-text": pod(labels={"kai.scheduler/queue": 5}),
    "not-a-mapping": pod(containers=asking({"limits": "1Gx"})),
    "not-a-list": pod(containers=5),
    "quantity-refused": pod(containers=asking({"limits": {"memory": "1Gx"}})),
}
NODE = {
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"capacity": {"nvidia.com/gpu": 4, "cpu": 8, "memory": "64Gi"}},
}


def job_of(manifest: dict[str, Any]) -> dict[str, Any]:
    spec = {"restartPolicy": "Never", **manifest["spec"]}
    template = {"metadata": manifest["metadata"], "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": {"kai.scheduler/queue": "default-queue"}},
        "spec": {"template": template},
    }


def loaded(*manifests: dict[str, Any]) -> kai.Cluster:
    return kai.load(yaml.safe_dump_all([NODE, *manifests]).encode())


@pytest.mark.parametrize("code", REFUSED)
@pytest.mark.parametrize("is_job", [False, True], ids=["pod", "job"])
def test_plan_leaves_out_objects_that_lint_refuses(code: str, is_job: bool) -> None:
    manifest = job_of(REFUSED[code]) if is_job else REFUSED[code]
    refused = [each for each in lint(manifest) if each.refused]
    assert code in [each.code for each in refused]
    plan = kai.Scheduler().plan(loaded(manifest), now="2026-01-01T00:00:00Z")
    assert sorted(each.message for each in plan.rejected) == sorted(
        each.message for each in refused
    )
    assert plan.decisions == ()
    text = plan.why("j" if is_job else "p")
    assert refused[0].message in text


def test_every_refusal_has_a_test_situation() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/lint.md").read_text()
    sources = Path(kai.__file__).parent / "admission"
    written = "".join(path.read_text() for path in sources.glob("*.py"))
    for code in REFUSED:
        assert f"`{code}`" in page
        assert f'"{code}"' in written
    assert written.count("refusal(\n") + written.count("refusal(") >= len(REFUSED)


def test_a_pod_that_runs_was_accepted() -> None:
    runs = {**REFUSED["gpu-memory-refused"], "status": {"phase": "Running"}}
    runs["spec"] = {**runs["spec"], "nodeName": "n"}
    assert [each for each in loaded(runs).rejected if "KAI refuses" in each.message] == []


def test_rules_of_kai_do_not_apply_to_other_schedulers() -> None:
    foreign = copy.deepcopy(REFUSED["whole-gpu-beside-fraction"])
    foreign["spec"]["schedulerName"] = "default-scheduler"
    assert loaded(foreign).rejected == ()
    foreign["spec"]["containers"] = 5
    assert [each.field for each in loaded(foreign).rejected] == ["spec.containers"]


def test_a_queue_without_resources_is_refused_by_both() -> None:
    queue: dict[str, Any] = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "a"},
        "spec": {"parentQueue": "default-parent-queue"},
    }
    (found,) = [each for each in lint(queue) if each.refused]
    assert loaded(queue).rejected == (kai.Rejected("Queue", "a", "spec.resources", found.message),)
    assert "resources must be specified" in found.message
    queue["metadata"]["resourceVersion"] = "1"  # a cluster has it: its webhook was off
    assert loaded(queue).rejected == ()
    assert [each.code for each in lint(queue)] == ["queue-limit-zero"]


def test_queues_in_a_circle_are_found_by_both() -> None:
    queues = [
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"parentQueue": parent, "resources": {}},
        }
        for name, parent in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    found = {each.object: each.message for each in lint(queues) if each.code == "queue-cycle"}
    rejected = {f"Queue {each.name}": each.message for each in loaded(*queues).rejected}
    assert found.keys() == rejected.keys() == {"Queue a", "Queue b", "Queue c"}
    for queue, message in rejected.items():
        assert found[queue].endswith(message)


@pytest.mark.parametrize(
    ("labels", "annotations", "sentence"),
    [
        ({"gpu-fraction": "0.5"}, {}, "KAI reads gpu-fraction from annotations, not from labels"),
        ({"gpu-memory": "5"}, {}, "KAI reads gpu-memory from annotations, not from labels"),
        (
            {},
            {"kai.scheduler/queue": "x"},
            "KAI reads kai.scheduler/queue from labels, not from annotations",
        ),
        ({}, {"priorityClassName": "x"}, "KAI reads priorityClassName from labels"),
    ],
)
def test_settings_and_lint_refuse_a_misplaced_key_with_one_sentence(
    labels: dict[str, str], annotations: dict[str, str], sentence: str
) -> None:
    with pytest.raises(kai.InvalidRequestError) as caught:
        kai.pod_settings(queue="a", labels=labels, annotations=annotations)
    assert sentence in str(caught.value)
    manifest = pod(annotations, {"kai.scheduler/queue": "default-queue", **labels})
    assert any(sentence in each.message for each in lint(manifest))


def test_the_files_of_the_quickstart_are_valid() -> None:
    page = (Path(__file__).parents[2] / "docs" / "quickstart.md").read_text()
    files = [block.split("```")[0] for block in page.split("```yaml\n")[1:]]
    assert len(files) == 2
    read = [linting.read(each) for each in files]
    queues = [each for file in read for each in file.queues]
    known = linting.Queues.of(queues, [])
    assert [found for file in read for found in linting.check(file, known)] == []


@pytest.mark.parametrize(
    ("annotation", "value"),
    [("kai.scheduler/preemption-delay", "5"), ("kai.scheduler/batch-min-member", "two")],
)
def test_plan_and_lint_report_an_invalid_annotation_alike(annotation: str, value: str) -> None:
    job = job_of(POD)
    job["metadata"]["annotations"] = {annotation: value}
    (found,) = [each for each in lint(job) if each.severity == "error"]
    messages = [each.message for each in loaded(job).rejected]
    assert messages
    assert all(message.startswith(found.message) for message in messages)


# ---- unknown names -------------------------------------------------------------------------------


NO_QUEUE = (
    "Pod default/p: no queue is named: the pods use default-queue, which is not in the given files:"
    " plans add it with a quota of 0, and in a cluster without it the pods wait"
)


def test_an_unknown_key_field_or_class_is_among_the_warnings_of_a_plan() -> None:
    misspelt = pod(labels={"kai.scheduler/queu": "a"})
    misspelt["spec"]["priorityClassName"] = "trian"
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "a"},
        "spec": {"resources": {"gpu": {"overQuotaWeigth": 2}}},
    }
    cluster = loaded(misspelt, queue)
    text = kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").warnings
    assert text == (
        "Pod default/p: metadata.labels[kai.scheduler/queu]: KAI does not know kai.scheduler/queu;"
        " did you mean kai.scheduler/queue?",
        "Queue a: spec.resources.gpu.overQuotaWeigth: a Queue has no field overQuotaWeigth: the"
        " API server drops it; did you mean 'overQuotaWeight'?",
        "there is no PriorityClass 'trian' in the input; it is used by Pod default/p; did you"
        " mean 'train'?",
        NO_QUEUE,
    )
    with pytest.raises(kai.InvalidClusterError, match="did you mean 'train'"):
        kai.load(yaml.safe_dump(misspelt).encode(), strict=True)


def every_field(known: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, below in known.items():
        yield (*path, name)
        yield from every_field(below or {}, (*path, name))


@pytest.mark.parametrize("kind", SPECS)
def test_a_field_mistyped_by_one_letter_is_reported(kind: str) -> None:
    for *above, name in every_field(SPECS[kind]):
        wrong = name[0] + name[2:]
        spec: Any = {wrong: 1}
        for step in reversed(above):
            spec = {step: [spec] if step == "subGroups" else spec}
        (found,) = fields.check(kind, spec)
        assert found.path.endswith(wrong)
        assert found.fix == f"did you mean {name!r}?" or name in ("cpu", "gpu")


def every_typed_field(name: str, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths below a type of Kubernetes, each type visited once on a path."""
    for field, inner in fields.kubernetes()[name].items():
        yield (*above, field)
        if inner.type and inner.many != "{}" and len(above) < 3:
            yield from every_typed_field(inner.type, (*above, field))


OF_KUBERNETES = sorted(
    {*kinds.LISTS, "Job", "Deployment"} & fields.kubernetes().keys() - SPECS.keys()
)


@pytest.mark.parametrize("kind", OF_KUBERNETES)
def test_a_field_of_kubernetes_mistyped_by_one_letter_is_reported(kind: str) -> None:
    for *above, name in every_typed_field(kind):
        value: Any = {name[0] + name[2:]: 1}
        for step in reversed(above):
            value = {step: value}
        (found,) = fields.of_manifest({**value, "kind": kind}, ())
        assert found.code == "field-unknown"
        assert found.at == (*above, name[0] + name[2:])
        assert "did you mean" in found.fix or len(name) < 6


@pytest.mark.parametrize(
    ("kind", "group", "spec", "path", "fix"),
    [
        (
            "JobSet",
            "jobset.x-k8s.io",
            {"replicatedJob": []},
            "spec.replicatedJob",
            "replicatedJobs",
        ),
        (
            "JobSet",
            "jobset.x-k8s.io",
            {"replicatedJobs": [{"name": "a", "replcias": 2}]},
            "spec.replicatedJobs[0].replcias",
            "replicas",
        ),
        (
            "PyTorchJob",
            "kubeflow.org",
            {"pytorchReplicaSpecs": {"Worker": {"replica": 2}}},
            "spec.pytorchReplicaSpecs.Worker.replica",
            "replicas",
        ),
        (
            "RayCluster",
            "ray.io",
            {"workerGroupSpecs": [{"minReplica": 1}]},
            "spec.workerGroupSpecs[0].minReplica",
            "minReplicas",
        ),
        ("Topology", "kai.scheduler", {"level": []}, "spec.level", "levels"),
        (
            "BindRequest",
            "scheduling.run.ai",
            {"selectdNode": "n"},
            "spec.selectdNode",
            "selectedNode",
        ),
    ],
)
def test_a_mistyped_field_of_another_project_is_reported(
    kind: str, group: str, spec: dict[str, Any], path: str, fix: str
) -> None:
    manifest = {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "x"},
        "spec": spec,
    }
    (found,) = fields.of_manifest(manifest, ())
    assert (found.path, found.fix) == (path, f"did you mean {fix!r}?")
    other = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "x"}}
    assert (
        list(fields.of_manifest({**other, "spec": {"anythingElse": 1}}, ())) == [] or kind in SPECS
    )


def test_objects_from_a_cluster_are_not_checked_for_fields() -> None:
    newer = {**POD, "metadata": {"name": "p", "resourceVersion": "1"}, "spec": {"comesLater": 1}}
    assert list(fields.of_manifest(newer, ())) == []


def test_the_pod_template_of_any_kind_is_checked() -> None:
    wrong = job_of(pod())
    wrong["spec"]["template"]["spec"]["nodeSelecter"] = {}
    (found,) = [each for each in lint(wrong) if each.code == "field-unknown"]
    assert found.path == "spec.template.spec.nodeSelecter"
    grown = {**wrong, "apiVersion": "jobset.x-k8s.io/v1", "kind": "JobSet"}
    assert "field-unknown" in [each.code for each in lint(grown)]
    text = kai.Scheduler().plan(loaded(wrong), now="2026-01-01T00:00:00Z").warnings
    assert any("nodeSelecter; did you mean" in each or "'nodeSelector'" in each for each in text)


def test_every_field_of_the_engine_is_in_the_table() -> None:
    folder = Path(__file__).parents[2] / "cpp" / "kai" / "ingest"
    around = {"metadata", "spec", "status", "nodePool", "transitionID", "schedulingConditions"}
    for kind, file in (("Queue", "queue_reader.cc"), ("PodGroup", "pod_group_reader.cc")):
        read = set(re.findall(r'key == "(\w+)"', (folder / file).read_text()))
        known = {path[-1] for path in every_field(SPECS[kind])}
        assert read - around - known == set()
        assert known - read <= {"gpu", "cpu", "memory"}
