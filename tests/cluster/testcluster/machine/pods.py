"""What happens to one pod of the machine, from its binding to its deletion."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from ..client import STRATEGIC, ApiError, Client, Object, path_of
from .containers import RETRY_S, Container, Setting
from .data import Data
from .errors import MachineError, NotYetError
from .images import Image, image_of
from .status import HOST_IP, ContainerState, PodStatus
from .tasks import all_of, first_of, for_ever
from .volumes import write_volumes

FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Host:
    """What the pods of a machine share."""

    api: Client
    http: aiohttp.ClientSession
    images: Mapping[str, Image]
    folder: Path
    server: str


class PodRun:
    def __init__(self, host: Host, pod: Object, ip: str) -> None:
        metadata = pod["metadata"]
        self.namespace, self.name, self.uid = (
            metadata[key] for key in ("namespace", "name", "uid")
        )
        self.pod = {**pod, "status": {**pod["status"], "podIP": ip, "hostIP": HOST_IP}}
        self.ip = ip
        self.status = PodStatus(pod, ip)
        self._host = host
        self._spec = pod["spec"]
        self._folder = host.folder / f"{self.name}-{self.uid[:8]}"
        self._folder.mkdir()
        self._grace_s = float(self._spec["terminationGracePeriodSeconds"])
        self._deleted = asyncio.Event()
        self._reporting = asyncio.Lock()
        self._reported: Object = {}

    @property
    def serves(self) -> bool:
        """Whether services lead to it."""
        return self.status.ready and not self._deleted.is_set()

    def delete(self, grace_s: float) -> None:
        """Its containers get this much time to end; then the object is deleted."""
        self._grace_s = grace_s
        self._deleted.set()

    def kill(self) -> None:
        """Its containers get no time to end when run() is cancelled."""
        self._grace_s = 0.0

    def logs(self) -> Iterator[tuple[str, Path]]:
        """The name of each container that has started, and the file with its output."""
        for each in (*self.status.init, *self.status.main):
            if (path := self._log(each.name)).exists():
                yield each.name, path

    async def run(self) -> None:
        """Ends when the pod is deleted."""
        if self.pod["status"].get("phase") in FINISHED:
            await self._deleted.wait()
        else:
            await first_of(self._live(), self._is_deleted())
            self.status.finish()
            await self._report()
        path = path_of("Pod", self.namespace, self.name)
        with suppress(ApiError):  # 404, 409: it was deleted by force
            await self._host.api.request(
                "DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
            )

    async def _is_deleted(self) -> None:
        await self._deleted.wait()

    # ---- inside ----------------------------------------------------------------------------------

    async def _live(self) -> None:
        await self._report()
        setting = await self._set_up()
        init, main = (
            list(self._containers(part, states, setting))
            for part, states in (
                ("initContainers", self.status.init),
                ("containers", self.status.main),
            )
        )
        policy = self._spec["restartPolicy"]
        for each in init:
            await each.run(again=lambda code: policy != "Never" and code != 0)
            if each.state.exit_code != 0:
                break
        else:
            again = {
                "Always": lambda code: True,
                "OnFailure": lambda code: code != 0,
                "Never": lambda code: False,
            }[policy]
            await all_of(*(each.run(again) for each in main))
        self.status.finish()
        await self._report()
        await for_ever()

    async def _set_up(self) -> Setting:
        """Waits until the objects of all volumes exist."""
        data = Data(self._host.api, self.namespace)
        image = image_of(self._spec["containers"][0]["image"], self._host.images)
        # All containers of a pod share its volumes, so they have the same root.
        files = Path(f"{image.root if image else ''}{self._folder}") / "files"
        files.mkdir(parents=True, exist_ok=True)
        files.chmod(0o777)
        while True:
            try:
                volumes = await write_volumes(self.pod, files, data)
                break
            except NotYetError as error:
                for each in (*self.status.init, *self.status.main):
                    each.wait("ContainerCreating", str(error))
                await self._report()
                await asyncio.sleep(RETRY_S)
        return Setting(
            pod=self.pod,
            ip=self.ip,
            files=files,
            volumes=volumes,
            data=data,
            server=self._host.server,
            http=self._host.http,
            report=self._report,
            grace_s=lambda: self._grace_s,
        )

    def _containers(
        self, part: str, states: Sequence[ContainerState], setting: Setting
    ) -> Iterator[Container]:
        for spec, state in zip(self._spec.get(part, ()), states, strict=True):
            image = image_of(spec["image"], self._host.images)
            if part == "initContainers" and (image is None or "restartPolicy" in spec):
                raise MachineError(
                    f"pod {self.name}: init container {spec['name']} needs a known image and no"
                    " restartPolicy"
                )
            yield Container(spec, state, image, self._log(spec["name"]), setting)

    def _log(self, container: str) -> Path:
        return self._folder / f"{container}.log"

    async def _report(self) -> None:
        """Writes the status if it has changed."""
        async with self._reporting:
            status = self.status.as_object()
            if status == self._reported:
                return
            patch = {"metadata": {"uid": self.uid}, "status": status}
            path = path_of("Pod", self.namespace, self.name, "status")
            try:
                await self._host.api.patch(path, patch, STRATEGIC)
            except ApiError as error:
                if error.status not in (404, 409):  # it is gone; another one has its name
                    raise
            self._reported = status
