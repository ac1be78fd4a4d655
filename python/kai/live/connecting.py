"""A live cluster in Python: followed in the background, planned on request, never changed.

    with kai.connect(context="staging") as live:
        print(live.plan())

The connection has its own thread and event loop. It therefore works the same way in a script, in a
notebook and inside a running loop, and stays up to date while the program computes.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from kai.api import extras, keys
from kai.api.arguments import in_a_sentence, suggesting
from kai.controllers.planning.options import PlanningOptions
from kai.errors import KaiError

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster
    from kai.engine.config import ConfigSource
    from kai.engine.plan import Plan
    from kai.engine.scheduler import Scheduler
    from kai.k8s.client import Client
    from kai.live.view import View

Result = TypeVar("Result")


def read_once(
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    options: PlanningOptions | None = None,
    objects: bool = False,
) -> Cluster:
    """Reads a cluster once, for planning. It needs only the right to list.

    With `objects` the result has all objects; otherwise only what plans depend on, which costs
    less. Raises UnreachableError, RefusedError and InvalidInputError for a server that cannot be
    used.
    """
    extras.need_cluster_extra()
    from kai.k8s.client import Client
    from kai.live.snapshots import take
    from kai.live.view import View

    chosen = options or PlanningOptions()

    async def read() -> Cluster:
        async with await Client.connect(kubeconfig, context) as client:
            if objects:
                return await take(client, chosen)
            view = View(client, chosen)
            try:
                await view.list_once()
                return view.cluster().at(view.now())
            finally:
                await view.close()

    return asyncio.run(read())


@in_a_sentence
@suggesting
def connect(
    *,
    context: str | None = None,
    kubeconfig: str | os.PathLike[str] | None = None,
    config: ConfigSource | None = None,
    as_kai: bool = False,
    scheduler_name: str = keys.SCHEDULER_NAME,
    node_pool: str = "",
    node_pool_key: str = keys.NODE_POOL_LABEL,
    queue_label_key: str = keys.QUEUE_LABEL,
) -> Live:
    """A live cluster, from a context of a kubeconfig, for planning without changing it.

    `kubeconfig`: default: $KUBECONFIG, ~/.kube/config or the cluster that this pod runs in.
    `context`: default: the current one. `config` and `as_kai` are those of `kai.Scheduler`; the
    others are the options of the scheduler whose decisions you want to see: `kai run --help`.

    Nothing is read before the first use. It needs the rights to list and watch the kinds that plans
    depend on, and to get owners of pods that are in no pod group yet.

    >>> import kai
    >>> live = kai.connect(kubeconfig="staging.yaml")
    >>> with live:
    ...     print(live.plan().why("vision/train"))
    Traceback (most recent call last):
    kai.errors.InvalidInputError: staging.yaml: No such file or directory
    """
    extras.need_cluster_extra()
    options = PlanningOptions(
        config=config,
        as_kai=as_kai,
        scheduler_name=scheduler_name,
        node_pool=node_pool,
        node_pool_key=node_pool_key,
        queue_label_key=queue_label_key,
    )
    return Live(options, kubeconfig, context)


class Live:
    """A cluster that is followed in the background, from the first use until `close`.

    Create it with `kai.connect`. Use it in a `with` or `async with` block, or close it by hand, as
    in a notebook; a program may also end without closing it. Its methods are plain calls that may
    wait for the API server; in an event loop, call ``await asyncio.to_thread(live.plan)``.

    They raise UnreachableError, RefusedError and InvalidInputError for a cluster that cannot be
    read, InvalidConfigError for a configuration that cannot be used, and KaiError after `close`.

    >>> import kai
    >>> kai.connect(context="staging")
    <kai.Live staging: not connected>
    """

    def __init__(
        self,
        options: PlanningOptions,
        kubeconfig: str | os.PathLike[str] | None,
        context: str | None,
    ) -> None:
        self._options, self._kubeconfig, self._context = options, kubeconfig, context
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self._scheduler: Scheduler | None = None
        self._closed = False

    def plan(
        self, scheduler: Scheduler | None = None, *, now: datetime | str | None = None
    ) -> Plan:
        """The decisions of the next cycle for the current cluster; none is carried out.

        `scheduler`: replaces that of `kai.connect`, to compare configurations. `now`: default: the
        current time. Pods without a pod group are grouped in memory, as in `kai run`. The plan does
        not change when the cluster does.
        """
        chosen = scheduler or self._own_scheduler()
        return self._call(lambda view, _: view.plan(chosen, now))

    def refresh(self) -> None:
        """Reads everything again: changes made before this call are in the next plan.

        Without it a plan may be some milliseconds behind the API server.
        """
        self._call(lambda view, _: view.refresh())

    def snapshot(self) -> Cluster:
        """A copy of the cluster with all objects, read now: to change it, or to save it."""
        from kai.live.snapshots import take

        return self._call(lambda _, client: take(client, self._options))

    def open(self) -> Live:
        """Connects and reads the cluster, unless that has happened."""
        self._connected()
        return self

    def close(self) -> None:
        """Closes the connection; existing plans stay usable."""
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Live:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Live:
        return await asyncio.to_thread(self.open)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        connection = self._connection
        if connection is None or connection.view is None:
            name = self._context or str(self._kubeconfig or "the current context")
            return f"<kai.Live {name}: {'closed' if self._closed else 'not connected'}>"
        return f"<kai.Live {connection.view.summary()}>"

    # ---- inside ----------------------------------------------------------------------------------

    def _own_scheduler(self) -> Scheduler:
        if self._scheduler is None:
            from kai.engine.scheduler import Scheduler

            self._scheduler = Scheduler(self._options.config, as_kai=self._options.as_kai)
        return self._scheduler

    def _connected(self) -> _Connection:
        with self._lock:
            if self._closed:
                raise KaiError("the connection is closed: use kai.connect again")
            if self._connection is None:
                connection = _Connection(self._options, self._kubeconfig, self._context)
                connection.open()
                self._connection = connection
            return self._connection

    def _call(self, question: Callable[[View, Client], Coroutine[Any, Any, Result]]) -> Result:
        return self._connected().call(question)


class _Connection:
    """A thread with an event loop for a view."""

    def __init__(
        self,
        options: PlanningOptions,
        kubeconfig: str | os.PathLike[str] | None,
        context: str | None,
    ) -> None:
        self._options, self._kubeconfig, self._context = options, kubeconfig, context
        self.client: Client | None = None
        self.view: View | None = None
        self._ready: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._main, name="kai-live", daemon=True)

    def open(self) -> None:
        """Raises the error that makes the cluster unreadable."""
        self._thread.start()
        try:
            self._ready.result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Waits until the thread has ended."""
        if hasattr(self, "_stop") and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def call(self, question: Callable[[View, Client], Coroutine[Any, Any, Result]]) -> Result:
        assert self.view is not None
        assert self.client is not None
        return asyncio.run_coroutine_threadsafe(
            question(self.view, self.client), self._loop
        ).result()

    def _main(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)

    async def _live(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        opening = asyncio.ensure_future(self._open())
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                raise KaiError("the connection was closed before everything was read")
            opening.result()
            self._ready.set_result(None)
            await stopping
        finally:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            for each in (self.view, self.client):
                if each is not None:
                    await each.close()

    async def _open(self) -> None:
        from kai.k8s.client import Client
        from kai.live.view import View

        self.client = await Client.connect(self._kubeconfig, self._context)
        self.view = View(self.client, self._options)
        await self.view.follow()
