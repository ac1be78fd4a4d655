"""Creates BindRequests for decisions.

    ways = Requesting(lambda binding: creation(binding, pool_key, pool))

As kai.controllers.bindings, with another request. A creation without an answer may have been
applied, or may still be; the BindRequest is read to find out. It is created again for the same node
until it exists; only one object can have its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kai.api.writes import Write
from kai.controllers.bind_requests.values import Request, deletion
from kai.controllers.bindings import Binding, Bindings, Steps
from kai.controllers.unshown import MOST_WAIT_S, READ_AFTER_S
from kai.controllers.waits import earliest


@dataclass(slots=True)
class _Created:
    """`due`: when it is read, if no watch has shown it: it may have been deleted, or the answer was
    not true. None: the next `tick` sets the time."""

    binding: Binding
    due: float | None = None
    wait: float = READ_AFTER_S


class Requesting(Bindings):
    """A binding is over here when its BindRequest exists; `Requests` follows that."""

    kind = "BindRequest"

    def __init__(self, write: Callable[[Binding], Write]) -> None:
        super().__init__(write)
        # Created, and not shown by a watch yet
        self._created: dict[str, _Created] = {}

    def lacks(self, binding: Binding) -> str:
        """Nothing: the binder that carries out the BindRequest gives the pod what it needs."""
        return ""

    def begin(self, now: float, binding: Binding) -> list[Write]:
        """The creation."""
        return [self._write(binding)]

    def shown(self, pod: str, uid: str) -> bool:
        """A watch has shown the BindRequest of the pod; returns whether it was created here."""
        created = self._created.get(pod)
        if created is None or created.binding.uid != uid:
            return False
        del self._created[pod]
        return True

    def gone(self, pod: str, uid: str) -> bool:
        self.shown(pod, uid)
        return super().gone(pod, uid)

    def tick(self, now: float, steps: Steps) -> None:
        super().tick(now, steps)
        for created in self._created.values():
            if created.due is None:
                created.due = now + created.wait
            elif now >= created.due:
                created.wait = min(created.wait * 2, MOST_WAIT_S)
                created.due = now + created.wait
                self._look(steps, created.binding)

    def next_tick(self) -> float | None:
        """The time of the next `tick`."""
        times = [super().next_tick(), *(each.due for each in self._created.values())]
        return earliest(times)

    def seen(self, now: float, binding: Binding, found: Mapping[str, Any] | None) -> Steps:
        """The current BindRequest of a creation without a clear answer; None: it does not exist.

        A BindRequest that has failed, or belongs to an earlier pod of the name, is deleted. One for
        another node is respected.
        """
        steps = Steps()
        created = self._created.get(binding.pod)
        if created is not None and created.binding is binding and found is None:
            del self._created[binding.pod]
            steps.forget.append(binding.assumption)
        if not self.is_current(binding):
            return steps
        trouble = self.trouble(binding.pod, binding.uid)
        if found is None:
            if trouble.in_doubt:
                steps.writes.append(self._write(binding))
            else:
                self.fail(now, steps, binding, trouble.why)
            return steps
        request = Request.of(found)
        is_of_pod = request.owner in ("", binding.uid)
        if is_of_pod and request.node == binding.node and not request.has_failed:
            self._succeed(steps, binding)
        elif is_of_pod and not request.has_failed:
            self._keep_existing(now, steps, binding)
        else:
            steps.writes.append(deletion(request, None))
            if trouble.in_doubt:
                trouble.wait(now)  # after which it is read again
            else:
                self.fail(now, steps, binding, "")
        return steps

    def _keep_existing(self, now: float, steps: Steps, binding: Binding) -> None:
        """The watch will soon show the other BindRequest."""
        self.trouble(binding.pod, binding.uid).in_doubt = False  # the name is in use
        self.fail(now, steps, binding, "")

    def _succeed(self, steps: Steps, binding: Binding) -> None:
        self.drop(binding)
        self._created[binding.pod] = _Created(binding)
        trouble = self._troubles.get(binding.pod)
        if trouble is not None and trouble.in_doubt:
            trouble.in_doubt, trouble.due = False, None
