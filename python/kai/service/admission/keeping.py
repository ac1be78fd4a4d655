"""Keeps the certificates of the webhooks: reads and writes their Secret and registrations.

    keeping = Keeping(client, options, tls, pems, log)
    await keeping.look()                # now and then; `why_unready()` is "" once there is a pair

All replicas do the same; a write with the version of the Secret that was read succeeds for one of
them only. The order of a rotation is in kai.controllers.admission.rotation.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from kai.api import times
from kai.api.webhooks import CONFIGURATIONS
from kai.api.writes import Lane, Outcome, Read, Result, Verb, Write
from kai.controllers.admission.registrations import Ours, missing
from kai.controllers.admission.rotation import Kept, Pems, step
from kai.errors import KaiError
from kai.k8s.certificates import use_certificate
from kai.service.log import Log

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.service.admission.options import AdmissionOptions

_NOT_READ = "the certificate was not read yet"
_TRIES = 3
_WRONG = (Result.FAILED, Result.REFUSED, Result.LOST)


class Keeping:
    """`tls`: the context of the server; it gets each new pair, for new connections. `ends`: when
    the pair in use ends, in seconds since 1970; 0: there is none."""

    def __init__(
        self,
        client: Client,
        options: AdmissionOptions,
        tls: ssl.SSLContext,
        pems: Pems,
        log: Log,
    ) -> None:
        self._client, self._tls, self._pems, self._log = client, tls, pems, log
        self._namespace, self._secret = options.namespace, options.secret
        self._ours = Ours(options.namespace, options.service, options.policies)
        self._used = (b"", b"")
        self._problem = _NOT_READ
        self.ends = 0.0

    def why_unready(self) -> str:
        return "" if self._used[0] else self._problem or _NOT_READ

    async def look(self) -> None:
        """One turn: makes the step that is due, uses the pair, completes the registrations."""
        try:
            for _ in range(_TRIES):
                if await self._look():
                    break
        except KaiError as error:
            self._fails(str(error))
        else:
            if self._problem:
                self._log.info("the certificate and the registrations are complete")
            self._problem = ""

    async def _look(self) -> bool:
        """False: another replica has written the Secret meanwhile."""
        secret = await self._client.find(Read("Secret", self._namespace, self._secret))
        kept = None if secret is None else Kept.read(secret)
        is_registered = kept is not None and await self._register(kept.authorities)
        now = self._client.clock.wall()
        after = step(kept, self._pems, now=now, is_registered=is_registered)
        if after is not None:
            if not await self._write(secret, after):
                return False
            kept = after
        assert kept is not None
        self._use(kept)
        if after is not None:
            await self._register(after.authorities)
        return True

    async def _write(self, secret: dict[str, Any] | None, after: Kept) -> bool:
        """False: the Secret has changed meanwhile."""
        data = after.data()
        if secret is None:
            verb: Verb = "create"
            body = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": self._secret, "namespace": self._namespace},
                "type": "kubernetes.io/tls",
                "data": {key: each for key, each in data.items() if each is not None},
            }
        else:
            verb = "patch"
            version = secret["metadata"]["resourceVersion"]
            body = {"metadata": {"resourceVersion": version}, "data": data}
        write = Write(Lane.CONDITION, verb, "Secret", self._namespace, self._secret, body)
        outcome = await self._client.send(write)
        name = f"{self._namespace}/{self._secret}"
        _check(f"Secret {name}", outcome)
        if outcome.result == Result.DONE:
            what = "next" if after.next_certificate else "new"
            self._log.info("wrote the certificates", secret=name, step=what)
        return outcome.result == Result.DONE

    def _use(self, kept: Kept) -> None:
        pair = (kept.certificate, kept.key)
        if pair == self._used:
            return
        lifetime = self._pems.lifetime(*pair)
        if lifetime is None:
            return
        use_certificate(self._tls, *pair)
        self._used, self.ends = pair, lifetime.ends
        ends = times.to_text(int(lifetime.ends) * times.SECOND_NS)
        self._log.info("uses a certificate", ends=ends)

    async def _register(self, authorities: bytes) -> bool:
        """Whether all registrations that exist have the authorities."""
        is_complete = True
        for name, kind in CONFIGURATIONS.items():
            found = await self._client.find(Read(kind, "", name))
            patch = None if found is None else missing(found, self._ours, authorities)
            if patch is None:
                continue
            write = Write(Lane.CONDITION, "patch", kind, "", name, patch, patch_type="strategic")
            outcome = await self._client.send(write)
            _check(f"{kind} {name}", outcome)
            is_complete &= outcome.result == Result.DONE
            self._log.info("completed a registration", name=name)
        return is_complete

    def _fails(self, why: str) -> None:
        if self._problem != why:
            self._log.warning("cannot keep the certificate and the registrations", why=why)
        self._problem = why


def _check(what: str, outcome: Outcome) -> None:
    """Raises KaiError for a write that was refused; a conflict is none."""
    if outcome.result in _WRONG:
        raise KaiError(f"{what}: {outcome.message}")
