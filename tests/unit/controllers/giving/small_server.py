"""A giver beside a simulated API server, and objects for it.

server = SmallServer(claim("gpu"))
harness = Harness(server)
harness.begin(binding(gpu=devices("gpu-0")), pod(gpu="gpu"))
harness.run()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakes.api_server import ApiServer, Fault, Object
from kai.api.writes import Outcome, Read, Write
from kai.controllers.claims import ClaimGiver
from kai.controllers.one_binding import Binding
from kai.controllers.preparing import Given
from kai.controllers.volumes import VolumeGiver


def devices(*names: str, request: str = "gpu", node: str = "n1") -> Object:
    results = [
        {"request": request, "driver": "gpu.nvidia.com", "pool": node, "device": name}
        for name in names
    ]
    return {"devices": {"results": results}}


def claim(name: str, *requests: Object, **metadata: Any) -> Object:
    given = list(requests) or [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]
    return {
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": name, "uid": f"uid-{name}", **metadata},
        "spec": {"devices": {"requests": given}},
    }


def device_class(**spec: Any) -> Object:
    return {"kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"}, "spec": spec}


def pod(name: str = "p", **claims: str) -> Object:
    """`claims`: their names in the spec, and the names of the objects."""
    uses = [{"name": use, "resourceClaimName": name} for use, name in claims.items()]
    return {
        "kind": "Pod",
        "metadata": {"namespace": "team", "name": name, "uid": f"uid-{name}"},
        "spec": {"resourceClaims": uses},
        "status": {},
    }


def binding(pod: str = "p", **allocations: Object) -> Binding:
    given = [{"name": use, "allocation": each} for use, each in allocations.items()]
    spec = {"resourceClaimAllocations": given}
    return Binding(f"team/{pod}", f"uid-{pod}", "n1", 1, "pg", spec=spec)


class SmallServer(ApiServer):
    """`answers`: to the next writes; None: they are applied."""

    def __init__(self, *objects: Object) -> None:
        super().__init__(device_class(), *objects)
        self.answers: list[Outcome | None] = []
        self.fault = self._next

    def _next(self, write: Write) -> Fault | None:
        answer = self.answers.pop(0) if self.answers else None
        return None if answer is None else Fault(answer)

    @property
    def did(self) -> list[str]:
        parts = [(each, f"/{each.subresource}" if each.subresource else "") for each in self.writes]
        return [f"{each.verb} {each.kind} {each.name}{part}" for each, part in parts]

    def claim(self, name: str) -> Object:
        found = self.get("ResourceClaim", "team", name)
        assert found is not None
        return found

    def users(self, name: str) -> list[str]:
        status = self.claim(name).get("status") or {}
        return [each["name"] for each in status.get("reservedFor") or ()]

    def given(self, name: str) -> list[str]:
        status = self.claim(name).get("status") or {}
        results = (status.get("allocation") or {}).get("devices", {}).get("results", ())
        return [each["device"] for each in results]


class Harness:
    """A giver and its server. `between`: called before each write is applied."""

    def __init__(self, server: SmallServer, giver: ClaimGiver | VolumeGiver | None = None) -> None:
        self.server = server
        self.giver = ClaimGiver() if giver is None else giver
        self.now = 0.0
        self.work: list[Read | Write] = []
        self.ready: list[str] = []
        self.failed: list[str] = []
        self.between: Callable[[Write], None] = lambda write: None

    def begin(self, binding: Binding, pod: Object) -> None:
        self.take(self.giver.give(self.now, binding, pod))

    def take_back(self, binding: Binding) -> None:
        self.take(self.giver.take_back(binding))

    def take(self, given: Given) -> None:
        self.work += [*given.reads, *given.writes]
        self.ready += [each.pod for each in given.ready]
        self.failed += [why for _, why in given.failed]

    def step(self) -> None:
        """Answers the oldest request."""
        one = self.work.pop(0)
        if isinstance(one, Read):
            self.take(self.giver.read(self.now, one, self.server.find(one)))
        else:
            self.between(one)
            self.take(self.giver.answered(self.now, one, self.server.send(one)))

    def run(self) -> None:
        """Until no request is under way."""
        for _ in range(200):
            if not self.work:
                return
            self.step()
        raise AssertionError("it does not end")
