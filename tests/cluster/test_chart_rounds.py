"""The Helm chart on a real API server: installed, upgraded, rolled back and removed, beside KAI and
in its place. A machine runs the programs and the hooks."""

import asyncio
import shutil
from pathlib import Path

import pytest
import yaml
from chart_play import (
    CHART,
    KAIS_RELEASE,
    Helm,
    HelmError,
    change_queue,
    exists,
    is_placed,
    keeps_its_queue,
    of_kai,
    operator_chart,
    program_of_kai,
    run_commands,
    scenario,
)
from creating_play import Creating
from machine_play import RUNTIME_CLASS, Scene
from testcluster import node, path_of

from kai.api.keys import RESERVATION
from kai.api.resources import OURS, resource
from kai.install import hooks
from kai.install.definitions import VERSION_ANNOTATION

pytestmark = [pytest.mark.chart_rounds, pytest.mark.timeout(600)]

SETS = Path(__file__).parents[1] / "chart/value_sets.yaml"
NOT_SERVED = ("PodMonitor", "VerticalPodAutoscaler")
"""Kinds of other projects, which the test cluster does not have."""
CRD = "CustomResourceDefinition"


@scenario
async def test_the_life_of_a_release(scene: Scene, helm: Helm, namespace: str) -> None:
    await scene.api.create(node("simulated", 8))
    notes = await helm.apply("install", "mine", namespace, {"binder": {"image": {"tag": "v1"}}})
    assert "binder.image" in notes
    await is_placed(scene, "after-install")
    await helm.run("test", "mine", "-n", namespace)
    await change_queue(scene)

    await helm.apply("upgrade", "mine", namespace, {"scheduler": {"kValue": 2}})
    config = await exists(scene, "ConfigMap", "kai-config", namespace)
    assert config is not None
    assert "kValue: 2" in config["data"]["config.yaml"]
    await is_placed(scene, "after-upgrade")
    await helm.run("rollback", "mine", "-n", namespace, "--wait")
    await is_placed(scene, "after-rollback")
    await keeps_its_queue(scene)

    await helm.run("uninstall", "mine", "-n", namespace, "--wait")
    assert await scene.api.items(path_of("Deployment", namespace)) == []
    assert await exists(scene, "PriorityClass", "train") is None
    assert await exists(scene, "Namespace", RESERVATION)
    await keeps_its_queue(scene)
    for each in OURS:
        assert await exists(scene, CRD, f"{each.plural}.{each.group}")
    await scene.phase("after-rollback", "Running")

    await helm.apply("install", "again", namespace)
    await keeps_its_queue(scene)
    await is_placed(scene, "after-another-install")


KEPT = (
    f"namespace/{RESERVATION}",
    "queue.scheduling.run.ai/default-parent-queue",
    "queue.scheduling.run.ai/default-queue",
    "secret/kai-admission-webhook-tls-secret",
)
"""What stays besides definitions and pod groups, as docs/howto/upgrade.md says."""


@pytest.mark.timeout(1800)
@scenario
async def test_ten_rounds_refuse_no_pod_and_leave_nothing(
    scene: Scene, helm: Helm, namespace: str
) -> None:
    """Pods are created all the while, also when no webhook and no definition is there. Before each
    upgrade a definition is made older, as the one of an older chart."""
    await scene.api.create(RUNTIME_CLASS, node("simulated", 32))
    before = await everything(scene)
    async with Creating(scene.api, scene.namespace, pause_s=0.05) as creating:
        for number in range(10):
            await one_round(scene, helm, namespace, f"r{number}")
            assert await everything(scene) - before == {*KEPT, f"namespace/{namespace}"}
    assert creating.made > 500
    assert creating.refused == []
    logs = scene.machine.log("kai-")
    assert [line for line in logs.splitlines() if "ERROR" in line or "Traceback" in line] == []


