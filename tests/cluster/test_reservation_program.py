"""`kai run reservation` as a process beside its pod, with the rights that `kai install` grants."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from testcluster import Client, Cluster, node, path_of
from testcluster.processes import Process

from fakes.scenarios import scenarios
from kai.api.keys import RESERVATION
from kai.controllers.pods.sharing import Reservations, reservation_pod
from kai.install import access, running

ANNOTATION = "run.ai/reserve_for_gpu_index"
ACCOUNT = access.reservation_account()


class Program:
    """It gets the environment variables that the kubelet sets in the container."""

    def __init__(self, pod: dict[str, Any], kubeconfig: Path, folder: Path) -> None:
        metadata, (container,) = pod["metadata"], pod["spec"]["containers"]
        fields = {"metadata.name": metadata["name"], "metadata.namespace": metadata["namespace"]}
        given = {
            each["name"]: fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
            for each in container["env"]
        }
        self._path = folder / "reservation.log"
        self.process = Process.start(
            "reservation",
            [sys.executable, "-m", "kai", *container["args"]],
            log=self._path,
            env={**os.environ, "KUBECONFIG": str(kubeconfig), **given},
        )

    @property
    def log(self) -> str:
        return self._path.read_text()

    async def stop(self) -> int | None:
        await asyncio.to_thread(self.process.stop, 10.0)
        return self.process.exit_status


def play(
    cluster: Cluster,
    folder: Path,
    story: Callable[[Client, Callable[[], Program], dict[str, Any]], Awaitable[None]],
) -> None:
    """A reservation pod runs on a simulated node; the story starts its program."""

    async def run() -> None:
        async with cluster.client() as api:
            for each in (running.namespace(RESERVATION), *ACCOUNT):
                await api.status_of(api.create(each))  # 409: another test has created it
            await api.create(node("n1", 1))
            await api.ready_nodes(1)
            common = Reservations(image="none", fake=True)
            (pod,) = await api.create(reservation_pod("n1", "g1", [], common))
            token = await api.service_account_token(RESERVATION, RESERVATION)
            kubeconfig = cluster.kubeconfig_of(token=token)
            programs: list[Program] = []

            def start() -> Program:
                programs.append(Program(pod, kubeconfig, folder))
                return programs[-1]

            try:
                await story(api, start, pod)
            finally:
                for each in programs:
                    await each.stop()
                await api.delete(path_of("Pod", RESERVATION), gracePeriodSeconds=0)

    asyncio.run(run())


scenario = scenarios(play, "cluster", "tmp_path")


async def device_of(api: Client, pod: dict[str, Any]) -> str:
    path = path_of("Pod", RESERVATION, pod["metadata"]["name"])
    annotations = (await api.get(path))["metadata"].get("annotations", {})
    return str(annotations.get(ANNOTATION, ""))


@scenario
async def test_the_program_writes_its_device_once_and_holds_it(
    api: Client, start: Callable[[], Program], pod: dict[str, Any], *, namespace: str
) -> None:
    first = start()
    device = await api.until("the pod has a device", lambda: device_of(api, pod))
    assert device.startswith("GPU-")
    assert first.process.is_running()
    assert await first.stop() == 0
    second = start()  # the kubelet starts the container again

    async def is_done() -> bool:
        return "the pod already has the device" in second.log

    await api.until("the second one leaves it", is_done)
    assert await second.stop() == 0
    assert await device_of(api, pod) == device
    assert "warning" not in second.log


@scenario
async def test_a_program_without_rights_tries_again(
    api: Client, start: Callable[[], Program], pod: dict[str, Any], *, namespace: str
) -> None:
    binding = ACCOUNT[-1]
    await api.delete(path_of("RoleBinding", RESERVATION, binding["metadata"]["name"]))
    account = f"{RESERVATION}:{RESERVATION}"

    async def may_not() -> bool:
        return not await api.may(account, "get", "pods", "", RESERVATION)

    await api.until("the right is gone", may_not)
    program = start()

    async def has_logged_the_right() -> bool:
        return "warning kai: could not write the device on the pod" in program.log

    await api.until("it complains", has_logged_the_right)
    await api.create(binding)
    assert await api.until("the pod has a device", lambda: device_of(api, pod))
    assert await program.stop() == 0
    assert "Traceback" not in program.log


@scenario
async def test_two_devices_are_one_sentence_and_an_end(
    api: Client, start: Callable[[], Program], pod: dict[str, Any], *, namespace: str
) -> None:
    pod["spec"]["containers"][0]["args"][2:] = ["--device=GPU-1", "--device=GPU-2"]
    program = start()

    async def ended() -> bool:
        return not program.process.is_running()

    await api.until("it ends", ended)
    assert program.process.exit_status == 2
    assert program.log == "kai: found 2 devices, 1 was expected\n"
