"""GPU sharing in a service: reservations and ConfigMaps, for the roles that bind.

    sharing = Sharing(options, copies_labels=True)
    Preparing(sharing.givers)
    sharing.turned(now, turn, preparing, acts=True)

Reservations belong to the process that binds: the binder role, or the scheduler role with
`--binding direct`. Among several processes only the lease holder deletes reservations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kai.controllers.bind_requests import Request
from kai.controllers.preparing import Giver, Preparing
from kai.controllers.sharing.device_maps import DeviceMaps
from kai.controllers.sharing.reserving import GpuUser, SharedDevices
from kai.controllers.unshown import BINDING

if TYPE_CHECKING:
    from kai.controllers.planning.turns import Turn
    from kai.service.options import Options


class Sharing:
    """For the event loop."""

    def __init__(self, options: Options, *, copies_labels: bool) -> None:
        binds = options.has("scheduler") and options.binding == "direct"
        self._is_used = binds or options.has("binder")
        self._devices = SharedDevices(options.reservations(), copies_labels=copies_labels)
        self._maps = DeviceMaps(self._devices.of, cdi=options.cdi, hami=options.hami_core)

    @property
    def givers(self) -> list[Giver]:
        return [self._devices, self._maps] if self._is_used else []

    def turned(self, now: float, turn: Turn, preparing: Preparing, *, acts: bool) -> None:
        """A turn is over. `acts`: this process leads, and has read all that it needs."""
        if not self._is_used:
            return
        devices = self._devices
        devices.scales_up(turn.is_scaling_up)
        users = map(GpuUser._make, turn.gpu_users)
        preparing.did(now, devices, devices.saw(now, users, acts=acts))
        gone = [(name, uid) for kind, name, uid in turn.gone if kind == "Pod"]
        # Their bindings had no effect: they are on no device.
        gone += [(each.name, each.uid) for each in turn.without_effect if each.what == BINDING]
        for name, uid in gone:
            preparing.did(now, devices, devices.pod_gone(now, name, uid))

    def request_changed(
        self, now: float, name: str, request: Request | None, preparing: Preparing
    ) -> None:
        """A BindRequest is new, changed, or deleted: an open one keeps its reservations."""
        if self._is_used:
            is_open = request is not None and not request.is_over
            groups = request.spec.get("selectedGPUGroups") or () if request and is_open else ()
            devices = self._devices
            preparing.did(now, devices, devices.request_changed(now, name, groups))