async def one_round(scene: Scene, helm: Helm, namespace: str, name: str) -> None:
    await helm.apply("install", "mine", namespace)
    await is_placed(scene, f"{name}-installed")
    await make_older(scene)
    await helm.apply("upgrade", "mine", namespace, {"scheduler": {"kValue": 2}})
    await is_current(scene)
    await is_placed(scene, f"{name}-upgraded")
    await helm.run("rollback", "mine", "-n", namespace, "--wait")
    await is_placed(scene, f"{name}-rolled-back")
    await helm.run("uninstall", "mine", "-n", namespace, "--wait")


async def everything(scene: Scene) -> set[str]:
    """Kinds and names of all objects in the cluster that a release may have created."""
    kinds = await asyncio.to_thread(
        scene.cluster.kubectl, *("api-resources", "--verbs=list,delete", "-o", "name")
    )
    skipped = ("apiservices", "customresourcedefinitions", "events", "leases", "podgroups", "pods")
    found = set[str]()
    for kind in kinds.split():
        if kind.partition(".")[0] not in skipped:
            listed = ("get", kind, "-A", "-o", "name", "--ignore-not-found")
            found |= set((await asyncio.to_thread(scene.cluster.kubectl, *listed)).split())
    return found


@scenario
async def test_an_upgrade_repairs_a_rollback_over_a_change_of_the_reservations(
    scene: Scene, helm: Helm, namespace: str
) -> None:
    """docs/howto/upgrade.md describes both."""

    async def config() -> str:
        found = await exists(scene, "ConfigMap", "kai-config", namespace)
        assert found is not None
        return str(found["data"]["config.yaml"])

    await scene.api.create(node("simulated", 8))
    await helm.apply("install", "mine", namespace)
    there = {"global": {"resourceReservation": {"createNamespace": False}}}
    await helm.apply("upgrade", "mine", namespace, {**there, "scheduler": {"kValue": 2}})
    with pytest.raises(HelmError, match=f'no Namespace with the name "{RESERVATION}" found'):
        await helm.run("rollback", "mine", "-n", namespace, "--wait")
    assert "kValue: 2" in await config()

    values = await helm.run("get", "values", "mine", "-n", namespace, "--revision", "1")
    assert "createNamespace" not in values
    await helm.apply("upgrade", "mine", namespace)
    assert "kValue" not in await config()
    await is_placed(scene, "after-the-repair")
    await helm.run("test", "mine", "-n", namespace)


@scenario
async def test_a_deployment_for_each_role(scene: Scene, helm: Helm, namespace: str) -> None:
    await scene.api.create(node("simulated", 8))
    values = {"topology": "split", "scheduler": {"args": {"binding": "bind-requests"}}}
    await helm.apply("install", "mine", namespace, values)
    found = await scene.api.items(path_of("Deployment", namespace))
    assert {each["metadata"]["name"] for each in found} == {
        *("kai-scheduler-default", "binder", "pod-grouper"),
        *("podgroup-controller", "queue-controller", "kai-admission"),
    }
    await is_placed(scene, "one")


@scenario
async def test_a_mistake_in_a_value_stops_no_program(
    scene: Scene, helm: Helm, namespace: str
) -> None:
    await scene.api.create(node("simulated", 8))
    await helm.apply("install", "mine", namespace)
    deployments = path_of("Deployment", namespace)
    before = [each["spec"] for each in await scene.api.items(deployments)]
    for values, sentence in (
        ({"scheduler": {"args": {"foo": "bar"}}}, "there is no option '--foo'"),
        ({"scheduler": {"extras": {"foo": 1}}}, "extras.foo must be true or false"),
        ({"admission": {"additionalArgs": ["--fu"]}}, "there is no option '--fu'"),
    ):
        with pytest.raises(HelmError, match="kai-hook-check failed"):
            await helm.apply("upgrade", "mine", namespace, values)
        assert sentence in scene.machine.log("kai-hook-check")
        assert [each["spec"] for each in await scene.api.items(deployments)] == before
    await is_placed(scene, "after-mistakes")
    with pytest.raises(HelmError):
        await helm.run("test", "mine", "-n", namespace)  # of the newest revision
    await helm.run("rollback", "mine", "1", "-n", namespace, "--wait")
    await helm.run("test", "mine", "-n", namespace)


