"""Our Helm chart beside and in the place of KAI's own chart (KAI_CHART), on a real API server."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from chart_play import (
    KAIS_RELEASE,
    Helm,
    HelmError,
    change_queue,
    exists,
    is_placed,
    keeps_its_queue,
    rounds,
    run_commands,
)
from kais_release import NAMESPACE, OF_USERS, OPERATOR, USUAL, KaisRelease, images
from machine_play import Scene
from testcluster import UnavailableError, kais_chart, node, path_of

from fakes.scenarios import scenarios
from kai.api import defaults, webhooks
from kai.api.keys import RESERVATION
from kai.api.resources import OURS, resource

pytestmark = [pytest.mark.chart_rounds, pytest.mark.timeout(600)]

NO_QUEUES = ("--set", "defaultQueue.createDefaultQueue=false")
NO_CLASSES = ("--set", "defaultPriorityClasses.enabled=false")
VALUES = pytest.mark.parametrize("values", [USUAL, OF_USERS], ids=["usual", "of-users"])
Story = Callable[[Scene, Helm, KaisRelease], Awaitable[None]]


def play(programs: Mapping[str, Path], tmp_path: Path, story: Story) -> None:
    """Plays a story with KAI's chart."""
    try:
        chart = kais_chart.folder()
    except UnavailableError as error:
        pytest.skip(str(error))

    async def with_kai(scene: Scene, helm: Helm, _: str) -> None:
        await scene.api.create(node("simulated", 8))
        await story(scene, helm, KaisRelease(scene, helm, chart))

    rounds(programs, tmp_path, with_kai, images=images(chart, programs))


scenario = scenarios(play, "programs", "tmp_path")


async def ours_is_complete(scene: Scene, helm: Helm, release: str, namespace: str) -> None:
    """All objects that our programs need exist, also those that KAI's chart has too."""
    await helm.run("test", release, "-n", namespace)
    for name in defaults.PRIORITIES:
        assert await exists(scene, "PriorityClass", name), name
    assert await exists(scene, "ServiceAccount", RESERVATION, RESERVATION)
    account = f"system:serviceaccount:{RESERVATION}:{RESERVATION}"
    may = ("auth", "can-i", "patch", "pods", "-n", RESERVATION, "--as", account)
    assert await asyncio.to_thread(scene.cluster.kubectl, *may) == "yes\n"
    for name, kind in webhooks.CONFIGURATIONS.items():
        found = await exists(scene, kind, name)
        assert found is not None, name
        for each in found["webhooks"]:
            assert each["clientConfig"]["service"]["namespace"] == namespace
    for each in OURS:
        name = f"{each.plural}.{each.group}"
        assert await exists(scene, "CustomResourceDefinition", name), name


@VALUES
@scenario
async def test_beside_kais_release_nothing_of_it_changes(
    scene: Scene, helm: Helm, kai: KaisRelease, *, values: tuple[str, ...]
) -> None:
    await kai.install(*values)
    before = await kai.objects()
    assert len(before) > 40
    notes = await helm.apply("install", "mine", "ours", None, *values)
    assert "KAI's programs run in namespace kai-scheduler" in notes
    assert await kai.objects() == before
    await helm.apply("upgrade", "mine", "ours", None, *values, "--set", "topology=split")
    assert await kai.objects() == before
    await is_placed(scene, "beside")
    await helm.run("uninstall", "mine", "-n", "ours", "--wait")
    assert await kai.objects() == before


@scenario
async def test_in_the_namespace_of_kais_release_nothing_of_it_changes(
    scene: Scene, helm: Helm, kai: KaisRelease
) -> None:
    await kai.install()
    before = await kai.objects()
    await helm.apply("install", "mine", NAMESPACE)
    await helm.apply("upgrade", "mine", NAMESPACE)
    assert await kai.objects() == before
    await is_placed(scene, "beside")
    await helm.run("uninstall", "mine", "-n", NAMESPACE, "--wait")
    assert await kai.objects() == before


@scenario
async def test_after_kais_release_is_gone_an_upgrade_of_ours_creates_what_is_missing(
    scene: Scene, helm: Helm, kai: KaisRelease
) -> None:
    await kai.install()
    await helm.apply("install", "mine", "ours")
    await change_queue(scene)
    await kai.uninstall()
    await scene.machine.until("what the operator created is gone", kai.have_ended)
    await is_placed(scene, "before-the-upgrade")
    await helm.apply("upgrade", "mine", "ours")
    await ours_is_complete(scene, helm, "mine", "ours")
    await keeps_its_queue(scene)
    await is_placed(scene, "after-the-upgrade")


@VALUES
@pytest.mark.parametrize(
    "more", [(), ("--reuse-values",), ("--set", "topology=split")], ids=["plain", "reused", "split"]
)
@scenario
async def test_in_the_place_of_kais_release(
    scene: Scene, helm: Helm, kai: KaisRelease, *, values: tuple[str, ...], more: tuple[str, ...]
) -> None:
    await kai.install(*values)
    await change_queue(scene)
    before = await kai.objects()
    with pytest.raises(HelmError) as error:
        await helm.apply("upgrade", KAIS_RELEASE, NAMESPACE, None, *values, *more)
    assert await kai.objects() == before
    assert await run_commands(scene, str(error.value)) == 4
    await scene.machine.until("what the operator created is gone", kai.have_ended)

    await helm.apply("upgrade", KAIS_RELEASE, NAMESPACE, None, *values, *more)
    assert await exists(scene, "Deployment", OPERATOR, NAMESPACE) is None
    await ours_is_complete(scene, helm, KAIS_RELEASE, NAMESPACE)
    await keeps_its_queue(scene)
    await is_placed(scene, "ours")


