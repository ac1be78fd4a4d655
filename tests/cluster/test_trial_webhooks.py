"""`kai run all --webhooks` started from a shell: nothing else of kai runs or is registered in the
cluster, and new objects are admitted while it does not run."""

from __future__ import annotations

import pytest
from scene_play import scenario
from testcluster import ApiError, Reservations, Scene, node, path_of, queue
from testcluster.arguments import HOST
from testcluster.devices import environment, half, pods_of, until_free
from testcluster.ports import free_ports
from testcluster.scene import until

from kai.api import keys, webhooks

SHARED = "runai/shared-gpu-configmap"
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"


class Trial:
    """`start` is a user's command line."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._own = scene, f"{scene.namespace}-kai"

    async def start(self, *options: str) -> None:
        """Returns when new pods are changed."""
        [port] = free_ports(1)
        await self._scene.start(
            *("--namespace", self._own),  # its pods would not be reviewed
            *("--webhooks", "--webhook-url", f"https://{HOST}:{port}"),
            *("--webhook-addr", f"{HOST}:{port}"),
            *("--gpu-fraction-runtime-class-name", ""),  # there is no class in this cluster
            *options,
            direct=True,
        )
        await until(self._scene, "new pods are changed", self.changes_pods)

    async def __aenter__(self) -> Trial:
        await self._scene.api.create_namespace(self._own)
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in await self.registrations():
            await self._scene.api.delete(each)
        await self._scene.api.delete(path_of("Namespace", name=self._own))

    async def changes_pods(self) -> bool:
        path, probe = path_of("Pod", self._scene.namespace), half("probe", self._scene.namespace)
        made = await self._scene.api.request("POST", path, probe, parameters={"dryRun": "All"})
        return SHARED in made["metadata"]["annotations"]

    async def registrations(self) -> list[str]:
        """Their paths."""
        found = []
        for name, kind in webhooks.CONFIGURATIONS.items():
            path = f"{REGISTRATIONS}/{kind.lower()}s/{name}"
            if await self._scene.api.status_of(self._scene.api.get(path)) == 200:
                found.append(path)
        return found


@scenario
async def test_a_half_runs_and_pods_are_created_without_it(scene: Scene, *, namespace: str) -> None:
    async with Reservations(scene.api), Trial(scene) as trial:
        await scene.api.create(node("a10", 1, gpu_memory_mib=23028))
        await scene.api.ready_nodes(1)
        await trial.start()
        await scene.api.create(half("seen", namespace))
        await scene.bound(1)
        seen = await environment(scene, "seen")
        assert seen["NVIDIA_VISIBLE_DEVICES"] == "GPU-a10-0"

        async def runs() -> bool:
            return bool((await pods_of(scene))["seen"]["status"]["phase"] == "Running")

        await until(scene, "the pod runs", runs)
        with pytest.raises(ApiError, match="gpu-fraction annotation value must be"):
            await scene.api.create(half("wrong", namespace, "1.5"))

        scene.kill()
        made = await scene.api.create_one(half("unseen", namespace))
        assert SHARED not in made["metadata"]["annotations"]

        await trial.start()
        for name in ("seen", "unseen"):
            await scene.api.delete(path_of("Pod", namespace, name))
        await until_free(scene)
        assert len(await trial.registrations()) == len(webhooks.CONFIGURATIONS)
        assert scene.kai.stop() == 0
        assert await trial.registrations() == []
        await scene.api.create(half("later", namespace))


RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@scenario
async def test_a_guarded_half_is_admitted_where_pods_are_restricted(
    scene: Scene, *, namespace: str
) -> None:
    enforce = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    async with Reservations(scene.api), Trial(scene) as trial:
        await scene.api.create(node("a10", 1, gpu_memory_mib=23028))
        await scene.api.ready_nodes(1)
        await trial.start("--guard-image", "registry.example/kai-sched:1")
        await scene.api.patch(path_of("Namespace", name=namespace), enforce)
        given = half("guarded", namespace)
        given["spec"]["containers"][0]["securityContext"] = RESTRICTED
        await scene.api.create(given)
        await scene.bound(1)
        found = (await pods_of(scene))["guarded"]["spec"]
        [files] = found["initContainers"]
        assert files["args"] == ["run", "guard-files", "/run/kai-guard", "--optional"]
        [container] = found["containers"]
        values = {each["name"]: each.get("value") for each in container["env"]}
        assert values["KAI_GUARD_LIMIT"] == "0.5"
        assert values["LD_PRELOAD"] == "/run/kai-guard/libkaiguard.so"
        refused = half("plain", namespace)
        with pytest.raises(ApiError, match="violates PodSecurity"):
            await scene.api.create(refused)


@scenario
async def test_a_queue_chooses_the_guard_for_pods_of_the_queues_below_it(
    scene: Scene, *, namespace: str
) -> None:
    above, team = (f"{namespace}-{each}" for each in ("above", "team"))
    chosen = queue(above)
    chosen["metadata"]["annotations"] = {keys.GUARD_ANNOTATION: "true"}
    async with Reservations(scene.api), Trial(scene) as trial:
        await scene.api.create(node("a10", 1, gpu_memory_mib=23028))
        await scene.api.ready_nodes(1)
        await scene.api.create(chosen, queue(team, above))
        await trial.start("--guard-image", "registry.example/kai-sched:1", "--no-guard-shares")
        path, probe = path_of("Pod", namespace), half("probe", namespace, queue=team)

        async def is_guarded() -> bool:
            made = await scene.api.request("POST", path, probe, parameters={"dryRun": "All"})
            return keys.GUARD_LIMIT_ENV in str(made["spec"]["containers"])

        await until(scene, "the queues are listed", is_guarded)
        # Names of the user's own: the pod starts without the guard, as they would be lost.
        probe["spec"]["volumes"] = [{"name": "kai-guard", "emptyDir": {}}]
        assert not await is_guarded()
        probe["spec"]["volumes"] = []
        probe["metadata"]["labels"] = {}
        assert not await is_guarded()

        mps = {keys.MPS_ANNOTATION: "true"}
        await scene.api.create(half("by-mps", namespace, queue=team, annotations=mps))
        await scene.bound(1)
        seen = await environment(scene, "by-mps")
        assert seen[keys.MPS_LIMIT_ENV] == "0=11500M"
        assert keys.MPS_THREADS_ENV not in seen
