"""A reserver beside a simulated API server, and objects for it.

server = SmallServer(claim("gpu"))
harness = Harness(server)
harness.begin(binding(gpu=devices("gpu-0")), pod(gpu="gpu"))
harness.run()
"""

from collections.abc import Callable
from typing import Any

from fakes.api_server import ApiServer, Fault, Object
from fakes.played import Reserving
from kai.api.writes import Outcome, Write
from kai.controllers.courses import Find, Send
from kai.controllers.pods.claims import Claims
from kai.controllers.pods.course import Reserver
from kai.controllers.pods.decisions import Binding


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


class Harness(Reserving):
    """A reserver beside its server. `between`: called before each write is applied."""

    def __init__(self, server: SmallServer, make: Callable[[], Reserver] = Claims) -> None:
        super().__init__()
        self.server, self.reserver = server, make()
        self.now = 0.0
        self.work: list[Send | Find] = []
        self.between: Callable[[Write], None] = lambda write: None

    def begin(self, binding: Binding, pod: Object) -> None:
        self.start(self.reserver, binding, pod)
        self.go_on()

    def take_back(self, binding: Binding) -> None:
        super().take_back(binding)
        self.go_on()

    def undo(self, binding: Binding) -> None:
        self.take_back(binding)
        self.run()

    def go_on(self) -> None:
        self.courses.run(self.now)
        self.work += self.courses.take()

    def step(self) -> None:
        """Answers the oldest request."""
        one = self.work.pop(0)
        if isinstance(one, Find):
            self.courses.answer(one, self.server.find(one.read))
        else:
            self.between(one.write)
            self.courses.answer(one, self.server.send(one.write))
        self.go_on()

    def run(self) -> None:
        """Until no request is under way."""
        for _ in range(200):
            if not self.work:
                return
            self.step()
        raise AssertionError("it does not end")