@scenario
async def test_helm_test_looks_at_each_deployment(scene: Scene, helm: Helm, namespace: str) -> None:
    await helm.apply("install", "mine", namespace, {"topology": "split"})
    await helm.run("test", "mine", "-n", namespace)
    # Both addresses are valid, but a port is used once.
    values = {"topology": "split", "admission": {"additionalArgs": ["--webhook-addr=:8080"]}}
    with pytest.raises(HelmError, match=r"timed out|deadline exceeded"):
        await helm.apply("upgrade", "mine", namespace, values, "--timeout", "5s")
    with pytest.raises(HelmError):
        await helm.run("test", "mine", "-n", namespace)
    assert "Deployment kai-admission in namespace" in scene.machine.log("kai-hook-test")


@scenario
async def test_a_newer_definition_stays_and_an_older_one_of_kai_is_replaced(
    scene: Scene, helm: Helm, namespace: str
) -> None:
    await helm.apply("install", "mine", namespace)
    queues = resource(CRD).path(name="queues.scheduling.run.ai")
    newer = {"metadata": {"annotations": {VERSION_ANNOTATION: "99.0.0"}}}
    await scene.api.patch(queues, newer)
    await make_older(scene)
    await helm.apply("upgrade", "mine", namespace)
    found = await scene.api.get(queues)
    assert found["metadata"]["annotations"][VERSION_ANNOTATION] == "99.0.0"
    await is_current(scene)


GROUPS = resource(CRD).path(name="podgroups.scheduling.run.ai")