@VALUES
@pytest.mark.parametrize("release", [KAIS_RELEASE, "mine"])
@scenario
async def test_after_kais_release_was_uninstalled(
    scene: Scene, helm: Helm, kai: KaisRelease, *, values: tuple[str, ...], release: str
) -> None:
    await kai.install(*values)
    await change_queue(scene)
    await kai.uninstall()
    await scene.machine.until("what the operator created is gone", kai.have_ended)
    await helm.apply("install", release, NAMESPACE, None, *values)
    await ours_is_complete(scene, helm, release, NAMESPACE)
    await keeps_its_queue(scene)
    await is_placed(scene, "ours")


@scenario
async def test_what_kais_operator_created_must_be_gone_before_ours_is_created(
    scene: Scene, helm: Helm, kai: KaisRelease
) -> None:
    """The garbage collector deletes it some time after the object that it belongs to."""
    await kai.install()
    [(name, kind), *_] = webhooks.CONFIGURATIONS.items()
    path = resource(kind).path(name=name)
    await scene.api.patch(path, {"metadata": {"finalizers": ["kai.test/hold"]}})
    await kai.uninstall()
    with pytest.raises(HelmError) as error:
        await helm.apply("install", "mine", "ours")
    assert f"{kind} {name} is being deleted: run this command again" in str(error.value)
    await scene.api.patch(path, {"metadata": {"finalizers": None}})
    await scene.machine.until("what the operator created is gone", kai.have_ended)
    await helm.apply("install", "mine", "ours")
    await ours_is_complete(scene, helm, "mine", "ours")


async def replace(scene: Scene, helm: Helm, kai: KaisRelease) -> None:
    """Ours takes the place of KAI's release."""
    await kai.install()
    with pytest.raises(HelmError) as error:
        await helm.apply("upgrade", KAIS_RELEASE, NAMESPACE)
    await run_commands(scene, str(error.value))
    await scene.machine.until("what the operator created is gone", kai.have_ended)
    await helm.apply("upgrade", KAIS_RELEASE, NAMESPACE)
    await change_queue(scene)


@scenario
async def test_an_upgrade_to_kais_chart_goes_back(
    scene: Scene, helm: Helm, kai: KaisRelease
) -> None:
    await replace(scene, helm, kai)
    await kai.apply("upgrade")
    [program] = await scene.api.items(path_of("Deployment", NAMESPACE))
    assert program["metadata"]["name"] == OPERATOR
    assert await exists(scene, "Config", "kai-config")
    assert await exists(scene, "SchedulingShard", "default")
    for name, kind in webhooks.CONFIGURATIONS.items():
        assert await exists(scene, kind, name) is None
    await keeps_its_queue(scene)


@scenario
async def test_a_rollback_to_kais_revision_fails_and_an_upgrade_repairs_it(
    scene: Scene, helm: Helm, kai: KaisRelease
) -> None:
    await replace(scene, helm, kai)
    with pytest.raises(HelmError) as error:
        await helm.run("rollback", KAIS_RELEASE, "1", "-n", NAMESPACE, "--wait")
    assert 'no Queue with the name "default-parent-queue" found' in str(error.value)
    assert await exists(scene, "Deployment", OPERATOR, NAMESPACE)
    await is_placed(scene, "after-the-rollback")
    notes = await helm.apply("upgrade", KAIS_RELEASE, NAMESPACE)
    assert "KAI's programs run" not in notes
    assert await exists(scene, "Deployment", OPERATOR, NAMESPACE) is None
    await ours_is_complete(scene, helm, KAIS_RELEASE, NAMESPACE)
    await keeps_its_queue(scene)


@scenario
async def test_kais_chart_after_ours_was_uninstalled(
    scene: Scene, helm: Helm, kai: KaisRelease
) -> None:
    await helm.apply("install", "mine", NAMESPACE)
    await change_queue(scene)
    await helm.run("uninstall", "mine", "-n", NAMESPACE, "--wait")
    with pytest.raises(HelmError, match=r'Queue "default-parent-queue" .* exists'):
        await kai.install()
    await kai.install(*USUAL, *NO_QUEUES)
    await keeps_its_queue(scene)


@scenario
async def test_kais_chart_beside_ours(scene: Scene, helm: Helm, kai: KaisRelease) -> None:
    await helm.apply("install", "mine", "ours")
    await kai.apply("install", *USUAL, *NO_QUEUES, *NO_CLASSES)
    await ours_is_complete(scene, helm, "mine", "ours")
    await kai.uninstall()
    await helm.apply("upgrade", "mine", "ours")
    await ours_is_complete(scene, helm, "mine", "ours")
