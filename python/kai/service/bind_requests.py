"""Passes BindRequests between watch, planning thread and writer, for the roles scheduler and
binder.

    requests = BindRequests(options, binder, client, preparing, self._do, self._send)
    Reading(..., also=requests.sinks())
    inputs = Inputs(..., requests=requests.take())
    requests.turned(now, turn)

The scheduler role handles existing BindRequests even if it binds pods directly: KAI, or an earlier
process, may have left some.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kai.api.writes import Outcome, Write
from kai.controllers.bind_requests import Request
from kai.controllers.binder import RequestBinder
from kai.controllers.bindings import Binding, Steps
from kai.k8s.sinks import DictSink, Sink

if TYPE_CHECKING:
    from kai.controllers.binding import Binder
    from kai.controllers.planning.turns import Turn
    from kai.controllers.preparing import Prepared, Preparing
    from kai.k8s.client import Client
    from kai.service.options import Options

Do = Callable[[Steps], None]


class BindRequests:
    """For the event loop. `binder`: that of the scheduler; `do` gets its steps. `send` gets the
    steps of the binder role."""

    def __init__(
        self,
        options: Options,
        binder: Binder,
        client: Client,
        preparing: Preparing,
        do: Do,
        send: Do,
        on_change: Callable[[str, Request | None], None] = lambda name, request: None,
    ) -> None:
        self._on_change = on_change
        self._decides, self._binds = options.has("scheduler"), options.has("binder")
        self._pool_key = options.node_pool_key
        self._scheduler, self._clock = binder, client.clock
        self._binder = RequestBinder(
            client.server_time, preparing, copies_labels=client.copies_labels
        )
        self._do, self._send = do, send

    def sinks(self) -> Mapping[str, list[Sink]]:
        """Their sinks, besides the feed."""
        if not self._decides and not self._binds:
            return {}
        return {"BindRequest": [DictSink(self._changed, keep=self._read)]}

    @property
    def in_doubt(self) -> int:
        """Pods that a request may still bind, though no answer came."""
        return self._binder.in_doubt

    def take(self) -> list[Request]:
        """The BindRequests that the planning thread must check. Only for a process that may act."""
        requests = self._scheduler.requests_to_check(self._clock.monotonic())
        requests += self._binder.take()
        return list({each.name: each for each in requests}.values())

    def turned(self, now: float, turn: Turn) -> bool:
        """A turn is over; returns whether the next one has something to find out."""
        for kind, name, uid in turn.gone:
            if kind == "Pod":
                self._binder.pod_gone(name, uid)
        for request, target in turn.targets:
            if self._decides:
                self._do(self._scheduler.request_checked(now, request, target))
            self._send(self._binder.checked(now, request, target))
        self._send(self._binder.tick(now))
        return self._binder.has_unchecked

    def next_tick(self) -> float | None:
        return self._binder.next_tick()

    def hold(self, unsent: Iterable[Binding], nodes: Collection[str]) -> None:
        """These nodes changed, and the writer returned these bindings unsent."""
        self._binder.hold(unsent, nodes)

    def answered(self, now: float, write: Write, outcome: Outcome) -> None:
        self._send(self._binder.answered(now, write, outcome))

    def prepared(self, now: float, prepared: Prepared) -> bool:
        """Returns whether the next turn has something to find out."""
        self._send(self._binder.prepared(now, prepared))
        return self._binder.has_unchecked

    def seen(
        self, now: float, binding: Binding, kind: str, found: Mapping[str, Any] | None
    ) -> None:
        self._send(self._binder.seen(now, binding, kind, found))

    def _read(self, manifest: dict[str, Any]) -> Request:
        return Request.of(manifest, self._pool_key)

    def _changed(self, kind: str, before: Request | None, after: Request | None) -> None:
        del kind
        now = self._clock.monotonic()
        if after is not None:
            if self._decides:
                self._do(self._scheduler.request_seen(now, after))
            if self._binds:
                self._send(self._binder.put(now, after))
            self._on_change(after.name, after)
        elif before is not None:
            self._on_change(before.name, None)
            self._scheduler.request_gone(before.name, before.uid)
            self._binder.gone(before.name, before.uid)
