"""The manifests for a cluster: CRDs, default objects, Deployments, FlowSchemas."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from kai.admission.fields import SPECS
from kai.install import access, manifests, running

CRDS = {crd["spec"]["names"]["kind"]: crd for crd in manifests.crds()}


def schema_of(kind: str) -> dict[str, Any]:
    [version] = CRDS[kind]["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def below(schema: Mapping[str, Any], *path: str) -> dict[str, Any]:
    for step in path:
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return dict(schema)


def every_schema(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for each in schema.get("properties", {}).values():
        yield from every_schema(each)
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from every_schema(schema[name])


# (group, version, plural, scope, short names, status subresource), spec 5 A1
NAMES = {
    "Queue": ("scheduling.run.ai", "v2", "queues", "Cluster", [], True),
    "PodGroup": ("scheduling.run.ai", "v2alpha2", "podgroups", "Namespaced", ["pg"], True),
    "BindRequest": ("scheduling.run.ai", "v1alpha2", "bindrequests", "Namespaced", [], True),
    "Config": ("kai.scheduler", "v1", "configs", "Cluster", [], True),
    "SchedulingShard": ("kai.scheduler", "v1", "schedulingshards", "Cluster", [], True),
    "Topology": ("kai.scheduler", "v1alpha1", "topologies", "Cluster", [], False),
}


def test_there_are_six_resource_definitions() -> None:
    assert set(CRDS) == set(NAMES)


@pytest.mark.parametrize("kind", NAMES)
def test_a_crd_has_the_names_that_clients_use(kind: str) -> None:
    group, version, plural, scope, short, status = NAMES[kind]
    crd = CRDS[kind]
    spec = crd["spec"]
    [only] = spec["versions"]
    assert crd["metadata"]["name"] == f"{plural}.{group}"
    assert (spec["group"], spec["scope"], spec["names"]["plural"]) == (group, scope, plural)
    assert (only["name"], only["served"], only["storage"]) == (version, True, True)
    assert spec["names"].get("shortNames", []) == short
    assert ("status" in only.get("subresources", {})) is status
    assert ("status" in only["schema"]["openAPIV3Schema"]["properties"]) is status


def test_queues_are_listed_with_four_columns() -> None:
    [version] = CRDS["Queue"]["spec"]["versions"]
    columns = [(each["name"], each["jsonPath"]) for each in version["additionalPrinterColumns"]]
    assert columns == [
        ("Priority", ".spec.priority"),
        ("Parent", ".spec.parentQueue"),
        ("Children", ".status.childQueues"),
        ("DisplayName", ".spec.displayName"),
    ]


@pytest.mark.parametrize("kind", SPECS)
def test_schemas_have_exactly_the_fields_of_lint(kind: str) -> None:
    def compare(known: Mapping[str, Any], schema: Mapping[str, Any], at: str) -> None:
        schema = schema.get("items", schema)
        assert set(schema["properties"]) == set(known), at
        for name, deeper in known.items():
            if deeper is not None:
                compare(deeper, schema["properties"][name], f"{at}.{name}")

    compare(SPECS[kind], below(schema_of(kind), "spec"), kind)


@pytest.mark.parametrize("kind", NAMES)
def test_a_schema_has_no_defaults_and_a_type_everywhere(kind: str) -> None:
    for schema in every_schema(schema_of(kind)):
        assert "default" not in schema
        assert "type" in schema or schema["x-kubernetes-int-or-string"]


def test_schemas_refuse_values_that_kai_refuses() -> None:
    group = below(schema_of("PodGroup"), "spec")
    subgroup = below(group, "subGroups", "[]")
    for counted in (group, subgroup):
        for name in ("minMember", "minSubGroup"):
            assert below(counted, name)["minimum"] == 0
    assert below(group, "preemptibility")["enum"] == ["preemptible", "non-preemptible"]
    assert subgroup["required"] == ["name"]
    assert not re.search(below(subgroup, "name")["pattern"], "Worker_1")
    levels = below(schema_of("Topology"), "spec", "levels")
    assert (levels["minItems"], levels["maxItems"]) == (1, 16)
    assert [rule["message"] for rule in levels["x-kubernetes-validations"]] == [
        "nodeLabel structure is immutable; only aliases may be edited",
        "nodeLabel must be unique",
        "the kubernetes.io/hostname label can only be used at the lowest level of topology",
    ]
    ratio = below(schema_of("SchedulingShard"), "spec", "goMemLimitRatio")
    assert (ratio["minimum"], ratio["exclusiveMinimum"], ratio["maximum"]) == (0, True, 1)


@pytest.mark.parametrize("amount", ["1", "500m", "2Gi", "0.5", "1e3", "-1m", "67108864"])
def test_amounts_are_quantities(amount: str) -> None:
    amounts = below(schema_of("Queue"), "status", "requested")["additionalProperties"]
    assert re.search(amounts["pattern"], amount)
    assert not re.search(amounts["pattern"], f"{amount} GPUs")


def test_the_default_queue_equals_the_chart() -> None:
    parent, default = manifests.queues()
    assert parent["metadata"]["name"] == "default-parent-queue"
    assert "parentQueue" not in parent["spec"]
    share = {"quota": 0, "limit": -1, "overQuotaWeight": 1}
    assert default == {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {
            "name": "default-queue",
            "annotations": {
                "argocd.argoproj.io/sync-options": "Prune=false",
                "helm.sh/resource-policy": "keep",
            },
        },
        "spec": {
            "parentQueue": "default-parent-queue",
            "resources": {"cpu": share, "gpu": share, "memory": share},
        },
    }


def test_the_priority_classes_equal_the_chart() -> None:
    values = {each["metadata"]["name"]: each["value"] for each in manifests.priority_classes()}
    assert values == {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
    assert not any(each.get("globalDefault") for each in manifests.priority_classes())


def of_kind(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def where(manifest: dict[str, Any]) -> tuple[str, str]:
    """Namespace and name."""
    return manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


@pytest.mark.parametrize("separate", [False, True])
def test_every_reference_between_objects_exists(separate: bool) -> None:
    made = manifests.everything(namespace="gpu", image="registry/kai:1", separate=separate)
    places = {where(each) for each in of_kind(made, "ServiceAccount")}
    accounts = {name for namespace, name in places if namespace == "gpu"}
    roles = {
        (each["kind"], *where(each))
        for kind in ("Role", "ClusterRole")
        for each in of_kind(made, kind)
    }
    for binding in [*of_kind(made, "RoleBinding"), *of_kind(made, "ClusterRoleBinding")]:
        role = binding["roleRef"]
        assert (role["kind"], where(binding)[0], role["name"]) in roles
        subjects = [each for each in binding["subjects"] if each["kind"] == "ServiceAccount"]
        assert {(each["namespace"], each["name"]) for each in subjects} <= places
    namespaces = {each["metadata"]["name"] for each in of_kind(made, "Namespace")}
    assert namespaces == {"gpu", "kai-resource-reservation"}
    assert {where(each)[0] for each in made} == {"", *namespaces}
    for schema in of_kind(made, "FlowSchema"):
        [rule] = schema["spec"]["rules"]
        assert {each["serviceAccount"]["name"] for each in rule["subjects"]} == accounts
    deployments = of_kind(made, "Deployment")
    assert {
        each["spec"]["template"]["spec"]["serviceAccountName"] for each in deployments
    } == accounts
    commands = [each["spec"]["template"]["spec"]["containers"][0]["args"] for each in deployments]
    roles = (*(access.ROLES if separate else ("all",)), "admission")
    assert [each[:2] for each in commands] == [["run", role] for role in roles]
    names = [(each["kind"], *where(each)) for each in made]
    assert len(names) == len(set(names))


def test_uninstalling_keeps_the_namespace_of_reservation_pods() -> None:
    """Deleting the pod that holds a shared GPU would end the pods that share it."""
    made = of_kind(manifests.everything(namespace="gpu"), "Namespace")
    kept = {
        each["metadata"]["name"]: each["metadata"]
        .get("annotations", {})
        .get("helm.sh/resource-policy")
        for each in made
    }
    assert kept == {"gpu": None, "kai-resource-reservation": "keep"}


def test_two_installations_have_separate_cluster_roles() -> None:
    first, second = (
        {
            each["metadata"]["name"]
            for each in manifests.everything(namespace=name)
            if each["kind"] in ("ClusterRole", "ClusterRoleBinding")
        }
        for name in ("one", "two")
    )
    assert first
    assert not first & second


def test_a_deployment_runs_twice_without_privileges_and_is_probed() -> None:
    made = running.deployment("all", "kai", "gpu", "registry/kai:1")
    assert made["spec"]["replicas"] == 2
    pod = made["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["image"] == "registry/kai:1"
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def test_flow_levels_of_leases_precede_those_of_writes() -> None:
    leases, writes = running.flow_schemas(["kai"], "gpu")
    levels = [each["spec"]["priorityLevelConfiguration"]["name"] for each in (leases, writes)]
    assert levels == ["leader-election", "workload-high"]
    assert leases["spec"]["matchingPrecedence"] < writes["spec"]["matchingPrecedence"]
    [rule] = leases["spec"]["rules"][0]["resourceRules"]
    assert (rule["resources"], rule["namespaces"]) == (["leases"], ["gpu"])


def test_yaml_and_json_have_the_same_objects() -> None:
    made = manifests.everything()
    text = manifests.to_yaml(made)
    assert not re.search(r"(: |- )[&*]\w", text)  # tools other than kubectl know no anchors
    assert list(yaml.safe_load_all(text)) == made
    assert json.loads(manifests.to_json(made))["items"] == made
