"""One container as a process of this machine: from its start to its end, again and again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from ..client import Object
from ..kubeconfig import kubeconfig
from .data import Data
from .environment import variables_of
from .errors import MachineError, NotYetError
from .images import Image
from .probes import watch_probes
from .rewriting import Paths, expanded, listening_at
from .status import ContainerState
from .tasks import first_of, for_ever
from .volumes import SERVICE_ACCOUNT

LAUNCH = Path(__file__).with_name("launch.py")
RETRY_S = 0.2
MOST_RETRY_S = 3.0
MESSAGE_BYTES = 2048
"""The end of the output that becomes the message of a failed container, as in the kubelet."""


@dataclass
class Setting:
    """What the containers of a pod share. `files` is the folder of its volumes, `grace_s` the time
    in which its containers have to end."""

    pod: Object
    ip: str
    files: Path
    volumes: Mapping[str, Path]
    data: Data
    server: str
    http: aiohttp.ClientSession
    report: Callable[[], Awaitable[None]]
    grace_s: Callable[[], float]


class Container:
    """`image`: None for a container without a process, which is ready until the pod ends."""

    def __init__(
        self, spec: Object, state: ContainerState, image: Image | None, log: Path, setting: Setting
    ) -> None:
        self._spec, self.state, self._image = spec, state, image
        self._log, self._setting = log, setting

    async def run(self, again: Callable[[int], bool]) -> None:
        """Starts it, and starts it `again` after an end with such an exit code."""
        pause_s = RETRY_S
        while True:
            await self._once()
            await self._setting.report()
            code = self.state.exit_code
            if code is None or not again(code):
                return
            await asyncio.sleep(pause_s / 2)
            self.state.wait("CrashLoopBackOff")
            await self._setting.report()
            await asyncio.sleep(pause_s / 2)
            pause_s = min(2 * pause_s, MOST_RETRY_S)

    async def _once(self) -> None:
        if self._image is None:
            self.state.start()
            try:
                await self._is_ready(True)
                await for_ever()
            finally:
                self.state.end(0, "")
        process = await self._start(self._image)
        self.state.start()
        why = ""
        try:
            await self._setting.report()
            setting = self._setting
            probes = watch_probes(self._spec, setting.ip, setting.http, self._is_ready)
            why = await first_of(_ended(process), probes)
        finally:
            code = await process.stop(self._setting.grace_s())
            self.state.end(code, self._message(code))
        if why:
            with open(self._log, "a") as log:
                log.write(f"-- {why}; the machine has ended the container\n")

    async def _is_ready(self, ready: bool) -> None:
        self.state.ready = ready
        await self._setting.report()

    def _message(self, code: int) -> str:
        fallback = self._spec["terminationMessagePolicy"] == "FallbackToLogsOnError"
        if not code or not fallback:
            return ""
        return self._log.read_bytes()[-MESSAGE_BYTES:].decode(errors="replace")

    # ---- its process -----------------------------------------------------------------------------

    async def _start(self, image: Image) -> Process:
        """Waits until all objects that it needs exist."""
        setting = self._setting
        while True:
            try:
                variables = await variables_of(self._spec, setting.pod, setting.data)
                break
            except NotYetError as error:
                self.state.wait("CreateContainerConfigError", str(error))
                await setting.report()
                await asyncio.sleep(RETRY_S)
        paths = self._paths(image)
        own = [*self._spec.get("command", ()), *self._spec.get("args", ())]
        words = [paths.rewritten(expanded(each, variables)) for each in own]
        words = [listening_at(setting.ip, each) for each in words]
        return await Process.start(
            words if "command" in self._spec else [*image.command, *words],
            image,
            environment={
                **image.environment,
                **self._surroundings(image, paths),
                **{name: paths.rewritten(value) for name, value in variables.items()},
            },
            folder=Path(image.folder or setting.files),
            log=self._log,
        )

    def _paths(self, image: Image) -> Paths:
        folders = {}
        for mount in self._spec.get("volumeMounts", ()):
            if "subPath" in mount or "subPathExpr" in mount:
                raise MachineError(f"container {self._spec['name']}: subPath is not supported")
            folders[mount["mountPath"]] = inside(self._setting.volumes[mount["name"]], image)
        return Paths(folders)

    def _surroundings(self, image: Image, paths: Paths) -> dict[str, str]:
        """Variables that every container has here."""
        setting = self._setting
        folder = inside(setting.files, image)
        found = {"HOME": folder, "TMPDIR": folder, "HOSTNAME": setting.pod["metadata"]["name"]}
        mounted = paths.rewritten(SERVICE_ACCOUNT)
        if mounted != SERVICE_ACCOUNT:
            text = kubeconfig(
                setting.server,
                {"certificate-authority": f"{mounted}/ca.crt"},
                {"tokenFile": f"{mounted}/token"},
                setting.pod["metadata"]["namespace"],
            )
            name = f"{self._spec['name']}.kubeconfig"
            (setting.files / name).write_text(text)
            found["KUBECONFIG"] = f"{folder}/{name}"
        return found


def inside(path: Path, image: Image) -> str:
    """The path as a process of the image uses it."""
    return f"/{path.relative_to(image.root)}" if image.root else str(path)


async def _ended(process: Process) -> str:
    await process.wait()
    return ""


class Process:
    """A process in a session of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        image: Image,
        *,
        environment: Mapping[str, str],
        folder: Path,
        log: Path,
    ) -> Process:
        launch = (sys.executable, "-I", "-S", str(LAUNCH), str(os.getpid()), image.root, image.user)
        with open(log, "ab") as output:
            process = await asyncio.create_subprocess_exec(
                *launch,
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
        return cls(process)

    async def wait(self) -> int:
        """The exit code of a container: 128 and the signal that ended it."""
        status = await self._process.wait()
        return status if status >= 0 else 128 - status

    async def stop(self, grace_s: float) -> int:
        """Sends SIGTERM, and SIGKILL after `grace_s`. Returns the exit code."""
        try:
            if grace_s:
                self._signal(signal.SIGTERM)
                await asyncio.wait_for(self._process.wait(), grace_s)
        except asyncio.TimeoutError:
            pass
        finally:  # also if the machine ends meanwhile
            self._signal(signal.SIGKILL)
            await self._process.wait()
        return await self.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(self._process.pid, number)
