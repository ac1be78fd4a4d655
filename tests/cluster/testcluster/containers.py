"""Runs the commands of pods on this machine, because kwok only reports that they run.

    async with Containers(api, namespace, python=..., folder=..., ...) as containers:
        ...
        print(containers.log("pod-1"))

The first container of each running pod of the namespace is started as a process with the variables
that a kubelet would set, including those of ConfigMaps. Its exit status becomes that of the pod.
Only `python -m MODULE` is supported: `python` runs it, with the name of the pod as the host's name,
as in a container. There are no images and volumes: `environment` and `folder`, the process's
working directory, replace the image's contents. Pods for the scheduler of Kubernetes are bound to
`node`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from .client import ApiError, Client, Object, path_of
from .machine.data import Data
from .machine.environment import variables_of

KUBERNETES_OWN = "default-scheduler"
PAUSE_S = 0.2

RUN = """
import runpy, socket, sys
_, name, module, *arguments = sys.argv
socket.gethostname = lambda: name
sys.argv[:] = [module, *arguments]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


class Containers:
    """`environments`: the variables of each pod, by its name."""

    def __init__(
        self,
        api: Client,
        namespace: str,
        *,
        python: str,
        folder: Path,
        logs: Path,
        environment: Mapping[str, str],
        node: str,
    ) -> None:
        self._api, self._namespace, self._node = api, namespace, node
        self._python, self._folder, self._logs = python, folder, logs
        self._environment = dict(environment)
        self.environments = dict[str, dict[str, str]]()
        self._seen = set[str]()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Containers:
        self._tasks.append(asyncio.create_task(self._follow()))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def log(self, pod: str) -> str:
        path = self._logs / f"{pod}.log"
        return path.read_text() if path.exists() else ""

    async def _follow(self) -> None:
        while True:
            for each in await self._api.items(path_of("Pod", self._namespace)):
                await self._see(each)
            await asyncio.sleep(PAUSE_S)

    async def _see(self, pod: Object) -> None:
        uid, spec, phase = pod["metadata"]["uid"], pod["spec"], pod["status"]["phase"]
        if phase == "Pending" and not spec.get("nodeName"):
            if spec["schedulerName"] == KUBERNETES_OWN:
                with suppress(ApiError):  # 404, 409: it was deleted or bound meanwhile
                    await self._api.bind(self._namespace, pod["metadata"]["name"], self._node)
        elif phase == "Running" and uid not in self._seen:
            self._seen.add(uid)
            self._tasks.append(asyncio.create_task(self._run(pod)))

    async def _run(self, pod: Object) -> None:
        name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]
        command = [*container["command"], *container.get("args", ())]
        assert command[:2] == ["python", "-m"], f"pod {name}: {command} cannot be run"
        data = Data(self._api, self._namespace)
        own = self.environments[name] = await variables_of(container, pod, data)
        with open(self._logs / f"{name}.log", "wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(self._python, "-c", RUN, name, *command[2:]),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={**self._environment, **own},
                start_new_session=True,
            )
            try:
                status = await process.wait()
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
        after = {"sim/fail-after": "0s", "sim/exit-code": str(status)}
        annotations = after if status else {"sim/run-for": "0s"}
        with suppress(ApiError):  # 404: it was deleted meanwhile
            await self._api.patch(
                path_of("Pod", self._namespace, name), {"metadata": {"annotations": annotations}}
            )
