"""A simulated API server in a thread, behind HTTP, with a kubeconfig.

with FakeCluster(tmp_path / "kubeconfig.yaml") as cluster:
    cluster.put(node("n1", gpus=2), queue("a"), pod("p", queue="a"))
    ...
    assert cluster.writes == []
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fakes.api_server import ApiServer, Object, runs_pods
from fakes.clock import EPOCH_S, VirtualClock
from fakes.http_server import FakeApi
from kai.api.resources import RESOURCES

Result = TypeVar("Result")


class FakeCluster:
    """`server`: its objects. `api`: its answers, and the requests that it got. Both live on the
    loop of the thread; other threads change them by `do`. `kubelets`: bound pods run."""

    def __init__(self, kubeconfig: Path, *, kubelets: bool = False) -> None:
        self.kubeconfig = kubeconfig
        self.server = ApiServer(clock=VirtualClock(time.time() - EPOCH_S))
        if kubelets:
            runs_pods(self.server)
        self.api = FakeApi(self.server)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> FakeCluster:
        self._thread.start()
        self.do(self.api.__aenter__)
        self.api.kubeconfig(self.kubeconfig)
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self.do(self.api.__aexit__)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def do(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Calls it on the loop of the thread."""

        async def work() -> Any:
            found = action(*arguments)
            return await found if asyncio.iscoroutine(found) else found

        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(20)

    @property
    def writes(self) -> list[str]:
        return [f"{each.method} {each.path}" for each in self.api.seen if each.method != "GET"]

    @property
    def reads(self) -> list[str]:
        return self.api.paths("GET")

    def requests_for(self, kind: str) -> set[str]:
        """The formats in which the kind was requested: the headers Accept."""
        path = RESOURCES[kind].path()
        return {each.headers["Accept"] for each in self.api.seen if each.path == path}

    def put(self, *objects: Object) -> None:
        """Adds or changes objects."""
        self.do(self.server.put, *objects)

    def cut(self) -> None:
        """Ends all watches."""
        self.do(self.api.cut)

    def stop_serving(self) -> None:
        """As if the server disappeared for good."""
        self.do(self.api._runner.cleanup)
