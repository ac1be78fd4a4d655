"""The status of a pod and of its containers, as a kubelet writes it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone

from ..client import Object

HOST_IP = "127.0.0.1"


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(type: str, status: bool, since: str) -> Object:
    return {"type": type, "status": str(status), "lastTransitionTime": since}


@dataclass
class ContainerState:
    """What changes about a container."""

    name: str
    image: str
    current: Object = field(default_factory=lambda: _waiting("ContainerCreating", ""))
    last: Object = field(default_factory=dict)
    ready: bool = False
    restarts: int = 0

    @property
    def exit_code(self) -> int | None:
        """None: it has not ended."""
        ended = self.current.get("terminated")
        return int(ended["exitCode"]) if ended else None

    @property
    def started(self) -> bool:
        """Whether it has ever started."""
        return self.restarts > 0 or "waiting" not in self.current

    def wait(self, reason: str, message: str = "") -> None:
        self.ready = False
        if "terminated" in self.current:
            self.last = self.current
            self.restarts += 1
        self.current = _waiting(reason, message)

    def start(self) -> None:
        self.current = {"running": {"startedAt": now()}}

    def end(self, code: int, message: str) -> None:
        self.ready = False
        self.current = {
            "terminated": {
                "exitCode": code,
                "reason": "Error" if code else "Completed",
                "message": message,
                "startedAt": self.current.get("running", {}).get("startedAt", now()),
                "finishedAt": now(),
            }
        }

    def as_object(self) -> Object:
        return {
            "name": self.name,
            "image": self.image,
            "imageID": "",
            "ready": self.ready,
            "started": "running" in self.current,
            "restartCount": self.restarts,
            "state": self.current,
            "lastState": self.last,
        }


class PodStatus:
    """The status of a pod with these containers."""

    def __init__(self, pod: Object, ip: str) -> None:
        spec = pod["spec"]
        self.init, self.main = (
            [ContainerState(each["name"], each["image"]) for each in spec.get(part, ())]
            for part in ("initContainers", "containers")
        )
        self.ip = ip
        self._last_phase = ""
        self._began = now()
        self._conditions: dict[str, Object] = {}

    @property
    def ready(self) -> bool:
        return all(each.ready for each in self.main)

    @property
    def phase(self) -> str:
        started = any(each.started for each in self.main)
        return self._last_phase or ("Running" if started else "Pending")

    def finish(self) -> None:
        """No container will start again."""
        codes = [each.exit_code for each in (*self.init, *self.main)]
        self._last_phase = "Failed" if any(codes) or None in codes else "Succeeded"

    def as_object(self) -> Object:
        begun = all(each.exit_code == 0 for each in self.init)
        known = {
            "Initialized": begun,
            "ContainersReady": self.ready,
            "Ready": self.ready,
        }
        return {
            "phase": self.phase,
            "hostIP": HOST_IP,
            "hostIPs": [{"ip": HOST_IP}],
            "podIP": self.ip,
            "podIPs": [{"ip": self.ip}],
            "startTime": self._began,
            "conditions": [self._condition(*each) for each in known.items()],
            "initContainerStatuses": _objects(self.init),
            "containerStatuses": _objects(self.main),
        }

    def _condition(self, type: str, status: bool) -> Object:
        """It keeps its time until it changes."""
        found = self._conditions.get(type)
        if found is None or found["status"] != str(status):
            found = self._conditions[type] = condition(type, status, now())
        return found


def _objects(states: Iterable[ContainerState]) -> list[Object]:
    return [each.as_object() for each in states]


def _waiting(reason: str, message: str) -> Object:
    return {"waiting": {"reason": reason, "message": message}}
