"""Where the certificates of the webhooks are kept.

kept = await store.read()
if not await store.write(after): ...          # another replica has written since the read
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kai.api.resources import new_object
from kai.api.writes import Lane, Outcome, Read, Result, Verb, Write
from kai.controllers.admission.rotation import Kept
from kai.errors import KaiError
from kai.service.log import Log

if TYPE_CHECKING:
    from kai.k8s.client import Client


class Store(Protocol):
    """Both raise KaiError for an API server that refuses or does not answer."""

    async def read(self) -> Kept | None:
        """None: nothing is kept yet."""

    async def write(self, after: Kept) -> bool:
        """Whether it is written; False: another replica has written since the last `read`."""


class InMemory:
    """Of one process, without the Secret: a certificate for its own address is of no use to
    others, and the Secret may be KAI's."""

    def __init__(self) -> None:
        self._kept: Kept | None = None

    async def read(self) -> Kept | None:
        return self._kept

    async def write(self, after: Kept) -> bool:
        self._kept = after
        return True


class InSecret:
    """Shared by all replicas: a write succeeds only with the version of the Secret that was
    read."""

    def __init__(self, client: Client, namespace: str, name: str, log: Log) -> None:
        self._client, self._log = client, log
        self._namespace, self._name = namespace, name
        self._secret: dict[str, Any] | None = None

    async def read(self) -> Kept | None:
        self._secret = await self._client.find(Read("Secret", self._namespace, self._name))
        return None if self._secret is None else Kept.read(self._secret)

    async def write(self, after: Kept) -> bool:
        data = after.data()
        if self._secret is None:
            verb: Verb = "create"
            metadata = {"name": self._name, "namespace": self._namespace}
            known = {key: each for key, each in data.items() if each is not None}
            body = new_object("Secret", metadata, type="kubernetes.io/tls", data=known)
        else:
            verb = "patch"
            version = self._secret["metadata"]["resourceVersion"]
            body = {"metadata": {"resourceVersion": version}, "data": data}
        write = Write(Lane.CONDITION, verb, "Secret", self._namespace, self._name, body)
        outcome = await self._client.send(write)
        name = f"{self._namespace}/{self._name}"
        check(f"Secret {name}", outcome)
        if outcome.result == Result.DONE:
            what = "next" if after.next_certificate else "new"
            self._log.info("wrote the certificates", secret=name, step=what)
        return outcome.result == Result.DONE


_WRONG = (Result.FAILED, Result.REFUSED, Result.LOST)


def check(what: str, outcome: Outcome) -> None:
    """Raises KaiError for a write that was refused; a conflict is none."""
    if outcome.result in _WRONG:
        raise KaiError(f"{what}: {outcome.message}")
