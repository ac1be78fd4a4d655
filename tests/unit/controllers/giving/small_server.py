"""A minimal API server for givers: objects with versions, and merge patches.

server = SmallServer(claim("gpu"))
harness = Harness(server)
harness.begin(binding(gpu=devices("gpu-0")), pod(gpu="gpu"))
harness.run()
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kai.api.writes import Outcome, Read, Result, Write
from kai.controllers.claims import ClaimGiver
from kai.controllers.pods.decisions import Binding
from kai.controllers.preparing import Given
from kai.controllers.volumes import VolumeGiver

Object = dict[str, Any]


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


class SmallServer:
    def __init__(self, *objects: Object) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.version = 0
        self.did: list[str] = []
        self.answers: list[Outcome | None] = []
        """The answers to the next writes; None: they are applied."""
        for each in (*objects, device_class()):
            self.put(each)

    def put(self, item: Object) -> None:
        self.version += 1
        key = (item["kind"], item["metadata"]["name"])
        if key == ("DeviceClass", "gpu.nvidia.com") and key in self.objects:
            return
        item["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = item

    def get(self, kind: str, name: str) -> Object | None:
        found = self.objects.get((kind, name))
        return None if found is None else json.loads(json.dumps(found))

    def claim(self, name: str) -> Object:
        found = self.get("ResourceClaim", name)
        assert found is not None
        return found

    def users(self, name: str) -> list[str]:
        status = self.claim(name).get("status") or {}
        return [each["name"] for each in status.get("reservedFor") or ()]

    def given(self, name: str) -> list[str]:
        status = self.claim(name).get("status") or {}
        results = (status.get("allocation") or {}).get("devices", {}).get("results", ())
        return [each["device"] for each in results]

    def write(self, write: Write) -> Outcome:
        part = f"/{write.subresource}" if write.subresource else ""
        self.did.append(f"{write.verb} {write.kind} {write.name}{part}")
        answer = self.answers.pop(0) if self.answers else None
        return answer or self._carry_out(write)

    def _carry_out(self, write: Write) -> Outcome:
        key = (write.kind, write.name)
        known = self.objects.get(key)
        body: Any = json.loads(json.dumps(write.body))
        if write.verb == "create":
            if known is not None:
                return Outcome(Result.CONFLICT, 409, "AlreadyExists", "it is there already")
            body["metadata"]["uid"] = f"uid-{write.name}"
            self.put(body)
            return Outcome(Result.DONE, 201)
        if known is None:
            return Outcome(Result.GONE, 404, "NotFound", "it is not there")
        if write.verb == "delete":
            del self.objects[key]
            return Outcome(Result.DONE, 200)
        request = body.pop("metadata", {})
        for each in ("uid", "resourceVersion"):
            if each in request and request[each] != known["metadata"][each]:
                return Outcome(Result.CONFLICT, 409, "Conflict", "it has changed")
        _merge(known, {**body, "metadata": request})
        self.put(known)
        return Outcome(Result.DONE, 200)


def _merge(item: Object, patch: Object) -> None:
    for key, value in patch.items():
        if value is None:
            item.pop(key, None)
        elif isinstance(value, dict) and isinstance(item.get(key), dict):
            _merge(item[key], value)
        else:
            item[key] = value


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
            found = self.server.get(one.kind, one.name)
            self.take(self.giver.read(self.now, one, found))
        else:
            self.between(one)
            self.take(self.giver.answered(self.now, one, self.server.write(one)))

    def run(self) -> None:
        """Until no request is under way."""
        for _ in range(200):
            if not self.work:
                return
            self.step()
        raise AssertionError("it does not end")
