"""kai install: manifests for kubectl."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from kai.install import access

Run = Callable[..., Any]


def kinds(text: str) -> list[str]:
    return [each["kind"] for each in yaml.safe_load_all(text)]


def deployments(text: str) -> dict[str, dict[str, Any]]:
    """From a List of `--json`, by name."""
    made = [each for each in json.loads(text)["items"] if each["kind"] == "Deployment"]
    return {each["metadata"]["name"]: each for each in made}


def test_the_crds_alone_are_printed(run: Run) -> None:
    done = run("install", "--crds-only")
    assert (done.status, done.err) == (0, "")
    assert kinds(done.out) == ["CustomResourceDefinition"] * 6


def test_objects_are_printed_in_the_order_to_apply(run: Run) -> None:
    done = run("install")
    assert (done.status, done.err) == (0, "")
    found = kinds(done.out)
    assert found[:7] == [*["CustomResourceDefinition"] * 6, "Namespace"]
    after_rights = [each for each in found if each.startswith(("Deploy", "Service", "Mutating"))]
    assert after_rights[-3:] == ["Deployment", "Service", "MutatingWebhookConfiguration"]
    assert f"image: kai-sched:{kai.__version__}\n" in done.out
    assert "namespace: kai-scheduler\n" in done.out


def test_namespace_and_image_are_options(run: Run) -> None:
    done = run("install", "--namespace", "gpu", "--image", "registry/kai:1", "--json")
    objects = json.loads(done.out)["items"]
    namespaces = {
        each["metadata"]["namespace"] for each in objects if "namespace" in each["metadata"]
    }
    assert namespaces == {"gpu", "kai-resource-reservation"}
    started = {}
    for name, each in deployments(done.out).items():
        [container] = each["spec"]["template"]["spec"]["containers"]
        assert container["image"] == "registry/kai:1"
        started[name] = container["args"][:2]
    assert started == {"kai": ["run", "all"], "kai-admission": ["run", "admission"]}


def test_each_role_gets_a_deployment_of_its_own(run: Run) -> None:
    made = deployments(run("install", "--separate", "--json").out)
    assert {*made} == {*(f"kai-{role}" for role in access.ROLES), "kai-admission"}


def test_without_programs_only_they_and_the_webhooks_are_missing(run: Run) -> None:
    done = run("install", "--without-programs", "--namespace", "gpu")
    assert (done.status, done.err) == (0, "")

    def is_needed_without(manifest: dict[str, Any]) -> bool:
        programs = ("Deployment", "PodDisruptionBudget", "Service")
        registrations = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        of_programs = manifest["metadata"]["name"].endswith(("kai-admission", "kai-explain"))
        return manifest["kind"] not in (*programs, *registrations) and not of_programs

    everything = yaml.safe_load_all(run("install").out)
    found = kinds(done.out)
    assert found == [each["kind"] for each in everything if is_needed_without(each)]
    assert "ServiceAccount" in found


def test_the_numa_exporter_is_optional(run: Run) -> None:
    assert "DaemonSet" not in kinds(run("install").out)
    done = run("install", "--numa-exporter", "--namespace", "gpu", "--json")
    objects = json.loads(done.out)["items"]
    [exporter] = [each for each in objects if each["kind"] == "DaemonSet"]
    account = exporter["spec"]["template"]["spec"]["serviceAccountName"]
    assert exporter["metadata"] == {**exporter["metadata"], "name": account, "namespace": "gpu"}
    bound = [each for each in objects if each["kind"] == "ClusterRoleBinding"]
    [role] = [each["roleRef"]["name"] for each in bound if each["subjects"][0]["name"] == account]
    [rights] = [each for each in objects if each["metadata"]["name"] == role and "rules" in each]
    assert rights["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
    ]


def test_the_gpu_auditor_is_optional(run: Run) -> None:
    done = run("install", "--gpu-auditor", "--namespace", "gpu", "--json")
    objects = json.loads(done.out)["items"]
    [auditor] = [each for each in objects if each["kind"] == "DaemonSet"]
    account = auditor["spec"]["template"]["spec"]["serviceAccountName"]
    assert auditor["metadata"] == {**auditor["metadata"], "name": account, "namespace": "gpu"}
    [rights] = [
        each
        for each in objects
        if each["kind"] == "ClusterRole" and each["metadata"]["name"].endswith(f":{account}")
    ]
    assert rights["rules"] == [
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ([], []),
        (["--guard-shares"], ["--guard-image=registry/kai:1"]),
        (["--guard-chosen"], ["--guard-image=registry/kai:1", "--no-guard-shares"]),
        (
            ["--guard-shares", "--guard-required", "--guard-mps-threads"],
            ["--guard-image=registry/kai:1", "--guard-required", "--guard-mps-threads"],
        ),
    ],
)
def test_the_guard_is_that_of_the_image(run: Run, given: list[str], options: list[str]) -> None:
    done = run("install", "--image", "registry/kai:1", *given, "--json")
    assert (done.status, done.err) == (0, "")
    [program] = deployments(done.out)["kai-admission"]["spec"]["template"]["spec"]["containers"]
    assert [each for each in program["args"] if "guard" in each] == options


def test_without_an_image_the_guard_is_that_of_this_version(run: Run) -> None:
    assert f"- --guard-image=kai-sched:{kai.__version__}\n" in run("install", "--guard-shares").out


def test_the_role_that_reads_is_printed_alone_with_commands_to_bind_it(run: Run) -> None:
    done = run("install", "--reader")
    assert (done.status, done.err) == (0, "")
    assert kinds(done.out) == ["ClusterRole"]
    assert "# kubectl create clusterrolebinding kai-reader-ann --clusterrole=kai-reader" in done.out
    [role] = json.loads(run("install", "--reader", "--json").out)["items"]
    assert role == yaml.safe_load(done.out)
    assert role["metadata"]["name"] == "kai-reader"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--crds-only", "--numa-exporter"], "--crds-only allows no other option than --json"),
        (["--without-programs", "--numa-exporter"], "--numa-exporter and --without-programs"),
        (["--without-programs", "--gpu-auditor"], "--gpu-auditor and --without-programs"),
        (["--crds-only", "--gpu-auditor"], "--crds-only allows no other option than --json"),
        (["--crds-only", "--without-programs"], "--crds-only allows no other option than --json"),
        (["--without-programs", "--image", "x"], "--image and --without-programs exclude"),
        (["--crds-only", "--image", "x"], "--crds-only allows no other option than --json"),
        (["--reader", "--crds-only"], "--crds-only allows no other option than --json"),
        (["--reader", "--namespace", "gpu"], "--reader allows no other option than --json"),
        (["--crds-only", "--guard-shares"], "--crds-only allows no other option than --json"),
        (["--without-programs", "--guard-chosen"], "--guard-chosen and --without-programs"),
        (["--guard-shares", "--policies", "objects"], "--guard-shares and --policies objects"),
        (["--guard-shares", "--guard-chosen"], "--guard-shares and --guard-chosen exclude"),
        (["--guard-required"], "--guard-required needs --guard-shares or --guard-chosen"),
        (["--namespace", "My Team"], "--namespace: 'My Team' is not a valid namespace"),
        (["--namespace", ""], "--namespace: '' is not a valid namespace"),
        (["--image", ""], "--image: '' is not the name of an image"),
    ],
)
def test_invalid_options_are_refused(run: Run, arguments: list[str], why: str) -> None:
    done = run("install", *arguments)
    assert (done.status, done.out) == (2, "")
    assert why in done.err


CONFIG = """
plugins: {proportion: {kValue: 2}}
usageDBConfig: {clientType: prometheus, connectionString: "http://prometheus:9090"}
"""


@pytest.mark.parametrize("separate", [(), ("--separate",)])
def test_the_configuration_is_mounted_into_the_scheduler(
    run: Run, written: Any, separate: tuple[str, ...]
) -> None:
    file = written("config.yaml", CONFIG)
    done = run("install", "--config", file, "--namespace", "gpu", *separate)
    assert (done.status, done.err) == (0, "")
    objects = list(yaml.safe_load_all(done.out))
    [config_map] = [each for each in objects if each["kind"] == "ConfigMap"]
    assert config_map["metadata"] == {"name": "kai-config", "namespace": "gpu"}
    [(name, text)] = config_map["data"].items()
    assert yaml.safe_load(text) == yaml.safe_load(CONFIG)
    readers = []
    for each in objects:
        if each["kind"] != "Deployment":
            continue
        pod = each["spec"]["template"]["spec"]
        [container] = pod["containers"]
        if "--config" not in container["args"]:
            assert "volumes" not in pod
            continue
        readers.append(container["args"][1])
        [volume], [mount] = pod["volumes"], container["volumeMounts"]
        assert volume == {"name": mount["name"], "configMap": {"name": "kai-config"}}
        at = container["args"][container["args"].index("--config") + 1]
        assert at == f"{mount['mountPath']}/{name}"
    assert readers == ["scheduler" if separate else "all"]


def test_another_configuration_changes_the_pod_template(run: Run, tmp_path: Path) -> None:
    file, seen = tmp_path / "config.yaml", set()
    for value in (1, 2):
        file.write_text(f"plugins: {{proportion: {{kValue: {value}}}}}")
        deployment = deployments(run("install", "--config", file, "--json").out)["kai"]
        seen.add(json.dumps(deployment["spec"]["template"]["metadata"]["annotations"]))
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("usageDBConfig: {clientType: influx}", 2, "unknown client type: influx"),
        ("actions: 7", 2, "actions"),
        (
            "usageDBConfig: {clientType: prometheus, connectionStringEnvVar: USAGE}",
            *(0, "usageDBConfig: the Deployment lacks the variable USAGE"),
        ),
    ],
)
def test_a_configuration_is_checked(
    run: Run, tmp_path: Path, written: Any, text: str, status: int, message: str
) -> None:
    file = written("config.yaml", text)
    done = run("install", "--config", file)
    assert done.status == status
    assert message in done.err
    assert run("install", "--config", tmp_path / "none.yaml").status == 2
    assert run("install", "--config", file, "--crds-only").status == 2
    assert run("install", "--config", file, "--without-programs").status == 2
