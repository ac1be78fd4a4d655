"""Pods that share a GPU pass KAI's webhook on a real API server."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from recordings import recordings
from testcluster import MUTATE, Admission, ApiError, Client, Cluster, path_of, pod

from fakes.scenarios import scenarios
from kai.controllers.admission import Rules
from kai.controllers.pods.sharing import config_maps, shares_gpus

RECORDED = {each.name: each for each in recordings()}
HALF = {"gpu-fraction": "0.5"}


async def in_force(
    cluster: Cluster, story: Callable[[Client, Admission], Awaitable[None]], **rules: Any
) -> None:
    async with cluster.client() as api, Admission(cluster, Rules(**rules)) as admission:
        await story(api, admission)


scenario = scenarios(in_force, "cluster")


def as_kai(pod: dict[str, Any]) -> Any:
    """The pod as the recordings store it, with one name for random parts."""
    random = re.compile(r"[b-df-hj-np-tv-xz2-9]{7}(?=-shared-gpu)|<rnd[0-9]+>")
    spec = {
        key: pod["spec"].get(key)
        for key in ("volumes", "containers", "initContainers", "runtimeClassName")
    }
    spec["volumes"] = [each for each in spec["volumes"] or [] if "configMap" in each]
    for each in (*(spec["containers"] or []), *(spec["initContainers"] or [])):
        for added in ("volumeMounts", "imagePullPolicy"):
            each.pop(added, None)
        for key in [key for key in each if key.startswith("termination")]:
            del each[key]
    kept = {"annotations": pod["metadata"].get("annotations", {}), "spec": spec}
    return json.loads(random.sub("random", json.dumps(kept)))


@pytest.mark.parametrize(
    "name",
    [
        "06-fractions-on-one-gpu",
        "07-gpu-memory",
        "08-fraction-num-devices",
        "46-init-and-side-containers",
    ],
)
def test_the_api_server_has_the_same_pods_as_with_kai(
    cluster: Cluster, namespace: str, name: str
) -> None:
    kais = {
        entry["name"]: entry["object"]
        for entry in reversed(RECORDED[name].timeline)
        if entry.get("kind") == "Pod" and entry.get("event") == "ADDED"
    }
    pods = [each for each in RECORDED[name].manifests if each["kind"] == "Pod"]

    async def story(api: Client, admission: Admission) -> None:
        for manifest in pods:
            manifest["metadata"]["namespace"] = namespace
            del manifest["metadata"]["uid"]
            ours = await api.create_one(manifest)
            assert as_kai(ours) == as_kai(kais[manifest["metadata"]["name"]])

    asyncio.run(in_force(cluster, story))


def test_invalid_pods_are_refused_with_kais_messages(cluster: Cluster, namespace: str) -> None:
    recording = RECORDED["09-invalid-annotations-admission"]
    answers = {each["do"].rpartition("/")[2]: each for each in recording.content["responses"]}

    async def story(api: Client, admission: Admission) -> None:
        for manifest in recording.manifests:
            if manifest["kind"] != "Pod" or manifest["metadata"]["name"] not in answers:
                continue
            answer = answers.pop(manifest["metadata"]["name"])
            manifest["metadata"]["namespace"] = namespace
            del manifest["metadata"]["uid"]
            with pytest.raises(ApiError) as refused:
                await api.create_one(manifest)
            assert refused.value.status == answer["code"]
            assert answer["message"] in str(refused.value)

    asyncio.run(in_force(cluster, story))
    assert answers == {}


@scenario
async def test_pods_of_other_schedulers_are_not_reviewed(
    api: Client, admission: Admission, *, namespace: str
) -> None:
    before = admission.reviews[MUTATE]
    other = pod("other", namespace, 0, scheduler="default-scheduler", annotations={"mps": "1"})
    assert shares_gpus(other) is False
    other["metadata"]["annotations"] = {"gpu-fraction": "7"}
    await api.create(other)
    assert admission.reviews[MUTATE] == before


@scenario(hami=True, blocks_devices=True, runtime_class="")
async def test_optional_settings_are_written(
    api: Client, admission: Admission, *, namespace: str
) -> None:
    side = [{"name": "main", "image": "none"}, {"name": "side", "image": "none"}]

    half = pod("half", namespace, 0, annotations=HALF, containers=side)
    made = await api.create_one(half)
    main, other = made["spec"]["containers"]
    limit = main["env"][-1]
    assert limit["name"] == "CUDA_DEVICE_MEMORY_LIMIT"
    assert limit["valueFrom"]["configMapKeyRef"]["optional"] is True
    assert limit["valueFrom"]["configMapKeyRef"]["name"] == config_maps(made).capabilities
    assert other["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
    assert "runtimeClassName" not in made["spec"]


def test_webhooks_are_removed_at_the_end(cluster: Cluster, namespace: str) -> None:
    async def story(api: Client, admission: Admission) -> None:
        pass

    async def after() -> None:
        async with cluster.client() as api:
            (made,) = await api.create(pod("bad", namespace, 0, annotations={"gpu-fraction": "7"}))
            assert made["metadata"]["annotations"] == {"gpu-fraction": "7"}
            assert await api.items(f"{path_of('Pod', namespace)}") != []

    asyncio.run(in_force(cluster, story))
    asyncio.run(after())
