"""Keeps the certificates and the registrations of the webhooks complete.

    keeping = Keeping(client, options, tls, pems, log)
    await keeping.look()                # now and then; `why_unready()` is "" once there is a pair
    await keeping.end()

All replicas do the same; a write with the version of the Secret that was read succeeds for one of
them only. The order of a rotation is in kai.controllers.admission.rotation.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kai.api import times
from kai.api.reading import objects
from kai.api.webhooks import CONFIGURATIONS
from kai.api.writes import Lane, Read, Result, Write, delete_options
from kai.controllers.admission.registrations import (
    Ours,
    called_service,
    missing,
    with_authorities,
)
from kai.controllers.admission.rotation import Kept, Pems, step
from kai.errors import KaiError
from kai.install.admission import Reviewed, registrations
from kai.k8s.certificates import use_certificate
from kai.service.admission.stores import InMemory, InSecret, Store, check
from kai.service.log import Log

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.service.admission.options import AdmissionOptions

_NOT_READ = "the certificate was not read yet"
_TRIES = 3


class Keeping:
    """`tls`: the context of the server; it gets each new pair, for new connections. `is_reached`:
    whether API servers reach this program, which a review proves. `ends`: when the pair in use
    ends, in seconds since 1970; 0: there is none."""

    def __init__(
        self,
        client: Client,
        options: AdmissionOptions,
        tls: ssl.SSLContext,
        pems: Pems,
        log: Log,
        is_reached: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client, self._tls, self._pems, self._log = client, tls, pems, log
        self._is_reached = is_reached
        self._store: Store = (
            InMemory() if options.url else InSecret(client, options.namespace, options.secret, log)
        )
        self._ours = Ours(options.namespace, options.service, options.policies, options.url)
        reviewed = Reviewed(options.rules.scheduler)
        made = registrations(options.namespace, reviewed, options.url) if options.url else []
        self._made = {each["metadata"]["name"]: each for each in made}
        self._used = (b"", b"")
        self._problem = _NOT_READ
        self._uncalled = ""  # why no API server calls this program
        self._is_complete = False
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
            self._problem = ""
            self._completes(is_complete=not self._uncalled)

    async def end(self) -> None:
        """Removes the registrations that call this process alone."""
        for name in self._made:
            kind = CONFIGURATIONS[name]
            try:
                found = await self._client.find(Read(kind, "", name))
                if found is not None and self._is_made_here(found):
                    options = delete_options(found["metadata"]["uid"])
                    write = Write(Lane.CONDITION, "delete", kind, "", name, options)
                    check(f"{kind} {name}", await self._client.send(write))
            except KaiError as error:
                self._log.warning("cannot remove a registration", name=name, why=str(error))

    def _is_made_here(self, registration: Mapping[str, Any]) -> bool:
        """Whether its URLs are those of this process; another one may have taken it over."""
        made = self._made[registration["metadata"]["name"]]["webhooks"]
        urls = {each["clientConfig"]["url"] for each in made}
        webhooks = objects(registration.get("webhooks"))
        return {each["clientConfig"].get("url") for each in webhooks} == urls

    async def _look(self) -> bool:
        """False: another replica has written the Secret meanwhile."""
        kept = await self._store.read()
        is_registered = kept is not None and await self._register(kept.authorities)
        now = self._client.clock.wall()
        after = step(kept, self._pems, now=now, is_registered=is_registered)
        if after is not None:
            if not await self._store.write(after):
                return False
            kept = after
        assert kept is not None
        self._use(kept)
        if after is not None:
            await self._register(after.authorities)
        return True

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
        is_complete, is_called = True, bool(self._made)
        others = ""
        for name, kind in CONFIGURATIONS.items():
            found = await self._client.find(Read(kind, "", name))
            if found is not None:
                is_called |= any(map(self._ours.calls, objects(found.get("webhooks"))))
                others = others or called_service(found)
            write = self._write_for(kind, name, found, authorities)
            if write is None:
                continue
            outcome = await self._client.send(write)
            check(f"{kind} {name}", outcome)
            is_complete &= outcome.result == Result.DONE
            self._log.info("completed a registration", name=name)
        self._warn(is_called=is_called, others=others)
        return is_complete

    def _warn(self, *, is_called: bool, others: str) -> None:
        """Warns once that nothing calls this program. `others`: a Service that is called."""
        if is_called:
            self._uncalled = ""
            return
        why = "no registration calls the webhooks"
        more = {"fix": "apply what kai install prints; for a trial use --webhook-url"}
        if others:
            why = "no registration calls this program"
            more = {
                "service": f"{self._ours.namespace}/{self._ours.service}",
                "called": others,
                "fix": "give the namespace and the name of the Service that is called",
            }
        if self._uncalled != why:
            self._log.warning(why, **more)
        self._uncalled = why

    def _write_for(
        self, kind: str, name: str, found: Mapping[str, Any] | None, authorities: bytes
    ) -> Write | None:
        """None: nothing is missing. Raises KaiError if this process makes the registrations, and
        one of a Service exists."""
        if found is None:
            made = self._made.get(name)
            if made is None:
                return None
            body = with_authorities(made, self._ours, authorities)
            return Write(Lane.CONDITION, "create", kind, "", name, body)
        if self._made and (service := called_service(found)):
            raise KaiError(
                f"{kind} {name} calls the Service {service}: webhooks are installed already;"
                " delete it, or leave out --webhook-url"
            )
        patch = missing(found, self._ours, authorities, is_reached=self._is_reached())
        if patch is None:
            return None
        return Write(Lane.CONDITION, "patch", kind, "", name, patch, patch_type="strategic")

    def _completes(self, *, is_complete: bool) -> None:
        if is_complete and not self._is_complete:
            self._log.info("the certificate and the registrations are complete")
        self._is_complete = is_complete

    def _fails(self, why: str) -> None:
        self._is_complete = False
        if self._problem != why:
            self._log.warning("cannot keep the certificate and the registrations", why=why)
        self._problem = why
