"""From the cluster IP of a Service to a pod of a machine."""

import asyncio
import functools
from collections.abc import Mapping, Sequence

from ..client import Client, Object, path_of
from ..egress import Backend
from .pods import PodRun
from .probes import port_number


class Routes:
    """`pods`: those of the machine, by UID."""

    def __init__(self, api: Client, pods: Mapping[str, PodRun]) -> None:
        self._api, self._pods = api, pods
        self._count = 0

    async def find(self, address: str) -> Backend | None:
        """A ready pod behind an address such as "10.96.0.7:443": each in turn."""
        ip, _, port = address.rpartition(":")
        for service in await self._api.items(path_of("Service")):
            if service["spec"].get("clusterIP") == ip:
                return self._backend(service, int(port))
        return None

    def _backend(self, service: Object, port: int) -> Backend | None:
        ready = self._ready(service)
        [entry] = [each for each in service["spec"]["ports"] if each["port"] == port]
        if not ready:
            return None
        self._count += 1
        chosen = ready[self._count % len(ready)]
        number = port_number(chosen.pod["spec"]["containers"], entry["targetPort"])
        return Backend(functools.partial(asyncio.open_connection, chosen.ip, number))

    def _ready(self, service: Object) -> Sequence[PodRun]:
        selector = (service["spec"].get("selector") or {}).items()
        namespace = service["metadata"]["namespace"]
        return [
            each
            for each in self._pods.values()
            if selector
            and each.namespace == namespace
            and each.serves
            and selector <= each.pod["metadata"].get("labels", {}).items()
        ]