async def make_older(scene: Scene) -> None:
    """Takes a field out of the definition of pod groups."""
    [version] = (await scene.api.get(GROUPS))["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["minMember"]
    await scene.api.patch(GROUPS, {"spec": {"versions": [version]}})


async def is_current(scene: Scene) -> None:
    [version] = (await scene.api.get(GROUPS))["spec"]["versions"]
    assert "minMember" in version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


@scenario
async def test_an_upgrade_from_an_older_chart_with_reuse_values(
    scene: Scene, helm: Helm, namespace: str, *, tmp_path: Path
) -> None:
    await scene.api.create(node("simulated", 8))
    values = {"operator": {"replicaCount": 1}}
    older = older_chart(tmp_path / "older")
    await helm.apply("install", "mine", namespace, values, chart=older)
    await make_older(scene)
    options = ("-n", namespace, "--reuse-values", "--wait", "--timeout", "3m")
    await helm.run("upgrade", "mine", str(CHART), *options)
    await is_current(scene)
    found = await exists(scene, "Deployment", "kai", namespace)
    assert found is not None
    assert found["spec"]["replicas"] == 1
    assert found["metadata"]["labels"]["helm.sh/chart"] != "kai-sched-0.0.9"
    await helm.run("test", "mine", "-n", namespace)
    await is_placed(scene, "after-the-upgrade")


def older_chart(folder: Path) -> Path:
    """The chart without some values, as if they were newer."""
    shutil.copytree(CHART, folder)
    about, values = (
        yaml.safe_load((folder / name).read_text()) for name in ("Chart.yaml", "values.yaml")
    )
    for block in ("admission", "networkPolicy", "gitops", "openshift", "topology"):
        del values[block]
    del values["global"]["gpuSharing"], values["global"]["resourceReservation"]
    (folder / "Chart.yaml").write_text(yaml.safe_dump({**about, "version": "0.0.9"}))
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    return folder


@scenario
async def test_beside_kai_its_objects_keep_their_owner(
    scene: Scene, helm: Helm, namespace: str
) -> None:
    await helm.apply("install", "first", namespace)  # for the definitions
    await helm.run("uninstall", "first", "-n", namespace, "--wait")
    for queue in ("default-queue", "default-parent-queue"):
        await scene.api.delete(resource("Queue").path(name=queue))
    objects = yaml.safe_dump_all(of_kai("kais"))
    await asyncio.to_thread(
        scene.cluster.kubectl,
        *("apply", "--server-side", "--force-conflicts", "-f", "-"),
        stdin=objects,
    )
    await helm.apply("install", "mine", namespace)
    await helm.apply("upgrade", "mine", namespace, {"operator": {"replicaCount": 1}})
    await helm.run("uninstall", "mine", "-n", namespace, "--wait")
    for each in of_kai("kais"):
        metadata = each["metadata"]
        found = await exists(scene, each["kind"], metadata["name"], metadata.get("namespace", ""))
        assert found is not None
        owner = found["metadata"]["annotations"]["meta.helm.sh/release-name"]
        assert owner == KAIS_RELEASE


@scenario
async def test_an_upgrade_makes_priority_classes_again_that_kai_took_along(
    scene: Scene, helm: Helm, namespace: str
) -> None:
    await helm.apply("install", "mine", namespace)
    await scene.api.delete(resource("PriorityClass").path(name="train"))
    await helm.apply("upgrade", "mine", namespace)
    assert await exists(scene, "PriorityClass", "train")


@scenario
async def test_an_upgrade_of_kais_release_is_refused_while_its_programs_exist(
    scene: Scene, helm: Helm, namespace: str, *, tmp_path: Path
) -> None:
    await helm.apply("install", "first", namespace)  # for the definitions
    await helm.run("uninstall", "first", "-n", namespace, "--wait")
    chart = operator_chart(tmp_path / "operator")
    await helm.apply("install", KAIS_RELEASE, namespace, chart=chart)
    config = {"apiVersion": "kai.scheduler/v1", "kind": "Config", "spec": {}}
    config = {**config, "metadata": {"name": "kai-config"}}
    made = await scene.api.create_one(config)
    owner = {"apiVersion": config["apiVersion"], "kind": "Config", "name": "kai-config"}
    owner["uid"] = made["metadata"]["uid"]
    await scene.api.create(program_of_kai("binder", namespace, ownerReferences=[owner]))
    with pytest.raises(HelmError) as error:
        await helm.apply("upgrade", KAIS_RELEASE, namespace)
    assert await run_commands(scene, str(error.value)) == 4
    gone = scene.api.is_gone(path_of("Deployment", namespace, "binder"))
    await scene.machine.until("KAI's program is gone", gone)
    await helm.apply("upgrade", KAIS_RELEASE, namespace)
    assert await exists(scene, "Deployment", "kai-operator", namespace) is None
    await scene.machine.runs(namespace, "app.kubernetes.io/name=kai-sched", count=2)


@scenario
async def test_the_server_accepts_all_sets_of_values(
    scene: Scene, helm: Helm, namespace: str, *, tmp_path: Path
) -> None:
    # For the definitions; the webhooks would miss the parents of queues in a dry run.
    await helm.apply("install", "mine", namespace, {"admission": {"enabled": False}})
    for name in ("rendered", "gpu-holders"):
        await scene.api.create_namespace(name)
    # A dry run creates nothing, and the server refuses a pod without its account.
    for account in (hooks.ACCOUNT, hooks.TEST_ACCOUNT):
        command = ("create", "serviceaccount", account, "-n", "rendered")
        await asyncio.to_thread(scene.cluster.kubectl, *command)
    for each in yaml.safe_load(SETS.read_text()):
        file = tmp_path / "set.yaml"
        file.write_text(yaml.safe_dump(each["values"]))
        rendered = ("template", "other", str(CHART), "-n", "rendered")
        text = await helm.run(*rendered, "--values", str(file))
        made = [
            manifest
            for manifest in yaml.safe_load_all(text)
            if manifest and manifest["kind"] not in NOT_SERVED
        ]
        await asyncio.to_thread(
            scene.cluster.kubectl,
            *("apply", "--server-side", "--force-conflicts", "--dry-run=server"),
            *("--validate=strict", "-f", "-"),
            stdin=yaml.safe_dump_all(made),
        )
