"""A scheduler behind a fault proxy, and the conditions that must hold after a fault.

async def story(scene: Scene) -> None:
    await scene.nodes(4)
    await scene.start()                        # kai run all, behind scene.proxy
    lost = scene.proxy.swallow(BINDINGS, times=3)
    await scene.pods(32)
    await scene.is_well(bound=32)              # each once, no node overcommitted, no pod stuck
    assert lost.hits == 3

play(cluster, namespace, tmp_path, story)
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .client import Client
from .cluster import Cluster
from .faults import Match
from .history import History, Watcher
from .objects import node, pod
from .proxy import FaultProxy, Request
from .running import Kai, install

BINDINGS = Match("POST", r"/binding$")
SHORT_LEASE = (
    *("--leader-elect-lease-duration", "4"),
    *("--leader-elect-renew-deadline", "2.5"),
    *("--leader-elect-retry-period", "0.5"),
)
PATIENCE_S = 40.0
LOG_LINE = r"\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info|warning|error) kai: \w"
CALM_S = 0.3  # nothing new for this long counts as quiet


class Scene:
    """`api`: bypasses the proxy. `kais`: the started processes, in order, and `arguments` those of
    the last one."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        folder: Path,
        proxy: FaultProxy,
        api: Client,
        history: History,
    ) -> None:
        self.cluster, self.namespace, self.folder = cluster, namespace, folder
        self.proxy, self.api, self.history = proxy, api, history
        self.kais: list[Kai] = []
        self.arguments: tuple[str, ...] = ()

    async def nodes(self, count: int, gpus: int = 8) -> None:
        """Adds nodes and waits until they accept pods."""
        await self.api.create(*(node(f"n{number}", gpus) for number in range(count)))
        await self.api.ready_nodes(count)

    async def pods(self, count: int, prefix: str = "p", gpus: int = 1, **options: Any) -> None:
        names = (f"{prefix}{number}" for number in range(count))
        await self.api.create(*(pod(name, self.namespace, gpus, **options) for name in names))

    async def start(
        self,
        *arguments: str,
        roles: tuple[str, ...] = ("all",),
        kubeconfig: Path | None = None,
        direct: bool = False,
    ) -> Kai:
        """`kai run` behind the proxy; `direct`: without it."""
        server = "" if direct else self.proxy.url
        chosen = kubeconfig or self.cluster.kubeconfig_of("admin", server=server)
        self.arguments = arguments
        log = self.folder / f"kai-{len(self.kais)}.log"
        kai = Kai(self.cluster, self.namespace, log, *arguments, roles=roles, kubeconfig=chosen)
        self.kais.append(kai)
        await asyncio.to_thread(kai.start)
        return kai

    @property
    def kai(self) -> Kai:
        return self.kais[-1]

    def kill(self) -> None:
        """Kills the process that was started last, without time to finish anything."""
        self.kai.kill()

    async def until(self, what: str, is_so: Callable[[], Any], seconds: float = PATIENCE_S) -> Any:
        """Waits for something true. Raises AssertionError if it does not happen."""
        ends = asyncio.get_running_loop().time() + seconds
        while not (found := is_so()):
            if asyncio.get_running_loop().time() > ends:
                raise AssertionError(f"not within {seconds:g} s: {what}\n{self.report()}")
            await asyncio.sleep(0.02)
        return found

    async def bound(self, count: int, seconds: float = PATIENCE_S) -> None:
        """Waits until this many pods are on nodes."""
        await self.until(
            f"{count} pods are bound", lambda: len(self.history.bound()) >= count, seconds
        )

    async def is_well(self, bound: int, *, seconds: float = PATIENCE_S) -> None:
        """The conditions after each fault: this many pods are bound, each of them once; no node
        ever had more pods than GPUs for them; no pod that fits waits; the processes run, and every
        line of their logs is one of kai's, so there is no traceback."""
        await self.bound(bound, seconds)
        await asyncio.sleep(CALM_S)
        assert self.problems(bound) == [], self.report()

    def problems(self, bound: int) -> list[str]:
        found = list(self.history.problems)
        if len(self.history.bound()) != bound:
            found.append(f"{len(self.history.bound())} pods are bound and not {bound}")
        found += [f"pod {name} waits, and would fit" for name in sorted(self.history.stuck())]
        found += bound_twice(self.proxy.requests, self.history.uids)
        for number, kai in enumerate(self.kais):
            if kai.process is not None and not kai.is_running():
                found.append(f"kai {number} has ended")
            found += [f"log of kai {number}: {line}" for line in wrong_lines(kai.log)]
        return found

    async def end(self) -> str:
        """Stops the processes with SIGTERM, and returns their logs.

        Raises:
            AssertionError: a process that was not killed did not end with exit status 0.
        """
        self.proxy.clear()
        for kai in self.kais:
            status = await asyncio.to_thread(kai.stop)
            assert status == 0, f"exit status {status}\n{self.report()}"
        return "\n".join(kai.log for kai in self.kais)

    def report(self) -> str:
        """For messages of failed tests."""
        history = self.history
        lines = [
            f"bound {len(history.bound())}, stuck {sorted(history.stuck())}",
            f"problems {history.problems}",
            f"requests {dict(self.proxy.counts)}",
        ]
        for number, kai in enumerate(self.kais):
            lines += [f"--- log of kai {number}", kai.log[-6000:]]
        return "\n".join(lines)


async def until(
    scene: Scene,
    what: str | Callable[[], str],
    is_so: Callable[[], Awaitable[bool]],
    seconds: float = 30,
) -> None:
    """Raises AssertionError if it does not happen."""
    ends = asyncio.get_running_loop().time() + seconds
    while not await is_so():
        if asyncio.get_running_loop().time() > ends:
            text = what() if callable(what) else what
            raise AssertionError(f"not within {seconds:g} s: {text}\n{scene.report()}")
        await asyncio.sleep(0.05)


def bound_twice(requests: Iterable[Request], uids: Mapping[str, set[str]]) -> list[str]:
    """Names with more accepted bindings than pods of that name, as far as the server's answers
    passed the proxy."""
    taken = Counter(
        each.name for each in requests if (each.subresource, each.status) == ("binding", 201)
    )
    return [
        f"pod {name} was bound {count} times"
        for name, count in taken.items()
        if count > len(uids.get(name, ()))
    ]


def wrong_lines(log: str) -> list[str]:
    """Lines that are not kai's own: tracebacks, and output of other code."""
    return [line for line in log.splitlines() if not re.match(LOG_LINE, line)]


Story = Callable[[Scene], Awaitable[None]]


async def play(
    cluster: Cluster, namespace: str, folder: Path, story: Story, seconds: float = 200
) -> str:
    """Runs a story, ends its processes, and returns their logs."""
    install(cluster)
    async with (
        FaultProxy(cluster) as proxy,
        cluster.client() as api,
        Watcher(api, namespace) as watcher,
    ):
        scene = Scene(cluster, namespace, folder, proxy, api, watcher.history)
        try:
            await asyncio.wait_for(story(scene), seconds)
            return await scene.end()
        finally:
            for kai in scene.kais:
                await asyncio.to_thread(kai.kill)
